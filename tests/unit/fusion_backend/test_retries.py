"""A submission that fails for a cause that can pass is tried again, for as long as the Job says."""

from __future__ import annotations

import pytest

from contracts.moments import unix_s_of
from contracts.passing import CAN_PASS
from contracts.reasons import UNPLACEABLE, Reason
from planner.refusals import PlanRefused
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import Plan
from services.fusion_backend.core.snapshot import Snapshot
from tests.unit.fusion_backend.world import JOB, SERVICE, World

MISSING = PlanRefused(Reason.BUNDLE_MISSING, field="spec.bundle.name", value="x", message="no x")
INVALID = PlanRefused(Reason.BUNDLE_INVALID, field="spec.bundle.name", value="x", message="bad x")


class Refusing(World):
    """A world whose planner refuses, for as long as `refusal` says so."""

    refusal: PlanRefused | None = MISSING

    def _plan(self, snapshot: Snapshot, effect: Plan) -> None:
        if self.refusal is None:
            super()._plan(snapshot, effect)
            return
        self.planned += 1
        self.answers.of(effect.job_uid).learn(effect.inputs, self.refusal)


def failed(refusal: PlanRefused = MISSING, **spec: object) -> Refusing:
    world = Refusing(**spec)  # type: ignore[arg-type]
    world.refusal = refusal
    world.converge()
    assert world.status()["phase"] == "Failed"
    return world


def wait(world: Refusing) -> float:
    """Let the time pass until the next attempt; returns how long that was (seconds)."""
    due_at = decide(world.snapshot(), world.now).requeue_at
    assert due_at == unix_s_of(world.status()["nextAttemptAt"])
    waited_s, world.now = due_at - world.now, due_at
    world.converge()
    return waited_s


def test_it_runs_when_what_it_lacked_is_there() -> None:
    world = failed()
    world.refusal = None
    wait(world)
    status = world.status()
    assert status["phase"] == "Submitted"
    assert not {"attempts", "firstFailedAt", "nextAttemptAt"} & status.keys()


def test_pauses_grow_up_to_a_limit_and_end_with_the_time_that_the_job_gives() -> None:
    """Restarts of the service change nothing."""
    world = failed(retrySeconds=200)
    began = world.now
    pauses = []
    while "nextAttemptAt" in world.status():
        world.crash()
        pauses.append(wait(world))
    assert pauses == [5, 10, 20, 40, 60, 60, 5]
    assert world.now == began + 200
    assert world.status()["attempts"] == world.planned == 8
    assert decide(world.snapshot(), world.now).requeue_at is None
    assert "since spec.retrySeconds is 200" in world.status()["message"]
    world.now += 1e6
    world.converge()
    assert world.planned == 8


def test_the_message_says_when_it_is_tried_again_and_until_when() -> None:
    world = failed()
    message, next_at = world.status()["message"], world.status()["nextAttemptAt"]
    assert f"no x; it is tried again at {next_at}, and until 2027-01-15T09:00:00Z" in message


def test_nothing_is_left_of_an_attempt_when_the_next_one_begins() -> None:
    """Even if a child lingers for longer than the pause."""
    world = Refusing(submissionTimeOutInSeconds=10)
    world.refusal = None
    while not world.named("ProcessingElement"):
        world.step()
    world._patch("Service", SERVICE, {"metadata": {"finalizers": ["example.com/hold"]}})
    world.make_pods = lambda: None  # type: ignore[method-assign]
    for name in world.named("Pod"):
        world.remove("Pod", name)
    world.now += 11.0
    world.converge()
    assert world.status()["phase"] == "Failed"
    world.now += 60.0
    world.converge()
    assert world.status()["phase"] == "Failed"
    world.remove("Service", SERVICE)
    world.step()
    assert world.status()["phase"] == "Submitting"


@pytest.mark.parametrize(
    ("refusal", "spec"), [(INVALID, {}), (MISSING, {"retrySeconds": 0})], ids=["cause", "never"]
)
def test_what_cannot_pass_or_is_not_to_be_tried_again_stays_failed_and_says_so(
    refusal: PlanRefused, spec: dict[str, object]
) -> None:
    world = failed(refusal, **spec)
    assert "nextAttemptAt" not in world.status()
    assert "it is not tried again by itself" in world.status()["message"]
    assert decide(world.snapshot(), world.now).requeue_at is None


def test_an_edit_starts_at_once_and_begins_to_count_again() -> None:
    world = failed()
    wait(world)
    assert world.status()["attempts"] == 2
    world.edit("Job", JOB, retrySeconds=60)
    world.converge()
    assert (world.planned, world.status()["attempts"]) == (3, 1)


def test_a_job_that_is_being_deleted_is_not_tried_again() -> None:
    world = failed()
    world.delete_job()
    world.now += 60.0
    world.converge()
    assert world.planned == 1


def test_every_refusal_of_a_placement_can_pass() -> None:
    assert UNPLACEABLE <= CAN_PASS
