"""Defaults of Nodes. The taint not-ready, which the node controller would remove, is left out."""

from __future__ import annotations

from sandbox.store.strategies import Body


def with_defaults(obj: Body) -> Body:
    return {**obj, "spec": dict(obj.get("spec") or {}), "status": dict(obj.get("status") or {})}
