"""The schema of a pod template's spec: every field of a PodSpec with its type and a bound.

The API server prunes what is not in it, and refuses other types and what exceeds a bound; what a
field may say beyond that is for the API server to judge when a pod is made. Fields are generated
(`pod_schema.py`). Depth and bytes of a whole template no schema can bound: fusion-backend does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .fields import LONG_TEXT_CHARS_MAX, PROPERTIES_MAX, QUANTITY_CHARS_MAX, TEXT_CHARS_MAX
from .pod_shapes import POD_SPEC, QUANTITIES, groups

Schema = dict[str, Any]

CONTAINERS_MAX: Final = 64
"""Containers of a pod, and as many that run before them."""
ITEMS_MAX: Final = 1024
"""Of any other list: variables, volumes, mounts, tolerations, expressions."""
PORT_CHARS_MAX: Final = 253
"""Of a port that is given by its name."""

_ABSENT: Final[Mapping[str, frozenset[str]]] = {POD_SPEC: frozenset({"ephemeralContainers"})}
"""Fields that no new pod has."""
_OF_CLAIMS: Final = frozenset({"labels", "annotations"})
"""What a template of a claim says of its metadata; the API server refuses all else."""
_LONG: Final = frozenset({"args", "command", "value", "gmsaCredentialSpec"})
"""Fields that hold whole texts: commands, values of variables and headers."""
_INT64: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "expirationSeconds",
        "fsGroup",
        "runAsGroup",
        "runAsUser",
        "seconds",
        "supplementalGroups",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
    }
)
"""Whole numbers of 64 bits; all others have 32."""


def pod_spec_schema() -> Schema:
    """The structural schema of a PodSpec; null means what absence means."""
    return _group(POD_SPEC)


def _group(name: str) -> Schema:
    absent = _ABSENT.get(name, frozenset())
    fields = {
        field: type_
        for field, type_ in groups()[name].items()
        if field not in absent and (name != "ObjectMeta" or field in _OF_CLAIMS)
    }
    properties = {field: _typed(type_, field) for field, type_ in sorted(fields.items())}
    return {"type": "object", "properties": properties}


def _typed(type_: str, field: str) -> Schema:
    if type_.startswith("["):
        items_max = CONTAINERS_MAX if type_ == "[Container]" else ITEMS_MAX
        return {"type": "array", "maxItems": items_max, "items": _typed(type_[1:-1], field)}
    if type_.startswith("{"):
        values = _quantity() if field in QUANTITIES else _text(LONG_TEXT_CHARS_MAX)
        return {"type": "object", "maxProperties": PROPERTIES_MAX, "additionalProperties": values}
    match type_:
        case "str" if field in QUANTITIES:
            return _quantity()
        case "str":
            return _text(LONG_TEXT_CHARS_MAX if field in _LONG else TEXT_CHARS_MAX)
        case "int":
            return {"type": "integer", "format": "int64" if field in _INT64 else "int32"}
        case "bool":
            return {"type": "boolean"}
        case "any":
            return {"x-kubernetes-int-or-string": True, "maxLength": PORT_CHARS_MAX}
    return _group(type_)


def _text(chars_max: int) -> Schema:
    return {"type": "string", "maxLength": chars_max}


def _quantity() -> Schema:
    return {"x-kubernetes-int-or-string": True, "maxLength": QUANTITY_CHARS_MAX}
