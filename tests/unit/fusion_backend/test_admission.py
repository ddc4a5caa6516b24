"""A job without host constraints: when it has a Placement, and what its condition Placed says."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.id_runs import ids_of
from contracts.moments import moment_of
from contracts.reasons import Reason
from services.fusion_backend.core.admission import SCHEDULER_S, UNSCHEDULABLE_S
from services.fusion_backend.core.deciding import decide
from tests.unit.fusion_backend.hosted_world import PLACEMENT, HostedWorld
from tests.unit.fusion_backend.world import JOB, Obj

FIRST = f"{JOB}-0"
PES = 6
SHORT = "PE 0, which asks for 100 cpu, finds no place; closest: node-0 lacks 68 cpu"


class FreeWorld(HostedWorld):
    """A job without host constraints, on nodes that take `pes_max` of its PEs."""

    def __init__(self, *, pes_max: int = 1_000, **more: Any) -> None:
        self.pes_max = pes_max
        super().__init__(asking="", **more)
        self.waits = True

    def answer_to(self, spec: Obj) -> Obj:
        """Play hostpool-manager, which counts PEs."""
        if sum(len(ids_of(each["pes"])) for each in spec["classes"]) > self.pes_max:
            reason = Reason.INSUFFICIENT_CAPACITY if self.waits else Reason.LABELS_MISSING
            answer: Obj = {"phase": "Refused", "reason": reason.value, "message": SHORT}
            return answer | {"waits": self.waits, "conditions": []}
        now = moment_of(self.now)
        condition = {"type": "Placed", "status": "True", "lastTransitionTime": now}
        answer = {"phase": "Placed", "reason": "Placed", "message": None, "waits": None}
        return answer | {"generation": spec["generation"], "conditions": [condition]}

    def leave_out(self, pe: str) -> None:
        """Play the scheduler that finds no node for a pod, and what reports it."""
        blocked = {"type": "PodBlocked", "status": "True", "reason": "Unschedulable"}
        blocked |= {"lastTransitionTime": moment_of(self.now)}
        self.report(pe, phase="Starting", reason="Unschedulable", node=None, conditions=[blocked])

    def take(self, pe: str) -> None:
        """Play the scheduler that finds a node for a pod."""
        self.report(pe, phase="Running", reason="PodRunning", node="node-0", conditions=[])

    def report(self, pe: str, **status: Any) -> None:
        """A PE's status."""
        self._patch("ProcessingElement", pe, {"status": status})

    def after(self, seconds: float) -> None:
        """Let time pass, and decide until nothing is left to do."""
        self.now += seconds
        self.converge()

    @property
    def placed(self) -> tuple[str, str]:
        """Status and reason of the condition Placed."""
        found = self.condition("Placed")
        return found["status"], found["reason"]


def submitted(**more: Any) -> FreeWorld:
    """A world whose job runs, each PE on a node."""
    world = FreeWorld(**more)
    world.converge()
    assert world.status()["phase"] == "Submitted"
    for pe in sorted(world.named("ProcessingElement")):
        world.take(pe)
    world.converge()
    return world


def full(**more: Any) -> FreeWorld:
    """A world in which a pod has been unschedulable for so long that its job was looked at."""
    world = submitted(pes_max=PES - 1, **more)
    world.leave_out(FIRST)
    world.after(UNSCHEDULABLE_S)
    return world


# --------------------------------------------------------------------------- Check


def test_a_job_whose_pods_get_nodes_has_no_placement_and_says_no_more() -> None:
    world = submitted(pes_max=0)
    world.after(1_000)
    assert PLACEMENT not in world.objects
    assert world.placed == ("True", "NoConstraints")
    assert "unschedulable for 2 s" in world.condition("Placed")["message"]


def test_a_pod_that_is_unschedulable_for_a_moment_writes_nothing() -> None:
    world = submitted(pes_max=0)
    before = world.versions()
    world.leave_out(FIRST)
    decision = decide(world.snapshot(), world.now)
    assert decision.effects == ()
    assert decision.requeue_at == pytest.approx(world.now + UNSCHEDULABLE_S)
    world.now += UNSCHEDULABLE_S / 2
    assert decide(world.snapshot(), world.now).effects == ()
    world.take(FIRST)
    world.after(UNSCHEDULABLE_S)
    del before["ProcessingElement", FIRST]
    assert world.versions().items() >= before.items()


def test_a_pod_that_stays_unschedulable_is_looked_into_and_the_job_says_why() -> None:
    world = full()
    assert world.placed == ("False", "InsufficientCapacity")
    message = world.condition("Placed")["message"]
    assert message.startswith("PE 0 ('Sentences'), which asks for 100 cpu")
    assert message.endswith("closest: node-0 lacks 68 cpu")
    assert world.objects[PLACEMENT]["spec"]["inForce"] is True
    assert world.status()["phase"] == "Submitted"
    assert decide(world.snapshot(), world.now).effects == ()


def test_the_placement_goes_when_every_pod_has_a_node() -> None:
    world = full()
    world.take(FIRST)
    world.converge()
    assert PLACEMENT not in world.objects
    assert world.placed == ("True", "NoConstraints")


