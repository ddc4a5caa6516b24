"""The rules of a job: each is reached, exactly one of each decision holds, and they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum

import pytest

from contracts.resources import JobPhase
from services.chassis.running.rules import RuleDefect, rule_for
from services.fusion_backend.core import (
    bundle_rules,
    child_rules,
    clean_up_rules,
    generation_rules,
    provision_rules,
    reference_rules,
    region_rules,
    status_rules,
)
from services.fusion_backend.core.deciding import DECISIONS, decide
from services.fusion_backend.core.effects import (
    AdoptChild,
    CreateChild,
    DeleteCertificate,
    DeleteChild,
    DeleteChildren,
    Effect,
    LookForBundle,
    PatchChild,
    TakeJobId,
    WriteJobStatus,
    WriteRegionStatus,
)
from services.fusion_backend.core.rules import JobObservation
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.snapshot import JobSeen, Snapshot
from services.fusion_backend.core.status_rules import STATUS_RULES, BeginAttempt, WriteStatus
from tests.uncollected import uncollected
from tests.unit.fusion_backend.generated import snapshots

WALKS, SEED = 210, 7
REACHED_MIN = 100
DELETIONS = (DeleteChild, DeleteChildren, DeleteCertificate)
OWN: dict[str, type[Enum]] = {
    "predecessors": clean_up_rules.PredecessorObservation,
    "status": status_rules.StatusObservation,
    "generation": generation_rules.GenerationObservation,
    "children": child_rules.ChildObservation,
    "clean-up": clean_up_rules.CleanUpObservation,
    "regions": region_rules.RegionObservation,
    "provisions": provision_rules.ProvisionObservation,
    "references": reference_rules.ReferenceObservation,
    "bundle": bundle_rules.BundleObservation,
}


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided on a snapshot; `own`: the effects on its own objects.

    `observations` are by decision; none if the rules do not fit, and `defect` says why.
    """

    job: JobSeen | None
    phase: JobPhase | None
    observations: Mapping[str, str]
    effects: tuple[Effect, ...] = ()
    own: tuple[Effect, ...] = ()
    defect: str = ""


@pytest.fixture(scope="module")
def generated() -> tuple[Decided, ...]:
    with uncollected():
        return tuple(_decided(*each) for each in snapshots(WALKS, SEED))


def _decided(snapshot: Snapshot, now: float) -> Decided:
    """Decided at once: the world that made the snapshot goes on and changes it."""
    at = Situation(snapshot, now)
    try:
        decision = decide(snapshot, now)
    except RuleDefect as defect:
        return Decided(snapshot.job, at.phase, {}, defect=str(defect))
    others = [
        effect
        for name in ("predecessors", "references")
        for effect in rule_for(DECISIONS[name], at, at.phase).action(at)
    ]
    own = tuple(each for each in decision.effects if each not in others)
    observations = decision.rules
    return Decided(snapshot.job, at.phase, observations, decision.effects, own)


@pytest.mark.parametrize("name", DECISIONS)
def test_each_observation_has_exactly_one_rule(name: str) -> None:
    named = [rule.observation for rule in DECISIONS[name]]
    shared = [each for each in named if isinstance(each, JobObservation)]
    assert shared in ([], list(JobObservation))
    assert [each for each in named if each not in shared] == list(OWN[name])


def test_generated_snapshots_reach_every_rule(generated: tuple[Decided, ...]) -> None:
    """Exactly one rule of each decision holds, or the phase cannot show what the job shows."""
    reached = Counter(pair for each in generated for pair in each.observations.items())
    rules = {(name, rule.observation.name) for name in DECISIONS for rule in DECISIONS[name]}
    assert {pair for pair in rules if reached[pair] < REACHED_MIN} == set()
    assert 0 < sum(bool(each.defect) for each in generated) < len(generated) / 10


def test_no_two_decisions_on_a_job_ask_for_the_same_effect(
    generated: tuple[Decided, ...],
) -> None:
    """The status of the Job is written once, that of a region too, and each child."""
    for each in generated:
        written = Counter(_written_by(effect) for effect in each.effects)
        assert {what: times for what, times in written.items() if times > 1} == {}


def _written_by(effect: Effect) -> Hashable:
    """What an effect is about; nothing of the sort may be asked for twice."""
    match effect:
        case TakeJobId() | WriteJobStatus():
            return "status of the Job"
        case WriteRegionStatus():
            return "status", effect.name
        case CreateChild() | PatchChild() | AdoptChild() | DeleteChild():
            return effect.kind, effect.name
    return effect


def test_a_failed_job_starts_again_or_goes_by_a_change_of_people_or_a_retry_only() -> None:
    """Of the rules that lead from Failed to another phase, one is of a deletion, two of retries."""
    leading = [
        rule.observation.name
        for rule in STATUS_RULES
        if isinstance(rule.action, WriteStatus | BeginAttempt)
        and rule.action.phase is not None
        and (rule.phases is None or JobPhase.FAILED in rule.phases)
    ]
    assert leading == ["DELETION_UNRECORDED", "RETRIED", "RETRY_DUE"]


def test_a_failed_job_writes_nothing_but_a_new_attempt(generated: tuple[Decided, ...]) -> None:
    """What is left of it is deleted."""
    failed = [each for each in generated if _is_there(each) and each.phase is JobPhase.FAILED]
    assert len(failed) > REACHED_MIN
    for each in failed:
        for effect in each.own:
            is_attempt = isinstance(effect, TakeJobId | WriteJobStatus)
            assert is_attempt == (each.observations["status"] in ("RETRIED", "RETRY_DUE"))
            assert is_attempt or isinstance(effect, (*DELETIONS, LookForBundle))


def _is_there(each: Decided) -> bool:
    return each.job is not None and not each.job.deleting


def test_a_job_that_goes_deletes_its_children_says_so_and_does_nothing_else(
    generated: tuple[Decided, ...],
) -> None:
    going = [each for each in generated if each.job is not None and each.job.deleting]
    assert len(going) > REACHED_MIN
    for each in going:
        assert all(isinstance(effect, (*DELETIONS, WriteJobStatus)) for effect in each.own)
        assert each.job is not None
        assert not (each.job.orphaning and each.own)


@pytest.mark.parametrize("phase", [JobPhase.SUBMITTED, JobPhase.RESIZING, JobPhase.DELETING])
def test_a_status_that_contradicts_itself_is_a_defect(
    generated: tuple[Decided, ...], phase: JobPhase
) -> None:
    """Nothing is done, not even what the next rule would do."""
    text = f"WITHOUT_ID is observed in phase {phase}, and may be in Submitting"
    found = [each for each in generated if each.defect == text]
    assert found
    assert {each.phase for each in found} == {phase}
