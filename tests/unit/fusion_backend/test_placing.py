"""A job that asks for hosts: nothing of a plan is written before it has a placement."""

from __future__ import annotations

import pytest

from contracts import labels
from services.fusion_backend.core.deciding import decide
from tests.unit.fusion_backend.hosted_world import (
    CLOSEST,
    PLACEMENT,
    HostedWorld,
    hosted,
)
from tests.unit.fusion_backend.objects import packs_of
from tests.unit.fusion_backend.world import JOB, World

PES = 6


def until_asked(world: HostedWorld) -> None:
    """Step until the Placement is there."""
    for _ in range(20):
        if PLACEMENT in world.objects:
            return
        world.step()
    raise AssertionError("nothing is asked")


def test_a_job_that_asks_for_hosts_is_submitted_when_it_has_a_placement() -> None:
    world = hosted()
    assert world.objects[PLACEMENT]["spec"]["generation"] == 0
    assert world.condition("Placed") == world.condition("Placed") | {
        "status": "True",
        "reason": "Placed",
    }
    assert world.named("HostPool") == {f"{JOB}-0", f"{JOB}-1"}
    assert len(world.named("Pod")) == PES


def test_nothing_but_pools_and_placement_exists_before_the_answer() -> None:
    world = HostedWorld()
    world.is_answered = False
    world.converge()
    assert {kind for kind, _ in world.objects} == {"Job", "Node", "HostPool", "Placement"}
    placed, fused = world.condition("Placed"), world.condition("Fused")
    assert (placed["status"], placed["reason"]) == ("Unknown", "Placing")
    assert fused["status"] == "True"
    assert world.status()["message"] == "it is being decided where 6 PEs can run"


def test_pools_are_there_before_the_placement_asks_for_them() -> None:
    world = HostedWorld()
    until_asked(world)
    kinds = [kind for verb, kind, _ in world.writes if verb == "POST"]
    assert kinds == ["HostPool", "HostPool", "Placement"]


def test_a_job_without_constraints_writes_not_one_object_more() -> None:
    """Nor is it said to be placed before it is submitted."""
    world = World()
    world.converge()
    assert world.named("Placement") == set()
    posts = [kind for verb, kind, _ in world.writes if verb == "POST"]
    assert sorted(set(posts)) == [
        "ConfigMap",
        "HostPool",
        "ParallelRegion",
        "ProcessingElement",
        "Service",
    ]
    packs = len(packs_of(world.objects, JOB))
    assert len(posts) == 2 + packs + PES + 1 + 2 + 1
    patched = [kind for verb, kind, _ in world.writes if verb == "PATCH"]
    assert sorted(patched) == ["Job", "Job", "ParallelRegion", "ParallelRegion"]
    assert world.condition("Placed")["reason"] == "NoConstraints"


def test_nothing_is_written_to_a_steady_job_with_a_placement() -> None:
    world = hosted()
    assert decide(world.snapshot(), world.now).effects == ()
    before = world.versions()
    world.crash()
    world.converge()
    assert world.versions() == before


def test_what_the_api_server_filled_in_is_not_requested_again() -> None:
    world = hosted()
    spec = world.objects[PLACEMENT]["spec"]
    for each in spec["classes"]:
        del each["isolation"]
        del each["nodeSelectorTerms"]
    assert decide(world.snapshot(), world.now).effects == ()


# --------------------------------------------------------------------------- refusals


def test_a_refused_placement_fails_the_submission_and_leaves_nothing() -> None:
    world = HostedWorld(counting=1)
    world.converge()
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "ExlocationImpossible")
    assert status["message"].startswith(f"2 PEs apart, 1 hosts; {CLOSEST}; it is tried again at ")
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == {
        "Accepted": "True",
        "Fused": "True",
        "Placed": "False",
        "Submitted": "False",
        "Healthy": "False",
    }
    assert world.condition("Placed")["reason"] == "ExlocationImpossible"
    assert world.events[-1] == ("ExlocationImpossible", f"2 PEs apart, 1 hosts; {CLOSEST}")


def test_a_failed_job_asks_again_when_it_is_tried_again() -> None:
    world = HostedWorld(counting=1)
    world.converge()
    world.counting = 2
    world.annotate(labels.RETRY, "1")
    world.converge()
    assert world.status()["phase"] == "Submitted"


def test_missing_capacity_is_waited_for_and_said() -> None:
    world = HostedWorld(counting=1)
    world.waits = True
    world.converge()
    placed = world.condition("Placed")
    assert (placed["status"], placed["reason"]) == ("False", "InsufficientCapacity")
    assert world.status()["phase"] == "Submitting"
    assert world.status()["message"] == f"waits for capacity: 2 PEs apart, 1 hosts; {CLOSEST}"
    world.counting = 2
    world.ask_again()
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.condition("Placed")["status"] == "True"


def test_capacity_is_waited_for_until_the_submission_time_out() -> None:
    world = HostedWorld(counting=1, submissionTimeOutInSeconds=60)
    world.waits = True
    world.converge()
    decision = decide(world.snapshot(), world.now)
    assert decision.requeue_at == world.now + 60
    world.now += 60
    world.converge()
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "SubmissionTimedOut")
    assert "InsufficientCapacity" in status["message"]
    assert CLOSEST in status["message"]
    assert world.condition("Placed")["reason"] == "InsufficientCapacity"
    assert world.condition("Placed")["status"] == "False"
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}


