"""The rules of a PE and of its pods: each is reached, exactly one holds, and what they never do."""

from __future__ import annotations

from collections import Counter

import pytest

from contracts.resources.processing_element import PePhase
from services.chassis.running.rules import RuleDefect, rule_for
from services.launching.core.effects import CreatePod, PatchStatus
from services.launching.core.pod_rules import POD_RULES, PodObservation, PodSituation
from services.launching.core.recording import IntendLaunch, IntendRestart
from services.launching.core.rules import RULES, Observation
from services.launching.core.situation import Situation
from services.launching.core.snapshot import Timing
from services.pod_state_machine.core.deciding import decide, situation_of
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.snapshot import PeSnapshot
from tests.builders import a_pe, a_pod
from tests.uncollected import uncollected
from tests.unit.pod_state_machine.cluster import decided, submitted
from tests.unit.pod_state_machine.generated import NOW, snapshots

COUNT, SEED = 40_000, 7
REACHED_MIN = 100


Decided = tuple[Situation, str, tuple[Effect, ...]]
"""A situation, the observation that decides it (empty: no rule fits), and the effects."""


@pytest.fixture(scope="module")
def generated() -> tuple[Decided, ...]:
    with uncollected():
        return tuple(map(_decided, snapshots(COUNT, SEED)))


def _decided(snapshot: PeSnapshot) -> Decided:
    assert snapshot.owner is not None
    at = situation_of(snapshot, snapshot.owner, NOW, Timing())
    try:
        decision = decide(snapshot, NOW, Timing())
    except RuleDefect:
        return at, "", ()
    return at, decision.rules["PE"], decision.effects


@pytest.mark.parametrize(("rules", "names"), [(RULES, Observation), (POD_RULES, PodObservation)])
def test_each_observation_has_exactly_one_rule(rules: object, names: object) -> None:
    assert [rule.observation for rule in rules] == list(names)  # type: ignore[attr-defined,call-overload]


def test_generated_snapshots_reach_every_rule(generated: tuple[Decided, ...]) -> None:
    """Exactly one rule holds for each of them, or its phase cannot show what it shows."""
    reached = Counter(observation for _, observation, _ in generated)
    assert {each.name for each in Observation if reached[each.name] < REACHED_MIN} == set()
    assert 0 < reached[""] < COUNT / 10


def test_generated_snapshots_reach_every_rule_of_pods(generated: tuple[Decided, ...]) -> None:
    pods = (PodSituation(at, pod) for at, _, _ in generated for pod in at.snapshot.pods)
    reached = Counter(rule_for(POD_RULES, each).observation for each in pods)
    assert {each for each in PodObservation if reached[each] < REACHED_MIN} == set()


def test_nothing_is_launched_for_owners_that_leave_or_while_the_view_is_behind(
    generated: tuple[Decided, ...],
) -> None:
    """A pod of a deleted job would be garbage, one of a stale view a second launch."""
    seen = 0
    for at, _, effects in generated:
        if at.context.has_lost_job or at.owner.is_deleting or at.is_behind:
            seen += 1
            assert not any(isinstance(each, CreatePod | PatchStatus) for each in effects)
    assert seen > REACHED_MIN


def test_a_pod_is_created_for_the_intended_launch_alone(generated: tuple[Decided, ...]) -> None:
    """In the one phase whose intent is written, and beside no pod that may run."""
    seen = 0
    for at, _, effects in generated:
        for each in effects:
            if isinstance(each, CreatePod):
                seen += 1
                assert at.phase is PePhase.WAITING
                assert each.launch == max(at.launch, 1)
                assert at.blocking == ()
                assert at.are_gates_open
    assert seen > REACHED_MIN


def test_launch_counts_never_fall_and_grow_by_an_intent_only(
    generated: tuple[Decided, ...],
) -> None:
    """The intent is what fences a launch: no phase but Waiting may hold it."""
    seen = 0
    for at, _, effects in generated:
        for each in effects:
            if isinstance(each, PatchStatus):
                seen += 1
                assert each.status.launch_count >= at.owner.status.launch_count
                if each.status.launch_count > max(at.launch, at.owner.status.launch_count):
                    assert each.status.phase is PePhase.WAITING
                    assert at.are_gates_open or at.restart is not None
    assert seen > REACHED_MIN


def test_no_two_decisions_about_a_pe_ask_for_the_same_effect(
    generated: tuple[Decided, ...],
) -> None:
    """Of the life cycle comes one effect at most, of each pod one at most."""
    seen = 0
    for at, _, effects in generated:
        seen += len(effects)
        assert len(set(effects)) == len(effects) <= 1 + len(at.snapshot.pods)
        assert sum(isinstance(each, PatchStatus) for each in effects) <= 1
    assert seen > REACHED_MIN


def test_every_intent_leads_to_phase_waiting() -> None:
    intents = [
        each.action for each in RULES if isinstance(each.action, IntendLaunch | IntendRestart)
    ]
    assert {each.phase for each in intents} == {PePhase.WAITING}


def test_a_pod_that_runs_again_after_its_end_is_a_defect() -> None:
    """Nothing is done, not even what the next rule would do."""
    pe = a_pe().launched(1, phase="Completed")
    with pytest.raises(RuleDefect, match="POD_RUNNING is observed in phase Completed"):
        decided(pe, a_pod().with_status(phase="Running"), submitted())
