"""JSON as bytes, of any depth and with any number: what Python's own writer cannot write.

A value is what `json` takes, and a `Raw` wherever bytes are to stand as they are.
"""

from __future__ import annotations

import json
from typing import Any

_SCALARS = frozenset({str, int, float, bool, type(None)})


class Raw(bytes):
    """JSON text that stands as it is."""


def written(value: Any) -> bytes:
    """The JSON text of a value; lone surrogates are escaped, as a server takes them."""
    if isinstance(value, Raw):
        return value
    if _is_flat(value):
        return json.dumps(value, separators=(",", ":")).encode()
    if isinstance(value, dict):
        members = (json.dumps(key).encode() + b":" + written(each) for key, each in value.items())
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(written, value)) + b"]"
    return json.dumps(value).encode()


def _is_flat(value: Any) -> bool:
    """Whether Python's own writer can write it at once: there may be 50,000 members."""
    if isinstance(value, dict):
        return _SCALARS.issuperset(map(type, value.values())) and all(
            type(key) is str for key in value
        )
    return isinstance(value, list | tuple) and _SCALARS.issuperset(map(type, value))


def nested_maps(levels: int, key: str = "a") -> Raw:
    """A map in a map in a map: so many levels."""
    opening = b'{"%s":' % key.encode()
    return Raw(opening * (levels - 1) + b"{}" + b"}" * (levels - 1))


def nested_lists(levels: int) -> Raw:
    """A list in a list in a list: so many levels."""
    return Raw(b"[" * levels + b"]" * levels)
