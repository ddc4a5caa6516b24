"""What differs first between a recorded decision and today's, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from contracts.decisions import DecisionRecord, ObjectsRead, Position
from history.comparing import EQUAL, Again, Verdict, again_of, compared
from services.chassis.running.carrying_out import CarriedOut
from services.chassis.running.decision_log import effects_recorded
from services.chassis.running.stage import Decision


@dataclass(frozen=True)
class Create:
    name: str
    launch: int = 1


OBJECTS = ObjectsRead(1, "ab", ("Pod/default/a u@1",), "12")
EFFECTS = (Create("a"), Create("b"))


def again(*effects: Create, reason: str = "Due", rule: str = "DUE") -> Again:
    decision = Decision(effects or EFFECTS, reason, rules={"PE": rule})
    return again_of("k", None, OBJECTS, decision)


DECIDED, SHOWN = effects_recorded(EFFECTS, CarriedOut([(each, "created") for each in EFFECTS]))
RECORDED = DecisionRecord(
    "s",
    "k",
    "Due",
    effects=tuple(replace(each, value={"name": each.subject, "launch": 1}) for each in SHOWN),
    decided=DECIDED,
    rules={"PE": "DUE"},
    position=Position("i", "s"),
    objects=OBJECTS,
)


def test_the_same_decision_is_equal() -> None:
    assert compared(RECORDED, again()) == EQUAL


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (ObjectsRead(1, "cd", ("Pod/default/a u@2",), "12"), "now only: Pod/default/a u@1"),
        (ObjectsRead(9, "cd"), "the snapshot had 9 objects, and has 1 now"),
        (ObjectsRead(1, "cd"), "one of the 1 objects has another version"),
        (replace(OBJECTS, views="13"), "the views are folded from other objects"),
    ],
)
def test_other_inputs_are_named_before_all_else(objects: ObjectsRead, why: str) -> None:
    found = compared(replace(RECORDED, objects=objects, reason="Other"), again())
    assert (found.verdict, found.what) == (Verdict.DIFFERENT, "objects")
    assert found.sentence.startswith("the inputs differ, so it is no rule")
    assert why in found.sentence


@pytest.mark.parametrize(
    ("found", "what", "why"),
    [
        (again(rule="NOT_DUE", reason="No"), "rules", "PE was DUE and is NOT_DUE"),
        (again(reason="No"), "reason", "the reason was Due and is No"),
        (again(Create("a")), "effects", "2 effects were decided, and 1 are now; recorded only"),
        (again(Create("a"), Create("b", 2)), "effects", 'now only: Create b {"launch":2'),
        (replace(again(), crash="KeyError: 'x'"), "crash", "this release raises KeyError: 'x'"),
    ],
)
def test_the_first_difference_is_named(found: Again, what: str, why: str) -> None:
    result = compared(RECORDED, found)
    assert (result.verdict, result.what) == (Verdict.DIFFERENT, what)
    assert "the snapshot has the same objects" in result.sentence
    assert why in result.sentence


def test_of_a_redacted_recording_only_rules_and_reason_are_compared() -> None:
    forged = compared(RECORDED, again(), has_digests=False)
    assert (forged.verdict, forged.what) == (Verdict.DIFFERENT, "redacted")
    redacted = replace(RECORDED, objects=ObjectsRead(1, ""), decided=replace(DECIDED, sha256=""))
    assert compared(redacted, again(), has_digests=False) == EQUAL
    other = compared(redacted, again(reason="No"), has_digests=False)
    assert other.verdict is Verdict.UNKNOWN, "other names may be the cause"
    assert "redacted" in other.sentence
    assert "the reason was Due and is No" in other.sentence