def test_the_placement_stays_while_the_pod_is_replaced() -> None:
    """Somebody deletes the pod: the next one is as unschedulable."""
    world = full()
    before = world.objects[PLACEMENT]["metadata"]["uid"]
    for phase in ("Waiting", "Starting"):
        world.report(FIRST, phase=phase, reason="LaunchDue", conditions=[])
        world.after(10)
    world.leave_out(FIRST)
    world.after(10)
    assert world.objects[PLACEMENT]["metadata"]["uid"] == before


@pytest.mark.parametrize("kind", ["CreateChild", "DeleteChild"])
def test_a_crash_before_the_placement_is_written_or_deleted_makes_no_difference(kind: str) -> None:
    world = submitted(pes_max=PES - 1)
    world.leave_out(FIRST)
    if kind == "DeleteChild":
        world.after(UNSCHEDULABLE_S)
        world.take(FIRST)
    world.now += UNSCHEDULABLE_S
    world.step(dropping=lambda effect: type(effect).__name__ == kind)
    world.crash()
    world.converge()
    writes = [name for verb, name, _ in world.writes if verb in ("POST", "DELETE")]
    assert writes.count("Placement") == (1 if kind == "CreateChild" else 2)


def test_a_resize_asks_again_for_all_that_is_then_in_force() -> None:
    """The pod that no node takes is not looked into twice."""
    world = full()
    world.resize(0, 3)
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.asked_for == 1
    assert world.placed == ("False", "InsufficientCapacity")
    assert sum(kind == "Placement" for verb, kind, _ in world.writes if verb == "POST") == 1


def test_room_alone_is_no_node() -> None:
    """The scheduler knows of volumes, ports and other pods; hostpool-manager does not."""
    world = full()
    world.pes_max = PES
    world.ask_again()
    world.converge()
    assert world.placed == ("True", "Placed")
    decision = decide(world.snapshot(), world.now)
    assert decision.requeue_at == pytest.approx(world.now + SCHEDULER_S)
    world.after(SCHEDULER_S)
    assert world.placed == ("False", "Unschedulable")
    assert world.condition("Placed")["message"].startswith("PE 0 ('Sentences') has no node")
    world.take(FIRST)
    world.converge()
    assert world.placed == ("True", "NoConstraints")


def test_a_request_that_is_too_large_is_reported_and_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = "services.fusion_backend.core.placement_requests"
    monkeypatch.setattr(f"{module}.PLACEMENT_BYTES_MAX", 10)
    world = full()
    assert PLACEMENT not in world.objects
    assert world.placed == ("False", "PlanTooLarge")


# --------------------------------------------------------------------------- Require


def test_a_required_job_that_fits_is_placed_before_it_is_created() -> None:
    world = submitted(admission="Require")
    assert world.placed == ("True", "Placed")
    assert world.objects[PLACEMENT]["spec"]["inForce"] is False
    pes = [name for name in world.objects if name[0] == "ProcessingElement"]
    assert not any("placement" in world.objects[name]["spec"] for name in pes)
    before = world.versions()
    world.crash()
    world.converge()
    assert world.versions() == before


def test_a_required_job_that_does_not_fit_is_refused_and_leaves_nothing() -> None:
    world = FreeWorld(pes_max=0, admission="Require")
    world.waits = False
    world.converge()
    assert (world.status()["phase"], world.status()["reason"]) == ("Failed", "LabelsMissing")
    assert world.placed == ("False", "LabelsMissing")
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}


def test_a_width_that_does_not_fit_waits_and_the_old_one_stays() -> None:
    """It is tried again for as long as a submission may take."""
    world = submitted(pes_max=PES, admission="Require")
    world.waits = False
    world.resize(0, 3)
    world.converge()
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert (status["width"], status["reason"]) == (2, "WidthWaits")
    assert status["refused"]["reason"] == "LabelsMissing"
    assert len(world.named("ProcessingElement")) == PES
    assert world.placed == ("True", "Placed")


# --------------------------------------------------------------------------- Ignore, and edits


def test_an_ignored_job_is_never_looked_into_and_says_so() -> None:
    world = full(admission="Ignore")
    assert PLACEMENT not in world.objects
    assert world.placed == ("Unknown", "NotChecked")


def test_an_edit_is_taken_up_at_once_and_waits_for_no_resize() -> None:
    world = full()
    world.edit("Job", JOB, admission="Ignore")
    world.converge()
    assert PLACEMENT not in world.objects
    assert world.placed == ("Unknown", "NotChecked")
    assert world.condition("Accepted")["reason"] == "Accepted"
    world.edit("Job", JOB, admission="Require")
    world.converge()
    assert world.placed == ("False", "InsufficientCapacity")
    assert world.objects[PLACEMENT]["spec"]["inForce"] is True


def test_nothing_of_a_refused_edit_is_taken_up() -> None:
    world = full()
    world.edit("Job", JOB, admission="Ignore", fusion={"legacy": False, "manual": 2})
    world.converge()
    assert world.condition("Accepted")["reason"] == "EditRefused"
    assert world.placed == ("False", "InsufficientCapacity")
