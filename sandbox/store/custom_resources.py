"""Custom resources: from a CustomResourceDefinition to served types with schema and rules."""

from __future__ import annotations
