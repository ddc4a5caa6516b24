"""The first rule that holds decides; one in a phase that it does not name is a defect."""

from __future__ import annotations

from enum import Enum, StrEnum, auto

import pytest

from contracts.reasons import Reason
from services.chassis.running.rules import Rule, RuleDefect, always, rule_for
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from tests.unit.chassis.running.saying import present
from tests.unit.chassis.running.staging import Do, bench
from tests.virtual_time import virtually


class Phase(StrEnum):
    OPEN = "Open"
    SHUT = "Shut"


class Seen(Enum):
    LARGE = auto()
    ODD = auto()
    ANY = auto()


RULES: tuple[Rule[int, str], ...] = (
    Rule(Seen.LARGE, lambda n: n > 9, "shrink", Reason.WAITING),
    Rule(
        Seen.ODD,
        lambda n: n % 2 == 1,
        "round",
        lambda _: Reason.POD_FAILED,
        frozenset({Phase.OPEN}),
    ),
    Rule(Seen.ANY, always, "leave", Reason.NOTHING_TO_CHANGE),
)


@pytest.mark.parametrize(
    ("number", "action", "reason"),
    [
        (11, "shrink", Reason.WAITING),
        (3, "round", Reason.POD_FAILED),
        (2, "leave", Reason.NOTHING_TO_CHANGE),
    ],
)
def test_the_first_rule_that_holds_decides(number: int, action: str, reason: Reason) -> None:
    rule = rule_for(RULES, number, Phase.OPEN)
    assert (rule.action, rule.reason_in(number)) == (action, reason)


@pytest.mark.parametrize("phase", [Phase.SHUT, None])
def test_a_rule_in_a_phase_that_it_does_not_name_is_never_the_next_rule(
    phase: Phase | None,
) -> None:
    with pytest.raises(RuleDefect, match=rf"ODD is observed in phase {phase}, and may be in Open"):
        rule_for(RULES, 3, phase)
    assert rule_for(RULES, 11, phase).action == "shrink", "an earlier rule that holds in any phase"


def test_rules_of_which_none_holds_are_a_defect() -> None:
    with pytest.raises(RuleDefect, match="no rule holds in phase Open"):
        rule_for(RULES[:2], 2, Phase.OPEN)


@virtually
async def test_a_rule_defect_is_reported_at_once_until_it_passes() -> None:
    """With its words: they name a rule and phases, and quote nobody."""

    def decide(_key: str, entry: Entry | None) -> Decision[Do]:
        number = 0 if entry is None else entry.data["size"]
        return Decision((), rule_for(RULES, number, Phase.SHUT).reason_in(number))

    async with bench(decide) as it:
        await it.say(present("x", size=3))
        await it.sync()
        await it.settle(0.01)
        assert "ODD is observed in phase Shut, and may be in Open" in it.stage.stalled["x"]
        assert it.runtime.metrics.value("millrace_crashes_total", where="key") >= 1
        await it.settle(600)
        decided = it.runtime.metrics.value("millrace_crashes_total", where="key")
        assert 5 < decided < 15, "once a minute"
        await it.say(present("x", size=2, version=2))
        await it.settle(0.1)
        assert it.stage.stalled["x"] == "", "another input is decided on at once"
