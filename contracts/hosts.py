"""How applications name nodes: by tags, by name, by address."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Mapping

from contracts.labels import ORIGINAL_TAG, TAG_PREFIX


@functools.lru_cache(maxsize=65_536)
def normalised(host: str) -> str | None:
    """The canonical form of an IP address; None if `host` is not one."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return None


def tags_of(labels: Mapping[str, str]) -> frozenset[str]:
    """The tags that a node with these labels carries, in our form and in the original's."""
    found = {key.removeprefix(TAG_PREFIX) for key in labels if key.startswith(TAG_PREFIX)}
    original = labels.get(ORIGINAL_TAG, "")
    return frozenset(found | {original} if original else found)
