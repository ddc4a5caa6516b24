"""Differences that are meant: `accepted.yaml` beside a recording.

    - decision: decisions/3@17
      reason: a PE waits for the claim of its pool before it is launched
      release: 0.3.0

`decision` is a place, as `millrace replay` shows it; `reason` says why it is meant, and `release`
which release decides otherwise for the first time. Where several recordings share a folder,
`recording` is the name of the file that an item is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from history.comparing import Verdict
from history.replaying import Step

FILE: Final = "accepted.yaml"
BYTES_MAX: Final = 1024 * 1024
_FIELDS: Final = ("decision", "reason", "release")
_MAY: Final = "recording"


class AcceptedMalformed(Exception):
    """A list that cannot be read; the message says which item and why."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A difference that is meant."""

    decision: str
    reason: str
    release: str


def accepted_beside(recording: Path) -> tuple[Accepted, ...]:
    """What is accepted of a recording; nothing if there is no list. Raises AcceptedMalformed."""
    path = recording.parent / FILE
    try:
        with path.open("rb") as file:
            text = file.read(BYTES_MAX + 1)
        if len(text) > BYTES_MAX:
            raise AcceptedMalformed(f"{path} has more than {BYTES_MAX} bytes")
        items = _parsed(text.decode(), path)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as problem:
        raise AcceptedMalformed(f"{path} cannot be read: {problem}") from None
    if items is None:
        return ()
    if not isinstance(items, list):
        raise AcceptedMalformed(f"{path} is no list of decision, reason and release")
    found = [_item(path, number, item) for number, item in enumerate(items, 1)]
    mine = [each for each, name in found if name in ("", recording.name)]
    twice = {each.decision for each in mine if sum(each.decision == o.decision for o in mine) > 1}
    if twice:
        raise AcceptedMalformed(f"{path} lists {', '.join(sorted(twice))} twice")
    return tuple(mine)


def _parsed(text: str, path: Path) -> Any:
    """Lists, mappings and texts: a date or a number is a text. No aliases, which may grow."""
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        if isinstance(event, yaml.AliasEvent):
            raise AcceptedMalformed(f"{path} has the alias *{event.anchor}: write it out")
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes texts only


def _item(path: Path, number: int, item: Any) -> tuple[Accepted, str]:
    where = f"{path}, item {number}"
    if not isinstance(item, Mapping):
        raise AcceptedMalformed(f"{where} has no decision, reason and release")
    for name in _FIELDS if _MAY not in item else (*_FIELDS, _MAY):
        if not isinstance(item.get(name), str) or not item[name].strip():
            raise AcceptedMalformed(f"{where}: {name} is not a text")
    if others := sorted(str(name) for name in item if name not in (*_FIELDS, _MAY)):
        raise AcceptedMalformed(f"{where} has {', '.join(others)}, which nobody reads")
    accepted = Accepted(*(item[name].strip() for name in _FIELDS))
    return accepted, item.get(_MAY, "")


class Judging:
    """Holds the differences of a replay against the list; `problems` are sentences."""

    def __init__(self, accepted: Iterable[Accepted]) -> None:
        self._open = {each.decision: each for each in accepted}
        self.problems: list[str] = []

    def is_meant(self, step: Step) -> bool:
        """Whether a decision may differ; notes what the list has wrong about it."""
        place = str(step.place)
        item = self._open.pop(place, None)
        if item is None:
            return False
        if step.compared.verdict is Verdict.DIFFERENT:
            return True
        if step.compared.verdict is Verdict.UNKNOWN:
            self.problems.append(
                f"{FILE} lists {place}, which cannot be made again: {step.compared.sentence}"
            )
        else:
            self.problems.append(
                f"{FILE} lists {place}, which no longer differs: take it out of the list"
            )
        return False

    def end(self) -> None:
        """Note items that no decision of the replay is."""
        self.problems += [
            f"{FILE} lists {place}, and the recording has no such decision" for place in self._open
        ]
        self._open = {}
