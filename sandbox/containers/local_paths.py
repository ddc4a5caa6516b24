"""Absolute paths of a container in words that run outside of it. Pure.

A container has its mounts below MILLRACE_ROOT. What a pod's spec has others run in it (probes,
hooks, `kubectl exec`) names its files by their absolute paths: in these words the paths below a
mount, and below the folders that each container has of its own, lead below its root.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BEFORE = r"(?<![^\s'\"=:,;|&<>()`])"
"""A path begins a word of a shell, or follows one of these characters."""


def localized(words: Sequence[str], places: Iterable[str], root: str) -> tuple[str, ...]:
    """The words, with each path below one of `places` (absolute paths) below `root`."""
    ordered = sorted({place.rstrip("/") for place in places} - {""}, key=len, reverse=True)
    if not ordered:
        return tuple(words)
    either = "|".join(map(re.escape, ordered))
    pattern = re.compile(rf"{_BEFORE}(?:{either})(?![\w.-])")
    return tuple(pattern.sub(lambda found: root + found[0], word) for word in words)
