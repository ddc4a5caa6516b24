"""What a write says about fields that nobody knows (`fieldValidation`).

Strict refuses, Warn (also the default) answers with a header, Ignore is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sandbox.store.repeating import repeated

IGNORE = "Ignore"
STRICT = "Strict"


@dataclass(frozen=True, slots=True)
class FieldValidation:
    """How one write is looked at.

    `written` are the fields of the text, if it names one twice; `complaints` are about a patch
    itself. `warnings` grows while the write is carried out.
    """

    how: str = ""
    written: tuple[tuple[str, bool], ...] = ()
    complaints: Sequence[str] = ()
    warnings: list[str] = field(default_factory=list)

    def of_kind(self, unknown: Sequence[str]) -> list[str]:
        """What Go says that reads a struct: in the order of the text, of each field once."""
        if not self.written:
            return [_unknown(path) for path in unknown]
        below = tuple(f"{path}{mark}" for path in unknown for mark in (".", "["))
        found: dict[str, None] = {}
        for path, again in self.written:
            if path in unknown:
                found[_unknown(path)] = None
            elif again and not path.startswith(below):
                found[_duplicate(path)] = None
        return list(found)

    def of_map(self, unknown: Sequence[str]) -> list[str]:
        """The warnings where the whole body is read first: custom resources and patches."""
        twice = [_duplicate(path) for path in repeated(self.written)]
        return [*self.complaints, *twice, *map(_unknown, sorted(unknown))]

    def warn(self, *texts: str) -> None:
        """Say something beside the answer, once."""
        self.warnings.extend(text for text in texts if text not in self.warnings)


def _unknown(path: str) -> str:
    return f'unknown field "{path}"'


def _duplicate(path: str) -> str:
    return f'duplicate field "{path}"'
