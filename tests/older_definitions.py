"""Definitions as an older release, or another hand, left them: whatever is in a spec stays.

Our own schemas type every field, so the API server drops what they do not know. People upgrade
definitions and services at different times, and what was stored before stays as it is: the services
must bear all that an API server holds.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

Obj = dict[str, Any]
KEEP = "x-kubernetes-preserve-unknown-fields"


def permissive(definitions: Sequence[Obj]) -> list[Obj]:
    """The same definitions with specs that keep unknown fields, of any depth."""
    found = copy.deepcopy(list(definitions))
    for definition in found:
        for version in definition["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec[KEEP] = True
            _free_templates(spec)
    return found


def _free_templates(schema: Obj) -> None:
    properties: Obj = schema.get("properties") or {}
    for name, each in properties.items():
        if name == "podTemplate":
            each["properties"]["spec"] = {"type": "object", KEEP: True}
        else:
            _free_templates(each)
