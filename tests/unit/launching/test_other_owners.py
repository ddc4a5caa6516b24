"""An owner of another kind than a PE: the rules of launches know nothing of PEs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from contracts.scheduling.nodes import Node
from services.launching.core.deciding import decide_launches
from services.launching.core.effects import CreatePod, DeletePod, PatchStatus
from services.launching.core.owners import LaunchStatus, Owner, RestartPolicies
from services.launching.core.pods import Pod
from services.launching.core.situation import Situation
from services.launching.core.snapshot import Context, LaunchSnapshot, Timing

NOW = 1_000.0
READY = Context(
    has_lost_job=False, is_job_busy=False, owners_in_job=1, has_mounts=True, awaited="", node=None
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker(Owner):
    """The worker of a job that has no streams: it has a rank, and no operators."""

    noun = "worker"

    rank: int

    def pod_name(self, launch: int) -> str:
        """The name of the pod of a launch."""
        return f"{self.name}-{launch}"


WORKER = Worker(
    namespace="default",
    name="sort-7",
    rank=7,
    uid="u",
    content_id="c",
    launch_floor=0,
    metadata_generation=1,
    policies=RestartPolicies(),
    status=LaunchStatus(),
)


def pod(launch: int, phase: str) -> Pod:
    """The pod of a launch of the worker."""
    name = WORKER.pod_name(launch)
    return Pod(name, f"uid-{launch}", "u", launch, "c", phase, created_at=NOW - 100, node="n")


def at(worker: Worker, *pods: Pod, context: Context = READY) -> Situation:
    """The situation of a worker with these pods on a node that is ready."""
    snapshot = LaunchSnapshot(owner=worker, pods=pods, nodes=(Node("n"),))
    return Situation(snapshot, worker, context, NOW, Timing())


def test_its_first_pod_is_created_under_the_name_that_it_gives() -> None:
    decision = decide_launches(at(WORKER))
    assert decision.effects == (CreatePod("sort-7-1", 1, "c", "u", 1),)
    assert decision.rules == {"worker": "LAUNCH_DUE"}


def test_its_pod_waits_for_what_its_service_says() -> None:
    context = replace(READY, awaited="The worker waits for its gang.")
    assert decide_launches(at(WORKER, context=context)).rules == {"worker": "UNPLACED"}
    late = replace(WORKER, created_at=NOW - 100)
    (effect,) = decide_launches(at(late, context=context)).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.message == "The worker waits for its gang."


def test_a_failed_pod_is_launched_again_by_its_policies() -> None:
    running = LaunchStatus(phase=PePhase.RUNNING, launch_count=1, pod="sort-7-1", content_id="c")
    failed = replace(WORKER, status=running)
    (effect,) = decide_launches(at(failed, pod(1, "Failed"))).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.launch_count, effect.status.reason) == (2, Reason.POD_FAILED.value)


def test_the_pod_of_the_launch_before_is_deleted_once_the_next_is_intended() -> None:
    intended = LaunchStatus(phase=PePhase.WAITING, launch_count=2, pod="sort-7-1", content_id="c")
    worker = replace(WORKER, status=intended)
    (effect,) = decide_launches(at(worker, pod(1, "Running"))).effects
    assert isinstance(effect, DeletePod)
    assert effect.name == "sort-7-1"


def test_a_message_names_the_kind_of_the_owner() -> None:
    running = LaunchStatus(phase=PePhase.RUNNING, launch_count=1, pod="sort-7-1", content_id="c")
    leaving = replace(pod(1, "Running"), is_deleting=True, deletion_due_at=NOW - 1_000)
    (effect,) = decide_launches(at(replace(WORKER, status=running), leaving)).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.message.endswith("may run the worker twice.")
