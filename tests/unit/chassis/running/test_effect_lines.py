"""The lines of one decision's effects: what they name, and how many there are at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from structlog.testing import capture_logs

from services.chassis.process.log_lines import log_of
from services.chassis.running.effect_lines import EFFECT_LINES_MAX, EffectLines, object_of
from services.chassis.running.stage import Because, Decision

Line = dict[str, Any]


@dataclass(frozen=True)
class Make:
    """An effect."""

    name: str
    kind: ClassVar[str] = "Thing"


class Telling:
    """What lines need of a stage."""

    def about(self, key: str, effect: Make | None) -> dict[str, str | int]:
        return {"job": key}


def lines_of(decision: Decision[Make], outcome: str = "created", stage: Any = None) -> list[Line]:
    with capture_logs() as found:
        lines = EffectLines(log_of("small"), stage or Telling(), "j", decision)  # type: ignore[arg-type]
        for each in decision.effects:
            lines.write(each, outcome, 0.25)
        lines.close()
    return [dict(each) for each in found]


def test_a_line_names_the_object_the_rule_and_the_reason_of_its_effect() -> None:
    because = (Because("NEW", "Submitting"), Because("CHANGED", "Resizing"))
    decision = Decision((Make("a"), Make("b")), "Submitting", because=because)
    first, second = lines_of(decision)
    assert first == {
        "event": "effect",
        "log_level": "info",
        "part": "small",
        "job": "j",
        "object": "Thing/a",
        "effect": "Make",
        "rule": "NEW",
        "reason": "Submitting",
        "outcome": "created",
        "seconds": 0.25,
    }
    assert (second["rule"], second["reason"]) == ("CHANGED", "Resizing")


def test_an_only_rule_is_that_of_every_effect() -> None:
    decision = Decision((Make("a"), Make("b")), "Due", rules={"node": "MARKS_DIFFER"})
    assert {each["rule"] for each in lines_of(decision)} == {"MARKS_DIFFER"}


def test_many_effects_of_one_decision_are_counted_in_one_line() -> None:
    decision = Decision(tuple(Make(str(n)) for n in range(500)), "Submitting")
    *single, last = lines_of(decision)
    assert len(single) == EFFECT_LINES_MAX
    assert last["event"] == "more_effects"
    assert last["outcomes"] == {"Make created": 500 - EFFECT_LINES_MAX}
    assert (last["job"], last["reason"]) == ("j", "Submitting")


def test_a_failure_has_a_line_however_many_effects_there_are() -> None:
    decision = Decision(tuple(Make(str(n)) for n in range(300)), "Submitting")
    with capture_logs() as found:
        lines = EffectLines(log_of("small"), Telling(), "j", decision)  # type: ignore[arg-type]
        for each in decision.effects:
            lines.write(each, "created", 0.0)
        lines.write_failed("warning", Make("x"), "transient", 0.5, ConnectionError("cut"))
    last = found[-1]
    assert (last["event"], last["log_level"]) == ("effect_failed", "warning")
    assert (last["object"], last["outcome"]) == ("Thing/x", "transient")
    assert (last["meaning"], last["problem"]) == ("ConnectionError", "cut")


@pytest.mark.parametrize("outcome", ["existed", "unchanged"])
def test_what_changed_nothing_is_no_news(outcome: str) -> None:
    [line] = lines_of(Decision((Make("a"),), "Due"), outcome)
    assert line["log_level"] == "debug"


def test_what_an_effect_does_not_name_is_that_of_its_key() -> None:
    @dataclass(frozen=True)
    class Key:
        name: str
        kind: ClassVar[str] = "Job"

    @dataclass(frozen=True)
    class DeleteAll:
        kind: str

    assert object_of(Key("j"), object()) == "Job/j"
    assert object_of(Key("j"), DeleteAll("Pod")) == "Pod/*"
