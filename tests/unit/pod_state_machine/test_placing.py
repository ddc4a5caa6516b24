"""A constrained PE waits until its node is decided, and is launched there."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.table.entries import Change, Entry
from services.launching.core.effects import CreatePod, DeletePod, PatchStatus
from services.launching.core.owners import LaunchStatus
from services.pod_state_machine.adapters import intake
from services.pod_state_machine.adapters.assignments import Assignments, ids_on
from services.pod_state_machine.core.awaiting import place_of
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.snapshot import JobKey, PeKey
from tests.builders import (
    Builder,
    PeBuilder,
    a_host_pool,
    a_job,
    a_node,
    a_pe,
    a_placement,
    a_pod,
)
from tests.unit.pod_state_machine.cluster import (
    NOW,
    decided,
    observed,
    snapshot_of,
    submitted,
    world,
)

TOGETHER: dict[str, Any] = {"coLocations": ["together"]}
IN_POOL: dict[str, Any] = {"hostPoolLocation": {"poolIndex": 1}}
ON_N1 = a_placement({"n1": "0-3"})
N1 = a_node("n1")


def constrained(**placement: Any) -> PeBuilder:
    return a_pe().with_spec(placement=placement or TOGETHER)


def only(*builders: Builder, **how: Any) -> Effect:
    (effect,) = decided(*builders, **how).effects
    return effect


def waiting_message(*builders: Builder) -> str:
    """The message in the status of a PE that waits."""
    effect = only(*builders)
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase is PePhase.WAITING
    assert effect.status.reason == Reason.GATES_CLOSED
    return effect.status.message


def node_of_launch(*builders: Builder) -> str:
    effect = only(*builders)
    assert isinstance(effect, CreatePod)
    return effect.node


# --------------------------------------------------------------------------- waiting


def test_a_constrained_pe_waits_for_its_placement_and_reports_it() -> None:
    assert waiting_message(constrained()) == "The processing element waits for its placement."
    assert "its placement" in waiting_message(
        constrained(), ON_N1.with_status(assignments=None), N1
    )
    assert "its placement" in waiting_message(constrained(), a_placement({"n1": "1-3"}), N1)


@pytest.mark.parametrize(
    "placement",
    [
        {"host": "n1"},
        {"coLocations": ["a"]},
        {"exLocations": ["a"]},
        {"isolation": "a"},
        {"isolations": ["a"]},
        {"isolationLabels": ["a"]},
        {"hostPoolLocation": {"poolIndex": 0}},
    ],
)
def test_every_constraint_is_waited_for(placement: dict[str, Any]) -> None:
    assert waiting_message(constrained(**placement))


@pytest.mark.parametrize("placement", [None, {}, {"coLocations": []}, {"required": False}])
def test_a_pe_without_constraints_is_launched_anywhere(placement: object) -> None:
    """Also in a job that has a placement for others."""
    free = a_pe().with_spec(placement=placement)
    assert node_of_launch(free) == ""
    assert node_of_launch(free, ON_N1, N1) == ""


def test_a_new_pe_waits_a_moment_before_it_reports_that_it_waits() -> None:
    """Claims take a moment, and a status for each PE would be written in vain."""
    young = constrained().created_at("2026-11-20T00:00:58Z")
    decision = decided(young)
    assert decision.effects == ()
    assert decision.requeue_at == NOW - 2.0 + 5.0


def test_that_a_pe_waits_is_written_once() -> None:
    message = "The processing element waits for its placement."
    waiting = constrained().with_status(phase="Waiting", reason="GatesClosed", message=message)
    assert decided(waiting).effects == ()


def test_a_pe_that_waits_goes_to_the_node_it_is_assigned_to() -> None:
    assert node_of_launch(constrained(), ON_N1, N1) == "n1"


def test_an_answer_of_an_older_plan_does_not_count() -> None:
    """The newest answer of the Placement may come later than the PE of the requesting plan."""
    newer = constrained().with_spec(generation=2)
    assert waiting_message(newer, a_placement({"n1": "0"}, generation=1), N1)
    assert node_of_launch(newer, a_placement({"n1": "0"}, generation=2), N1) == "n1"
    assert node_of_launch(newer, a_placement({"n1": "0"}, generation=3), N1) == "n1"


def test_the_placement_of_an_earlier_job_of_that_name_does_not_count() -> None:
    stranger = ON_N1.owned_by("Job", "shop", "uid-of-an-earlier-one")
    assert waiting_message(constrained(), stranger, N1)


def test_a_node_that_does_not_exist_is_waited_past() -> None:
    message = waiting_message(constrained(), ON_N1)
    assert "waits for a new placement: its node n1 does not exist" in message
    assert node_of_launch(constrained(), a_placement({"n2": "0"}), a_node("n2")) == "n2"


def test_a_pe_in_a_marked_pool_waits_until_its_node_is_claimed() -> None:
    pool = a_host_pool().exclusive()
    message = waiting_message(constrained(**IN_POOL), ON_N1, N1, pool.claiming("n2"))
    assert "waits until node n1 is claimed for the pool gpu" in message
    assert node_of_launch(constrained(**IN_POOL), ON_N1, N1, pool.claiming("n2", "n1")) == "n1"


def test_a_pool_that_labels_its_members_is_waited_for_too() -> None:
    pool = a_host_pool().with_spec(labelsMembers=True)
    assert "is claimed" in waiting_message(constrained(**IN_POOL), ON_N1, N1, pool)
    assert node_of_launch(constrained(**IN_POOL), ON_N1, N1, pool.claiming("n1")) == "n1"


def test_a_shared_pool_without_marks_needs_no_claim() -> None:
    assert node_of_launch(constrained(**IN_POOL), ON_N1, N1, a_host_pool()) == "n1"


@pytest.mark.parametrize(
    "pool",
    [
        a_host_pool(index=2),
        a_host_pool().deleting(),
        a_host_pool().owned_by("Job", "shop", "uid-of-an-earlier-one"),
    ],
)
def test_a_pool_of_another_job_or_one_in_deletion_does_not_count(pool: Builder) -> None:
    assert "waits for its host pool" in waiting_message(constrained(**IN_POOL), ON_N1, N1, pool)


def test_a_job_of_a_release_that_enforced_nothing_is_launched_as_before() -> None:
    """Its status has the reason NoConstraints, and it has no placement."""
    of_old = a_job().with_status(
        phase="Submitted",
        conditions=[{"type": "Placed", "status": "True", "reason": "NoConstraints"}],
    )
    assert node_of_launch(constrained(), of_old) == ""
    assert node_of_launch(constrained(), of_old, ON_N1, N1) == "n1"


def test_a_requested_launch_waits_while_the_old_pod_runs() -> None:
    """Otherwise the PE would stop until hostpool-manager has decided."""
    running = constrained().launched(1).with_content("c2").with_spec(generation=1)
    assert decided(running, a_pod().in_phase("Running").on_node("n1"), ON_N1, N1).effects == ()


# --------------------------------------------------------------------------- moving


def test_a_pod_on_no_node_that_was_made_for_another_is_replaced() -> None:
    starting = constrained().launched(1, phase="Starting")
    effect = only(starting, a_pod().pinned_to("n2"), ON_N1, N1, submitted())
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase is PePhase.WAITING
    assert effect.status.launch_count == 2
    assert effect.status.reason == Reason.REASSIGNED


def test_the_replacement_is_made_when_the_pod_is_gone() -> None:
    moved = constrained().launched(2, phase="Waiting")
    (removed,) = decided(moved, a_pod().pinned_to("n2"), ON_N1, N1).effects
    assert isinstance(removed, DeletePod)
    created = only(moved, ON_N1, N1, ended=frozenset({a_pod().entry().name}))
    assert isinstance(created, CreatePod)
    assert (created.launch, created.node) == (2, "n1")


def test_restarts_in_a_row_are_counted_on_past_a_move() -> None:
    starting = constrained().launched(3, phase="Starting").with_status(restarts=2)
    effect = only(starting, a_pod(launch=3).pinned_to("n2"), ON_N1, N1, submitted())
    assert isinstance(effect, PatchStatus)
    assert effect.status.restarts == 2


@pytest.mark.parametrize(
    "pod",
    [
        a_pod().pinned_to("n1"),
        a_pod().pinned_to("n2").on_node("n2"),
        a_pod().pinned_to("n2").on_node("n2").in_phase("Running"),
        a_pod().pinned_to("n2").deleting(),
    ],
)
def test_a_pod_that_is_right_or_bound_or_leaves_is_not_replaced(pod: Builder) -> None:
    starting = constrained().launched(1, phase="Starting")
    decision = decided(starting, pod, ON_N1, N1, submitted())
    assert decision.reason
    assert [each for each in decision.effects if not isinstance(each, PatchStatus)] == []
    counts = {each.status.launch_count for each in decision.effects}  # type: ignore[union-attr]
    assert counts <= {1}


@pytest.mark.parametrize(
    "world_without_answer",
    [(), (a_placement({"n9": "5"}), N1), (ON_N1,), (a_placement({"n1": "0"}, generation=-1), N1)],
)
def test_no_pod_is_replaced_while_nothing_is_decided(
    world_without_answer: tuple[Builder, ...],
) -> None:
    pod = a_pod().pinned_to("n2")
    starting = constrained().launched(1, phase="Starting")
    found = observed(starting, pod, submitted(), *world_without_answer)
    assert found.name == "POD_PENDING"


# --------------------------------------------------------------------------- relaunching


def test_a_failed_pe_is_launched_on_its_assigned_node_without_another_decision() -> None:
    """A recorded assignment is enough, whichever service is down."""
    waiting = constrained().launched(2, phase="Waiting")
    failed = a_pod().pinned_to("n1").on_node("n1").in_phase("Failed")
    effects = decided(waiting, failed, ON_N1, N1).effects
    created = next(each for each in effects if isinstance(each, CreatePod))
    assert created.node == "n1"


def test_after_the_loss_of_its_node_a_pe_waits_for_another() -> None:
    waiting = constrained().launched(2, phase="Waiting")
    gone = frozenset({a_pod().entry().name})
    lost = only(waiting, ON_N1, ended=gone)
    assert isinstance(lost, PatchStatus)
    assert lost.status.launch_count == 2
    assert lost.status.pod == a_pod().entry().name, "beside which the next one must not run"
    moved = only(waiting, a_placement({"n2": "0"}), a_node("n2"), ended=gone)
    assert isinstance(moved, CreatePod)
    assert moved.node == "n2"


def test_the_status_of_a_waiting_pe_is_corrected_at_once() -> None:
    waited = constrained().with_status(phase="Waiting", reason="GatesClosed", message="x")
    effect = only(waited, a_pod().pinned_to("n1"), ON_N1, N1)
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase is PePhase.STARTING


# --------------------------------------------------------------------------- dirty keys


def queued(by: Builder, *others: Builder) -> list[PeKey | JobKey]:
    table = world(by, *others)
    return list(intake.keys_of(Change(None, by.entry()), table))


RUNS = constrained().launched(1)


def test_a_placement_queues_the_pes_of_its_job_that_need_a_launch() -> None:
    others = (
        a_pe(pe_id=1),
        a_pe("other").with_spec(placement=TOGETHER),
        constrained().named("shop-2").launched(1),
    )
    assert queued(ON_N1, constrained(), *others) == [PeKey("default", "shop-0")]


@pytest.mark.parametrize(
    "pe",
    [
        RUNS.with_content("c2"),
        RUNS.with_spec(launchCount=2),
        RUNS.having("metadata", "annotations", "streams.ibm.com/restart", value="now"),
        RUNS.with_status(phase="Starting"),
    ],
)
def test_a_pe_that_needs_another_launch_is_queued(pe: Builder) -> None:
    assert queued(ON_N1, pe) == [PeKey("default", "shop-0")]
    assert queued(ON_N1, RUNS) == []


def test_a_host_pool_queues_the_pes_that_require_it() -> None:
    pool = a_host_pool()
    assert queued(pool, constrained(**IN_POOL)) == [PeKey("default", "shop-0")]
    assert queued(a_host_pool(index=2), constrained(**IN_POOL)) == []
    assert queued(pool, constrained(**IN_POOL).launched(1)) == []


def test_a_node_queues_the_pes_that_are_assigned_to_it() -> None:
    waits, other = constrained(), a_pe(pe_id=7).with_spec(placement=TOGETHER)
    assert queued(N1, ON_N1, waits, other) == [PeKey("default", "shop-0")]
    assert queued(N1, ON_N1, RUNS) == []
    assert queued(a_node("n2"), ON_N1, waits) == []


def test_invalid_runs_of_ids_assign_no_pe() -> None:
    """As after an edit by hand: a bad object delays only the PEs that it names."""
    odd = a_placement({"n1": "9-0", "n2": "0"})
    assert node_of_launch(constrained(), odd, a_node("n2")) == "n2"


def test_a_run_of_more_pes_than_a_placement_has_assigns_no_pe() -> None:
    """A few bytes would name a million PEs, and a few such runs take all memory."""
    odd = a_placement({"n2": "0", "n1": "0-999999"})
    assert node_of_launch(constrained(), odd, a_node("n1"), a_node("n2")) == "n2"
    assert list(ids_on(odd.entry(), "n1")) == []


def test_a_placement_that_changes_is_read_again() -> None:
    assignments = Assignments()
    first = ON_N1.entry()
    moved: Entry = a_placement({"n2": "0"}).at_version(2).entry()
    re_created = a_placement({"n3": "0"}).with_uid("another").at_version(2).entry()
    found = [assignments.node_of(each, 0) for each in (first, first, moved, re_created, first)]
    assert found == ["n1", "n1", "n2", "n3", "n1"]


def test_a_place_has_the_node_and_the_pool_of_its_pe() -> None:
    snapshot = snapshot_of(constrained(**IN_POOL), ON_N1, N1, a_host_pool().with_tags("a"))
    place = place_of(snapshot)
    assert place is not None
    assert place.node.name == "n1"
    assert place.pool is not None
    assert place.pool.tags == ("a",)


def test_a_status_of_a_pe_that_waits_is_patient() -> None:
    waits = only(constrained())
    assert isinstance(waits, PatchStatus)
    intent = PatchStatus("u", LaunchStatus(phase=PePhase.WAITING, reason="PodFailed"))
    assert (waits.urgency.name, intent.urgency.name) == ("PATIENT", "PROMPT")
