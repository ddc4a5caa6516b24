"""A job from submission to deletion, on the pure core with the real planner."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from contracts import labels
from contracts.resources.fields import NAMES_MAX, TEXT_CHARS_MAX
from planner.refusals import PlanRefused
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import (
    CreateChild,
    DeleteChildren,
    Effect,
    Plan,
    RecordPlan,
)
from services.fusion_backend.core.recording import objects_of
from tests.unit.fusion_backend.objects import aadls_of, packs_of
from tests.unit.fusion_backend.world import JOB, SERVICE, World

PES = 6
"""Sentences, Words, Counted twice, Totals, Report."""


def submitted(**spec: object) -> World:
    """A world whose job is submitted and steady."""
    world = World(**spec)  # type: ignore[arg-type]
    world.converge()
    return world


def test_a_submission_ends_with_every_object_of_the_plan() -> None:
    world = submitted()
    names = {f"{JOB}-{pe}" for pe in range(PES)}
    assert world.status()["phase"] == "Submitted"
    assert world.named("ProcessingElement") == names
    assert world.named("Service") == {SERVICE}
    assert world.named("Pod") == names
    assert world.named("ParallelRegion") == {f"{JOB}-0", f"{JOB}-1"}
    assert world.named("HostPool") == {f"{JOB}-0"}
    config_maps = world.named("ConfigMap")
    assert {JOB, f"{JOB}.plan.0"} <= config_maps
    assert packs_of(world.objects, JOB) == config_maps - {JOB, f"{JOB}.plan.0"}
    assert len(packs_of(world.objects, JOB)) < PES


def test_the_status_of_a_submitted_job_says_what_runs() -> None:
    status = submitted().status()
    assert status["id"] == 0
    assert status["generation"] == 0
    assert status["processingElements"] == PES
    assert status["widths"] == {"Counted": 2, "Totals": 1}
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "Accepted": "True",
        "Fused": "True",
        "Placed": "True",
        "Submitted": "True",
        "Healthy": "True",
    }


def test_a_submission_keeps_to_its_budget_of_writes() -> None:
    world = submitted()
    assert len(world.writes) <= 20 + 2 * PES
    assert world.planned == 1


def test_nothing_is_written_to_a_steady_job() -> None:
    world = submitted()
    assert decide(world.snapshot(), world.now).effects == ()


def test_a_restart_under_a_steady_job_reads_one_plan_and_writes_nothing() -> None:
    world = submitted()
    before = world.versions()
    world.crash()
    world.converge()
    assert world.versions() == before
    assert world.planned == 1


def test_the_regions_say_which_width_is_in_force() -> None:
    world = submitted()
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert (status["width"], status["replicas"], status["reason"]) == (2, 2, "WidthInForce")


# --------------------------------------------------------------------------- resizing


def test_a_resize_writes_only_the_difference() -> None:
    world = submitted()
    before = world.versions()
    world.writes.clear()
    world.resize(0, 4)
    world.converge()
    pes = {name for verb, kind, name in world.writes if kind == "ProcessingElement"}
    untouched = {f"{JOB}-{pe}" for pe in range(PES)} - pes
    assert len(world.named("ProcessingElement")) == PES + 2
    assert untouched, "an operator that is no neighbour of the region stays"
    after = world.versions()
    for (kind, name), version in before.items():
        if kind == "Service" or (kind in ("ProcessingElement", "Pod") and name in untouched):
            assert after[kind, name] == version
    for pe in untouched:
        pack = "ConfigMap", world.objects["ProcessingElement", pe]["spec"]["pack"]["name"]
        assert after[pack] == before[pack]
    assert world.status()["generation"] == 1
    assert world.status()["widths"]["Counted"] == 4


def test_a_narrower_region_leaves_nothing_of_the_channels_that_went() -> None:
    world = submitted(width=4)
    world.resize(0, 1)
    world.converge()
    assert len(world.named("ProcessingElement")) == PES - 1
    assert world.named("ProcessingElement") == world.named("Pod")
    named = {
        pe["spec"]["pack"]["name"]
        for (kind, _), pe in world.objects.items()
        if kind == "ProcessingElement"
    }
    assert packs_of(world.objects, JOB) == named
    assert len(world.named("ConfigMap")) == len(named) + 3  # the job's, and two plan records


def test_a_job_is_resizing_until_the_new_generation_is_complete() -> None:
    world = submitted()
    phases = []
    world.resize(0, 3)
    for _ in range(20):
        if not world.step().effects:
            break
        phases.append(world.status()["phase"])
    assert phases[-1] == "Submitted"
    assert "Resizing" in phases
    assert world.condition("Submitted")["status"] == "True"


def test_the_last_of_two_quick_resizes_wins() -> None:
    world = submitted()
    world.resize(0, 5)
    for _ in range(3):  # planned, recorded, and the first children written
        world.step()
    assert world.status()["phase"] == "Resizing"
    world.resize(0, 3)
    world.converge()
    assert world.status()["widths"]["Counted"] == 3
    assert world.status()["generation"] == 2
    assert len(world.named("Pod")) == PES + 1
    assert world.objects["ParallelRegion", f"{JOB}-0"]["status"]["width"] == 3


def test_a_width_changed_during_the_submission_is_not_lost() -> None:
    world = World()
    while ("ParallelRegion", f"{JOB}-0") not in world.objects:
        world.step(dropping=lambda effect: isinstance(effect, CreateChild) and effect.pe >= 3)
    world.resize(0, 4)
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.status()["widths"]["Counted"] == 4


def test_a_refused_width_leaves_the_last_good_one_in_force() -> None:
    world = submitted()
    before = world.meaning()
    world.width_max = 10
    world.resize(0, 11)
    world.converge()
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert (status["width"], status["reason"]) == (2, "WidthRefused")
    assert "11" in status["message"]
    assert (status["refused"]["width"], status["refused"]["reason"]) == (11, "WidthRefused")
    assert (status["refused"]["inputsDigest"], status["refused"]["generation"]) == ("", 0)
    assert world.status()["phase"] == "Submitted"
    after = world.meaning()
    after["ParallelRegion", f"{JOB}-0"]["spec"]["width"] = 2
    assert after == before
    world.resize(0, 2)
    world.converge()
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert status["reason"] == "WidthInForce"
    assert status.get("refused") is None


def test_an_impossible_width_does_not_hold_up_that_of_another_region() -> None:
    world = submitted()
    world.resize(0, 1_500)  # more connections than the AADL of a PE may have
    world.resize(1, 3)
    world.converge()
    assert world.status()["widths"] == {"Counted": 2, "Totals": 3}
    refused = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert refused["reason"] == "WidthRefused"
    assert world.objects["ParallelRegion", f"{JOB}-1"]["status"]["width"] == 3


def test_old_plan_records_go_but_for_the_last_two() -> None:
    world = submitted()
    for width in (3, 4, 5):
        world.resize(0, width)
        world.converge()
    plans = {name for name in world.named("ConfigMap") if ".plan." in name}
    assert plans == {f"{JOB}.plan.2", f"{JOB}.plan.3"}


# --------------------------------------------------------------------------- crashes


@pytest.mark.parametrize("seed", range(12))
def test_whatever_effects_a_crash_loses_the_job_converges(seed: int) -> None:
    undisturbed = submitted()
    undisturbed.resize(0, 3)
    undisturbed.converge()

    chance = random.Random(seed)
    world = World()
    for _ in range(25):
        world.step(dropping=lambda _: chance.random() < 0.5)
        if chance.random() < 0.5:
            world.crash()
    world.converge()
    world.resize(0, 3)
    for _ in range(25):
        world.step(dropping=lambda _: chance.random() < 0.5)
        if chance.random() < 0.5:
            world.crash()
    world.converge()
    assert world.meaning() == undisturbed.meaning()
    assert world.status()["phase"] == "Submitted"


def test_a_crash_before_the_config_maps_exist_renders_the_very_same_texts() -> None:
    world = World()
    while f"{JOB}.plan.0" not in world.named("ConfigMap"):
        world.step()
    world.crash()
    world.converge()
    assert world.meaning() == submitted().meaning()
    assert world.planned == 2


# --------------------------------------------------------------------------- repairs


@pytest.mark.parametrize("kind", ["ProcessingElement", "Service", "ParallelRegion", "HostPool"])
def test_a_child_that_somebody_deleted_comes_back_as_planned(kind: str) -> None:
    world = submitted()
    before = world.meaning()
    world.remove(kind, SERVICE if kind == "Service" else f"{JOB}-0")
    world.converge()
    after = world.meaning()
    if kind == "ProcessingElement":
        assert after[kind, f"{JOB}-0"]["spec"].pop("launchCount") == 2
        before[kind, f"{JOB}-0"]["spec"].pop("launchCount")
    assert after == before
    assert world.status()["phase"] == "Submitted"


def test_a_config_map_that_somebody_deleted_comes_back_with_the_same_text() -> None:
    world = submitted()
    world.resize(0, 3)
    world.converge()
    before, texts, pods = world.meaning(), aadls_of(world.objects), world.named("Pod")
    for name in world.named("ConfigMap"):
        if ".plan." not in name:
            world.remove("ConfigMap", name)
    world.crash()
    world.converge()
    assert aadls_of(world.objects) == texts
    assert world.named("Pod") == pods
    # Written again, they say the generation that wrote them last, and hold what is named only.
    assert _without_contents(world.meaning()) == _without_contents(before)


def _without_contents(meaning: dict[tuple[str, str], dict[str, object]]) -> object:
    for (_, name), obj in meaning.items():
        obj["metadata"]["labels"].pop(labels.GENERATION)  # type: ignore[index]
        if labels.is_pack_name(name, JOB):
            obj["metadata"]["annotations"] = obj["data"] = None  # type: ignore[index]
    return meaning


def test_a_region_that_somebody_deleted_comes_back_with_the_width_in_force() -> None:
    world = submitted()
    world.resize(0, 3)
    world.converge()
    world.remove("ParallelRegion", f"{JOB}-0")
    world.converge()
    assert world.objects["ParallelRegion", f"{JOB}-0"]["spec"]["width"] == 3


def test_a_plan_record_that_somebody_deleted_is_written_again() -> None:
    world = submitted()
    before = world.meaning()
    world.remove("ConfigMap", f"{JOB}.plan.0")
    world.converge()
    assert world.meaning() == before


def test_a_repair_confirms_the_job_first() -> None:
    world = submitted()
    world.remove("Service", SERVICE)
    (effect,) = decide(world.snapshot(), world.now).effects
    assert isinstance(effect, CreateChild)
    assert effect.confirmed


# --------------------------------------------------------------------------- failing


def test_a_refused_spec_leaves_nothing_but_the_job() -> None:
    world = World(parallelRegions=[{"alias": "W", "width": 0}])
    world.converge()
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "SpecInvalid")
    assert "spec.parallelRegions.0.width" in status["message"]
    assert "it is 0" in status["message"]
    assert "it is not tried again by itself: edit the Job" in status["message"]
    accepted = world.condition("Accepted")
    assert accepted["status"] == "False"
    assert world.events == [("SpecInvalid", accepted["message"])]


def test_a_plan_that_is_refused_names_field_and_value() -> None:
    world = World(submissionTimeValues={"width": "0"})
    world.converge()
    status = world.status()
    assert status["phase"] == "Failed"
    assert status["reason"] in {"WidthRefused", "SubmissionValueInvalid"}
    assert "width" in status["message"]
    assert "0" in status["message"]
    assert world.named("ConfigMap") == set()


def test_a_failed_job_starts_again_when_its_spec_changes() -> None:
    world = World(submissionTimeValues={"width": "0"})
    world.converge()
    assert decide(world.snapshot(), world.now).effects == ()
    world.edit("Job", JOB, submissionTimeValues={"width": "1"})
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.status()["id"] == 0


def test_a_failed_job_starts_again_once_for_a_retry() -> None:
    world = World(submissionTimeValues={"width": "0"})
    world.converge()
    world.annotate(labels.RETRY, "1")
    planned = world.planned
    world.converge()
    assert world.status()["phase"] == "Failed"
    assert world.planned == planned + 1


def test_a_retry_is_seen_as_far_as_a_status_can_say_it() -> None:
    """A longer value would refuse every write of the status."""
    world = World(submissionTimeValues={"width": "0"})
    world.converge()
    world.annotate(labels.RETRY, "x" * 200_000)
    world.converge()
    assert len(world.status()["observedRetry"]) == TEXT_CHARS_MAX


def test_a_plan_of_more_regions_than_a_status_can_name_is_refused() -> None:
    world = World()
    world.converge()
    plan = next(iter(world.snapshot().plans.values()))
    (region, *_) = plan.record.regions
    many = replace(plan.record, regions=(region,) * (NAMES_MAX + 1))
    job = world.snapshot().job
    assert job is not None
    with pytest.raises(PlanRefused, match="65537 parallel regions"):
        objects_of(job, replace(plan, record=many), now=0.0)


def test_a_submission_that_takes_too_long_fails_and_is_cleared() -> None:
    world = World(submissionTimeOutInSeconds=60)
    lost = f"{JOB}-3"
    for _ in range(6):
        decision = world.step(
            dropping=lambda effect: isinstance(effect, CreateChild) and effect.name == lost
        )
    assert decision.requeue_at == world.now + 60
    world.now += 60
    world.converge()
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "SubmissionTimedOut")
    assert lost in status["message"]
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}


def test_an_attempt_after_a_failed_one_counts_its_generations_on() -> None:
    world = World(submissionTimeOutInSeconds=60)
    for _ in range(6):
        world.step(dropping=lambda effect: isinstance(effect, CreateChild) and effect.pe == 3)
    world.now += 60
    world.converge()
    world.annotate(labels.RETRY, "again")
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.status()["generation"] == 1


def test_a_name_that_somebody_else_holds_fails_the_submission() -> None:
    world = World()
    while world.status().get("phase") != "Submitting":
        world.step()
    world.answers.of(world.uid).name_taken = f"Service {JOB}-0"
    world.converge()
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "NameTaken")
    assert f"Service {JOB}-0" in status["message"]


# --------------------------------------------------------------------------- deleting


def test_a_deleted_job_takes_everything_with_it() -> None:
    """A finalizer holds the Job: it says that it is being deleted."""
    world = submitted()
    world.delete_job()
    world.converge()
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}
    assert (world.status()["phase"], world.status()["reason"]) == ("Deleting", "Deleting")
    assert world.condition("Submitted")["status"] == "False"


def test_children_of_a_job_that_is_gone_are_deleted_by_its_uid() -> None:
    world = submitted()
    world.remove("Job", JOB)
    world.submit()
    world.converge()
    uids = {
        obj["metadata"]["labels"][labels.JOB_UID]
        for (kind, _), obj in world.objects.items()
        if kind not in ("Job", "Node", "Pod")
    }
    assert uids == {world.uid}
    assert world.status()["phase"] == "Submitted"
    assert world.status()["id"] == 1


def test_what_a_job_that_is_gone_did_not_control_is_left_alone() -> None:
    """Its labels and an owner may say anything; every child of ours is controlled by its Job."""
    world = submitted()
    name = next(name for name in world.named("ConfigMap") if ".plan." not in name)
    owner = world.objects["ConfigMap", name]["metadata"]["ownerReferences"][0]
    not_controlled = {"ownerReferences": [{**owner, "controller": False}]}
    world._patch("ConfigMap", name, {"metadata": not_controlled})
    world.remove("Job", JOB)
    world.converge()
    assert {key for key in world.objects if key[0] != "Node"} == {("ConfigMap", name)}


def test_services_go_first_and_other_children_stay_until_every_pod_is_being_deleted() -> None:
    """Each pod that goes changes the Endpoints of its Service; it runs on the others."""

    def collections(world: World) -> set[str]:
        effects = world.step().effects
        assert all(isinstance(each, DeleteChildren) for each in effects)
        return {each.kind for each in effects if isinstance(each, DeleteChildren)}

    for is_gone in (False, True):
        world = submitted()
        world.adopt_pods()
        if is_gone:
            world.remove("Job", JOB)
        else:
            world.delete_job()
        children = {kind for kind, _ in world.objects} - {"Job", "Node", "Pod"}
        assert collections(world) == {"Service"}
        assert not world.named("Service")
        pods = sorted(world.named("Pod"))
        for pod in pods[:-1]:
            world.mark_deleted("Pod", pod)
        assert world.step().effects == ()
        world.mark_deleted("Pod", pods[-1])
        assert collections(world) == children - {"Service"}


def test_pods_of_a_job_that_is_gone_do_not_hold_up_its_successor() -> None:
    world = submitted()
    world.adopt_pods()
    world.remove("Job", JOB)
    world.submit()
    assert world.step().effects


def test_an_orphaning_deletion_leaves_the_children_alone() -> None:
    world = submitted()
    before = world.versions()
    world.delete_job(orphan=True)
    world.converge()
    for key, obj in world.objects.items():
        obj["metadata"].pop("ownerReferences", None)
        assert key[0] == "Job" or obj["metadata"]["resourceVersion"] == before[key]
    world.remove("Job", JOB)
    world.converge()
    assert {key for key in before if key[0] != "Job"} == set(world.objects)


# --------------------------------------------------------------------------- words


def test_ignored_fields_are_named_in_an_event_and_a_condition() -> None:
    world = submitted(generationId=7)
    assert world.condition("Accepted")["reason"] == "FieldsIgnored"
    assert "spec.generationId" in world.condition("Accepted")["message"]
    assert world.events[0][0] == "FieldsIgnored"


def operators_of(world: World) -> dict[str, list[str]]:
    """The operators of each PE."""
    names = world.named("ProcessingElement")
    return {name: world.objects["ProcessingElement", name]["spec"]["operators"] for name in names}


def test_automatic_fusion_records_the_nodes_it_was_resolved_from() -> None:
    """Four threads needed and nine of use, two CPUs a PE: between two and five PEs."""
    template = {"resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "2"}}}
    world = submitted(fusion={"automatic": True}, nodes=2, processingElement=template)
    message = world.condition("Fused")["message"]
    assert "automatic: 3 PEs for 4 to 9 threads on 2 nodes" in message
    before = operators_of(world)
    for number in range(20):
        world.add_node(f"another-{number}")
    world.resize(0, 3)
    world.converge()
    assert before.items() <= operators_of(world).items()
    assert world.condition("Fused")["message"].count("2 nodes") == 1


def test_health_follows_the_pods_and_does_not_flap() -> None:
    world = submitted()
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Pending"
    decision = decide(world.snapshot(), world.now)
    assert decision.effects == ()
    assert decision.requeue_at is not None
    world.now = decision.requeue_at
    world.converge()
    assert world.condition("Healthy")["status"] == "False"
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Running"
    world.converge()
    assert world.condition("Healthy")["status"] == "True"


def test_a_job_whose_pes_have_all_completed_is_completed() -> None:
    world = submitted()
    for pe in range(PES):
        world.objects["ProcessingElement", f"{JOB}-{pe}"]["status"]["phase"] = "Completed"
        world.objects["Pod", f"{JOB}-{pe}"]["status"]["phase"] = "Succeeded"
    world.converge()
    assert world.status()["phase"] == "Completed"
    world.objects["ProcessingElement", f"{JOB}-0"]["status"]["phase"] = "Running"
    world.converge()
    assert world.status()["phase"] == "Submitted"


def test_an_edit_of_a_running_job_is_seen_and_changes_nothing_that_runs() -> None:
    world = submitted()
    before = world.meaning()
    world.edit("Job", JOB, fusion={"manual": 1})
    world.converge()
    assert world.meaning() == before
    assert world.status()["observedGeneration"] == 2


def test_a_plan_is_never_recorded_before_it_is_made() -> None:
    """Effects of one decision run side by side: the record must wait for the planner's answer."""
    world = World()
    for _ in range(10):
        effects: tuple[Effect, ...] = world.step().effects
        kinds = {type(effect) for effect in effects}
        assert not {Plan, RecordPlan} <= kinds
        assert RecordPlan not in kinds or CreateChild not in kinds
