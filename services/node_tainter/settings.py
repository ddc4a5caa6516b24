"""Settings of node-tainter; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from services.chassis.process.settings import ServiceSettings


class NodeTainterSettings(ServiceSettings):
    """Only what every service has: host pools declare what it does."""
