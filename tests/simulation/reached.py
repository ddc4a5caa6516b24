"""Which rules decide in which scenario, or else in which test: drawn on `docs/life-cycles.md`.

    python -m tests.simulation.reached FILE NOTES…

adds to a file of scenarios the first test for each rule that none of them reaches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from services.chassis.running.stage import Decision, Stage
from services.chassis.running.wiring import MakeStage, Wiring

_REACHED: set[str] = set()


def begin_run() -> None:
    """Forget the rules of the run before."""
    _REACHED.clear()


def rules_of_run() -> frozenset[str]:
    """The rules that held in the run: service, what they decide on, and observation."""
    return frozenset(_REACHED)


def noted(service: str, make_stage: MakeStage) -> MakeStage:
    """A factory of the stage, which notes the rules of its decisions."""

    def make(wiring: Wiring) -> Stage[Any, Any, Any]:
        stage = make_stage(wiring)
        decide = stage.decide

        def noting_decide(snapshot: Any, now: float) -> Decision[Any]:
            decision = decide(snapshot, now)
            _REACHED.update(
                f"{service} {subject.split()[0]} {observation}"
                for subject, observation in decision.rules.items()
            )
            return decision

        stage.decide = noting_decide  # type: ignore[method-assign]
        return stage

    return make


def as_json(rules_of: Mapping[str, frozenset[str]]) -> bytes:
    """The first scenario that reaches each rule, as a file that people can compare."""
    return _with_first({}, rules_of.items())


def _with_first(first: dict[str, str], places: Iterable[tuple[str, Iterable[str]]]) -> bytes:
    """The file, with the first of these places for each rule that has none."""
    for place, rules in places:
        for rule in rules:
            first.setdefault(rule, place)
    return orjson.dumps(first, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def _add_tests(path: Path, notes: Iterable[Path]) -> None:
    first = orjson.loads(path.read_bytes())
    lines = sorted(line for note in notes for line in note.read_bytes().splitlines())
    path.write_bytes(_with_first(first, map(orjson.loads, lines)))


if __name__ == "__main__":
    _add_tests(Path(sys.argv[1]), map(Path, sys.argv[2:]))
