"""The chain names who decided what on which fact, and how far back the log was read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.decisions import DecisionRecord, EffectRecord
from contracts.envelope import Envelope
from contracts.facts import Epoch, Fact, FactType
from history.entries import Decided, Entry, Place, Seen
from history.why.answering import answer_of
from history.why.wording import lines_of
from tests.unit.history.troubles import NOW_S, Scene
from tests.unit.history.why_cases import CASES

CAUSE = "uid-pod@7/Pod/modification/1.1"
ILL = CASES["image missing"].scene


def envelope(id_: str) -> Envelope:
    return Envelope(id_, "test", "t", "s", NOW_S - 60, "0" * 32)


def decided(offset: int, reason: str, *, key: str = "default/shop-0", cause: str = CAUSE) -> Entry:
    """A decision of pod-state-machine that wrote a status."""
    record = DecisionRecord(
        service="pod-state-machine",
        key=key,
        reason=reason,
        effects=(EffectRecord("PatchStatus", "", "patched", sha256="a"),),
        cause=cause,
        rules={"PE": "POD_BLOCKED"},
        now=NOW_S - 60,
    )
    return Decided(Place("decisions/0", offset), envelope("d"), record)


def seen() -> Entry:
    """The fact that led to it."""
    epoch = Epoch(1, 1, "c")
    fact = Fact(
        FactType.MODIFICATION, "Pod", "default", "shop-0-x", "uid-pod", 7, epoch, "shop", {}
    )
    return Seen(Place("resources/0", 3), envelope(CAUSE), fact)


def line_of(scene: Scene) -> str:
    """The line of the decision."""
    lines = lines_of(answer_of(scene.gathered()), NOW_S)
    return next((each for each in lines if " decided " in each), "")


def test_the_newest_decision_with_an_effect_is_shown_with_its_fact_and_its_place() -> None:
    line = line_of(ILL.with_log(seen(), decided(5, "FirstLaunch"), decided(6, "ImagePullBackOff")))
    assert line == (
        "      ├─ pod-state-machine decided ImagePullBackOff (rule POD_BLOCKED) on the fact that"
        " Pod shop-0-x changed (resources/0@3): PatchStatus (patched)"
        " (since 60s, 2026-11-20T09:59:00Z) [decisions/0@6]"
    )


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (CAUSE, "on a fact about a Pod (modification)"),
        ("", "on what it had seen before"),
        ("x", "on the fact x"),
    ],
)
def test_a_fact_whose_record_was_not_read_is_described_by_its_id(cause: str, words: str) -> None:
    assert words in line_of(ILL.with_log(decided(6, "ImagePullBackOff", cause=cause)))


def test_decisions_about_others_are_left_out() -> None:
    assert not line_of(ILL.with_log(decided(6, "ImagePullBackOff", key="default/shop-1")))


def test_a_log_that_was_read_in_part_is_named_with_how_far_back() -> None:
    log = replace(ILL.with_log(decided(6, "ImagePullBackOff")).log, since_s=NOW_S - 3600)
    lines = lines_of(answer_of(replace(ILL, log=log).gathered()), NOW_S)
    assert lines[-1] == "the log was read back to 2026-11-20T09:00:00Z"
