"""What goes wrong in passing is reported and tried again, and no submission waits for ever."""

from __future__ import annotations

import pytest

from contracts.reasons import Reason
from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable
from services.fusion_backend.adapters.plans import TROUBLE_CHARS_MAX, trouble_message
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import CreateChild, Plan
from services.fusion_backend.core.situation import JOB_ID, TROUBLE_SETTLES_S
from services.fusion_backend.core.snapshot import Trouble
from services.fusion_backend.core.spec.provisions import REDIS_SERVERS
from tests.unit.fusion_backend.world import JOB, SERVICE, World


def begun(**spec: object) -> World:
    """A world whose job is Submitting and not planned."""
    world = World(**spec)  # type: ignore[arg-type]
    while world.status().get("phase") != "Submitting":
        world.step()
    return world


def wanted(world: World) -> Plan:
    """The plan that is requested."""
    (effect,) = decide(world.snapshot(), world.now).effects
    assert isinstance(effect, Plan)
    return effect


def test_every_condition_is_there_from_the_first_status_on() -> None:
    conditions = {each["type"]: each["status"] for each in begun().status()["conditions"]}
    assert conditions == {
        "Accepted": "True",
        "Fused": "Unknown",
        "Placed": "Unknown",
        "Submitted": "False",
        "Healthy": "Unknown",
    }


def test_a_failed_job_says_of_every_condition_what_it_came_to() -> None:
    world = World(parallelRegions=[{"alias": "W", "width": 0}])
    world.converge()
    conditions = {each["type"]: each["status"] for each in world.status()["conditions"]}
    assert conditions == {
        "Accepted": "False",
        "Fused": "Unknown",
        "Placed": "Unknown",
        "Submitted": "False",
        "Healthy": "False",
    }


def test_trouble_is_reported_when_it_lasts_and_no_more_when_it_is_over() -> None:
    world = begun()
    while not world.named("ConfigMap"):
        world.step()
    known = world.answers.of(world.uid)
    what = f"Service {SERVICE}"
    known.note_trouble(what, Reason.WRITE_FAILED, f"{what}: 403 quota", world.now)
    lost = lambda effect: isinstance(effect, CreateChild) and effect.kind == "Service"  # noqa: E731
    world.step(lost)
    assert world.condition("Submitted")["reason"] == "Submitting"
    world.now += TROUBLE_SETTLES_S
    world.step(lost)
    submitted = world.condition("Submitted")
    assert (submitted["status"], submitted["reason"]) == ("False", "WriteFailed")
    assert "403 quota" in submitted["message"]
    assert world.status()["message"] == submitted["message"], "people look beside the phase"
    assert world.status()["reason"] == "Submitting"
    writes = len(world.writes)
    world.step(lambda effect: True)
    assert len(world.writes) == writes, "it is said once"
    known.note_done(what)
    world.converge()
    assert world.condition("Submitted")["status"] == "True"


def test_trouble_with_what_exists_meanwhile_is_not_reported() -> None:
    """The answer to the write was lost: the servers are known, and nothing is tried again."""
    world = World()
    world.converge()
    world.answers.of(world.uid).note_trouble(
        REDIS_SERVERS, Reason.WRITE_FAILED, "redis servers: connection lost", world.now
    )
    world.now += TROUBLE_SETTLES_S
    world.converge()
    assert world.condition("Submitted")["status"] == "True"


def test_the_planner_is_not_asked_twice_at_once_nor_before_its_pause_is_over() -> None:
    world = begun()
    plan = wanted(world)
    known = world.answers.of(world.uid)
    known.troubled[plan.inputs.digest] = Trouble(
        Reason.PLANNING_FAILED, "it died", since=world.now, until=world.now + 7
    )
    decision = decide(world.snapshot(), world.now + TROUBLE_SETTLES_S + 1)
    assert not any(isinstance(each, Plan) for each in decision.effects)
    assert decision.requeue_at == world.now + 7
    world.now += 7
    assert any(isinstance(each, Plan) for each in decide(world.snapshot(), world.now).effects)


@pytest.mark.parametrize("planned", [False, True], ids=["planning", "reading its record"])
def test_a_submission_times_out_in_every_stage(planned: bool) -> None:
    """Its message says what it waited for."""
    world = begun(submissionTimeOutInSeconds=60)
    if planned:
        while not world.named("ConfigMap"):
            world.step()
        world.crash()
    world.now += 60
    world.step()
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "SubmissionTimedOut")
    assert ("plan record" if planned else "planned") in status["message"]


def test_a_job_whose_id_cannot_be_taken_has_a_phase_and_a_clock_all_the_same() -> None:
    world = World(submissionTimeOutInSeconds=60)
    world.answers.of(world.uid).note_trouble(JOB_ID, Reason.WRITE_FAILED, "job id: 403", world.now)
    world.now += TROUBLE_SETTLES_S
    no_id = lambda effect: type(effect).__name__ == "TakeJobId"  # noqa: E731
    world.step(no_id)
    assert world.status()["phase"] == "Submitting"
    assert "job id: 403" in world.condition("Submitted")["message"]
    started = world.status()["startedAt"]
    world.now += 30
    world.step(no_id)
    assert world.status()["startedAt"] == started
    world.now += 30
    world.step(no_id)
    assert world.status()["reason"] == "SubmissionTimedOut"


def test_an_edit_that_came_after_the_plan_of_a_failed_attempt_is_tried() -> None:
    world = begun(submissionTimeOutInSeconds=60)
    lost = lambda effect: isinstance(effect, CreateChild) and effect.pe == 3  # noqa: E731
    for _ in range(6):
        world.step(lost)
    world.edit("Job", JOB, submissionTimeValues={"width": "1"})
    world.now += 60
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.status()["widths"]["Counted"] == 1


def test_a_crash_is_reported_by_its_kind_and_trouble_in_few_words() -> None:
    """What a crash says may be of any input; what we say ourselves has an end and no tricks."""
    crash = trouble_message(ValueError("token gh-s3cret"))
    assert "ValueError" in crash
    assert "s3cret" not in crash
    trouble = trouble_message(BundleUnreadable("spec.bundle.http.url", "\x1b" + "x" * 5000))
    assert trouble.startswith("spec.bundle.http.url")
    assert trouble.isprintable()
    assert len(trouble) == TROUBLE_CHARS_MAX
