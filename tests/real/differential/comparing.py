"""Two sides of an exchange held against each other: every place where they differ, as a line."""

from __future__ import annotations

from typing import Any

_ABSENT = "<absent>"


def differences(sandbox: Any, real: Any, where: str = "") -> list[str]:
    """Lines `path: sandbox says …, the real one …`; empty when both say the same."""
    if isinstance(sandbox, dict) and isinstance(real, dict):
        return [
            line
            for key in sorted(sandbox.keys() | real.keys(), key=str)
            for line in differences(
                sandbox.get(key, _ABSENT), real.get(key, _ABSENT), f"{where}.{key}".lstrip(".")
            )
        ]
    if isinstance(sandbox, list) and isinstance(real, list) and len(sandbox) == len(real):
        return [
            line
            for number, (mine, theirs) in enumerate(zip(sandbox, real, strict=True))
            for line in differences(mine, theirs, f"{where}.{number}".lstrip("."))
        ]
    if sandbox == real and isinstance(sandbox, bool) == isinstance(real, bool):
        return []
    return [f"{where}:\n    sandbox {sandbox!r}\n    real    {real!r}"]


def places(lines: list[str]) -> tuple[str, ...]:
    """The paths of the lines alone."""
    return tuple(line.partition(":\n")[0] for line in lines)
