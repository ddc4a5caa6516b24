"""What a resize does to each PE and each operator, and why: sentences for people.

1. A PE *stays* if its content is the same, *restarts* if it differs, and else is *new* or *gone*.
2. An operator stays in its PE, is new, is gone, or moves to another PE.
3. The why of a PE names its operators that come, leave, are in a resized region or are connected
   with one. The plan before is known by its record alone, which a running job has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from planner.drafting import Draft
from planner.numbering.records import OperatorKey, PlanRecord
from planner.outline import regions_beside, resized_regions
from planner.refusals import shown

NAMED_MAX = 4
"""Of the operators in one sentence."""


class Fate(StrEnum):
    """What becomes of a PE or of an operator; only operators move."""

    NEW = "new"
    RESTARTS = "restarts"
    STAYS = "stays"
    GONE = "gone"
    MOVES = "moves"


@dataclass(frozen=True, slots=True)
class PeFate:
    """What becomes of a PE; its operators are those after the resize, of a PE that is gone before.

    `why` has at least one sentence.
    """

    pe: int
    fate: Fate
    why: tuple[str, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperatorFate:
    """Where an operator goes: its PE before and after, None where it does not exist."""

    name: str
    index: int
    fate: Fate
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Fates:
    """What a resize does; PEs by id, operators by number, those that are gone last."""

    pes: Mapping[int, PeFate]
    operators: tuple[OperatorFate, ...]

    def to_json(self) -> dict[str, Any]:
        """For programs: `pe` by id and `operator` by name."""
        return {
            "pe": {
                str(each.pe): {
                    "fate": each.fate,
                    "why": list(each.why),
                    "operators": list(each.operators),
                }
                for each in self.pes.values()
            },
            "operator": {
                each.name: {
                    "index": each.index,
                    "fate": each.fate,
                    "from": each.before,
                    "to": each.after,
                }
                for each in self.operators
            },
        }


def fates_of(before: PlanRecord, draft: Draft, after: PlanRecord) -> Fates:
    """What becomes of the PEs and operators of `before`; `draft` is that of the record `after`."""
    operators = tuple(_operator_fates(before, after, is_compat=draft.request.compat))
    changes = _Changes(before, draft, operators)
    old = {pe.id: pe for pe in before.pes}
    new = {pe.id: pe for pe in after.pes}
    found: dict[int, PeFate] = {}
    for pe_id in sorted(old.keys() | new.keys()):
        if pe_id not in new:
            fate, why = Fate.GONE, tuple(changes.leaving(pe_id))
        elif pe_id not in old:
            fate, why = Fate.NEW, tuple(changes.coming(pe_id))
        elif old[pe_id].content_id == new[pe_id].content_id:
            fate, why = Fate.STAYS, ("nothing of it changes",)
        else:
            fate, why = Fate.RESTARTS, tuple(changes.inside(pe_id))
        why = why or ("its description changes",)
        found[pe_id] = PeFate(pe_id, fate, why, (new.get(pe_id) or old[pe_id]).operators)
    return Fates(found, operators)


class _Place(NamedTuple):
    """An operator in one plan."""

    name: str
    number: int
    pe: int


def _places(record: PlanRecord, *, is_compat: bool) -> dict[tuple[OperatorKey, int], _Place]:
    """The operators of a record by what they are known by in another; not by number in compat.

    Both its lists of a PE's operators are in the order of numbers.
    """
    names = {pe.id: iter(pe.operators) for pe in record.pes}
    return {
        (each.key, -1 if is_compat else each.operator): _Place(
            next(names[each.pe]), each.operator, each.pe
        )
        for each in sorted(record.operators, key=lambda each: each.operator)
    }


def _operator_fates(
    before: PlanRecord, after: PlanRecord, *, is_compat: bool
) -> Iterator[OperatorFate]:
    old, new = (_places(each, is_compat=is_compat) for each in (before, after))
    for identity, place in new.items():
        was = old[identity].pe if identity in old else None
        fate = Fate.NEW if was is None else Fate.STAYS if was == place.pe else Fate.MOVES
        yield OperatorFate(place.name, place.number, fate, was, place.pe)
    for identity, place in old.items():
        if identity not in new:
            yield OperatorFate(place.name, place.number, Fate.GONE, place.pe, None)


class _Changes:
    """What changes in a PE, as sentences."""

    def __init__(self, before: PlanRecord, draft: Draft, operators: Sequence[OperatorFate]) -> None:
        self._draft = draft
        self._was = {region.index: region.width for region in before.regions}
        self._regions = {region.index: region.name for region in draft.request.application.regions}
        resized = resized_regions(self._was, draft.widths.by_region)
        self._beside = regions_beside(draft, resized)
        self._from: dict[int, list[OperatorFate]] = {}
        self._to: dict[int, list[OperatorFate]] = {}
        for each in operators:
            if each.fate is Fate.STAYS:
                continue
            if each.before is not None:
                self._from.setdefault(each.before, []).append(each)
            if each.after is not None:
                self._to.setdefault(each.after, []).append(each)

    def coming(self, pe: int) -> Iterator[str]:
        """The operators that a PE gets."""
        come = self._to.get(pe, [])
        if new := [each.name for each in come if each.fate is Fate.NEW]:
            yield f"{_named(new)} {_is(new)} new"
        for other in sorted({each.before for each in come if each.before is not None}):
            moved = [each.name for each in come if each.before == other]
            yield f"{_named(moved)} {_comes(moved)} from PE {other}"

    def leaving(self, pe: int) -> Iterator[str]:
        """The operators that a PE loses."""
        leave = self._from.get(pe, [])
        if gone := [each.name for each in leave if each.fate is Fate.GONE]:
            yield f"{_named(gone)} {_is(gone)} removed"
        for other in sorted({each.after for each in leave if each.after is not None}):
            moved = [each.name for each in leave if each.after == other]
            yield f"{_named(moved)} {_goes(moved)} to PE {other}"

    def inside(self, pe: int) -> Iterator[str]:
        """All changes of a PE that both plans have."""
        yield from self.coming(pe)
        yield from self.leaving(pe)
        come = {each.index for each in self._to.get(pe, ())}
        members: dict[int, list[str]] = {}
        connected: dict[int, list[str]] = {}
        for index in self._draft.placed[pe]:
            operator = self._draft.topology.operators[index]
            levels = {level.region for level in operator.levels}
            for region in sorted(self._beside.get(index, ())) if index not in come else ():
                found = members if region in levels else connected
                found.setdefault(region, []).append(operator.name)
        for region, names in sorted(members.items()):
            yield f"{_named(names)} {_is(names)} in {self._resized(region)}"
        for region, names in sorted(connected.items()):
            yield f"{_named(names)} {_is(names)} connected with {self._resized(region)}"

    def _resized(self, region: int) -> str:
        was, width = self._was.get(region, "?"), self._draft.widths.by_region[region]
        return f"{shown(self._regions[region])}, whose width goes from {was} to {width}"


def _named(names: Sequence[str]) -> str:
    first = ", ".join(map(shown, names[:NAMED_MAX]))
    more = len(names) - NAMED_MAX
    return first + (f" and {more} more" if more > 0 else "")


def _is(names: Iterable[str]) -> str:
    return "is" if len([*names]) == 1 else "are"


def _comes(names: Iterable[str]) -> str:
    return "comes" if len([*names]) == 1 else "come"


def _goes(names: Iterable[str]) -> str:
    return "goes" if len([*names]) == 1 else "go"