def test_a_submission_that_nobody_places_says_so_when_its_time_is_over() -> None:
    world = HostedWorld(submissionTimeOutInSeconds=60)
    world.is_answered = False
    world.converge()
    world.now += 60
    world.converge()
    assert world.status()["reason"] == "SubmissionTimedOut"
    assert f"Placement {JOB} has no answer" in world.status()["message"]
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}


def test_an_answer_to_an_older_question_is_none() -> None:
    """A status may lie behind its spec, also where it says the generation that is requested."""
    world = HostedWorld()
    until_asked(world)
    assert world.objects[PLACEMENT]["status"]["phase"] == "Placed"
    world.is_answered = False
    world.objects[PLACEMENT]["metadata"]["generation"] += 1
    world.crash()
    world.converge()
    assert f"{JOB}.plan.0" not in world.named("ConfigMap")


# --------------------------------------------------------------------------- repairs


@pytest.mark.parametrize("name", [PLACEMENT, ("HostPool", f"{JOB}-1")])
def test_what_somebody_deleted_comes_back(name: tuple[str, str]) -> None:
    world = hosted()
    before = world.meaning()
    world.remove(*name)
    world.converge()
    assert world.meaning() == before
    assert world.status()["phase"] == "Submitted"
    assert world.condition("Placed")["status"] == "True"


def test_a_host_pool_that_somebody_edited_is_as_declared_again() -> None:
    """A pool made shared by hand would let others onto the nodes that the job holds."""
    world = hosted()
    name = ("HostPool", f"{JOB}-1")
    before = world.meaning()
    declared = world.objects[name]["spec"]["hostpool"]
    is_shared = declared["membershipMode"] == "shared"
    other = {**declared, "membershipMode": "exclusive" if is_shared else "shared", "size": 7}
    world.edit(*name, hostpool=other, labelsMembers=True)
    assert world.meaning() != before
    world.converge()
    assert world.meaning() == before


def test_a_placement_that_somebody_edited_asks_again_for_what_is_in_force() -> None:
    world = hosted()
    before = world.meaning()
    world.edit(*PLACEMENT, classes=[])
    world.converge()
    assert world.meaning() == before


def test_a_placement_lost_later_is_reported_of_what_runs() -> None:
    """A node went: what runs goes on, and the condition says why the rest has no place."""
    world = hosted()
    world.counting = 1
    world.ask_again()
    world.converge()
    assert world.status()["phase"] == "Submitted"
    placed = world.condition("Placed")
    assert (placed["status"], placed["reason"]) == ("False", "ExlocationImpossible")
    assert len(world.named("Pod")) == PES


# --------------------------------------------------------------------------- deleting


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_job_that_is_deleted_while_it_waits_takes_pools_and_placement_with_it(
    is_gone: bool,
) -> None:
    world = HostedWorld()
    world.is_answered = False
    world.converge()
    if is_gone:
        world.remove("Job", JOB)
        world.submit()
        world.is_answered = True
        world.converge()
        uids = {
            obj["metadata"]["labels"][labels.JOB_UID]
            for (kind, _), obj in world.objects.items()
            if kind not in ("Job", "Node", "Pod")
        }
        assert uids == {world.uid}
        assert world.status()["phase"] == "Submitted"
    else:
        world.delete_job()
        world.converge()
        assert {kind for kind, _ in world.objects} == {"Job", "Node"}


def test_a_job_that_is_being_deleted_says_nothing_of_its_placement() -> None:
    world = HostedWorld()
    world.is_answered = False
    world.converge()
    world.delete_job()
    kinds = {type(each).__name__ for each in decide(world.snapshot(), world.now).effects}
    assert kinds == {"DeleteChildren"}
    world.remove(*PLACEMENT)
    effects = decide(world.snapshot(), world.now).effects
    assert {type(each).__name__ for each in effects} == {"DeleteChildren"}


def test_a_job_that_lost_its_records_and_has_a_bad_spec_asks_nothing() -> None:
    world = hosted()
    world.edit("Job", JOB, parallelRegions=[{"alias": "W", "width": 0}])
    world.crash()
    for name in world.named("ConfigMap"):
        if ".plan." in name:
            world.remove("ConfigMap", name)
    assert decide(world.snapshot(), world.now).effects == ()
    assert len(world.named("Pod")) == PES


def test_an_orphaning_deletion_leaves_the_placement_alone() -> None:
    world = hosted()
    world.delete_job(orphan=True)
    world.converge()
    assert PLACEMENT in world.objects
    assert world.named("HostPool") == {f"{JOB}-0", f"{JOB}-1"}


def test_a_pool_that_is_slow_to_go_holds_up_the_next_attempt_only() -> None:
    world = HostedWorld(counting=1)
    while PLACEMENT not in world.objects:
        world.step()
    pool = ("HostPool", f"{JOB}-1")
    world.objects[pool]["metadata"]["finalizers"] = [labels.NODE_CLAIMS_FINALIZER]
    world.converge()
    assert world.status()["phase"] == "Failed"
    assert {key for key in world.objects if key[0] not in ("Job", "Node")} == {pool}
    world.counting = 2
    world.annotate(labels.RETRY, "1")
    world.converge()
    assert world.status()["phase"] == "Failed"
    world.remove(*pool)
    world.converge()
    assert world.status()["phase"] == "Submitted"
