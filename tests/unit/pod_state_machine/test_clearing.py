"""Which pods are deleted with their job, and which with their PE."""

from __future__ import annotations

from services.chassis.table.entries import Change
from services.launching.core.effects import DeletePod
from services.pod_state_machine.adapters import intake
from services.pod_state_machine.core.effects import DeletePodsOfJob
from services.pod_state_machine.core.snapshot import JobKey, PeKey
from tests.builders import NAMESPACE, Builder, a_config_map, a_job, a_node, a_pe, a_pod, job_uid
from tests.unit.pod_state_machine.cluster import (
    PE_KEY,
    FilledTable,
    decided,
    submitted,
    woken,
    world,
)

KEY = JobKey(NAMESPACE, "shop", job_uid("shop"))
TAKE_ALL = (DeletePodsOfJob("shop", job_uid("shop")),)
ELSEWHERE = a_job("other")


def cleared(*builders: Builder) -> object:
    return decided(*builders, key=KEY).effects


def test_the_pods_of_a_deleted_job_go_by_collection_on_its_uid() -> None:
    """A later job of the same name carries another uid."""
    assert cleared(a_job().deleting(), a_pe(), a_pod()) == TAKE_ALL
    assert cleared(ELSEWHERE, a_pe(), a_pod()) == TAKE_ALL
    assert cleared(a_job().with_uid("uid-later-one"), a_pod()) == TAKE_ALL


def test_a_job_that_lives_keeps_its_pods() -> None:
    """Nor is anything deleted for a job without pods, or whose pods are all being deleted."""
    assert cleared(a_job(), a_pod()) == ()
    assert cleared(a_job().deleting(), a_pe()) == ()
    assert cleared(a_job().deleting(), a_pod().deleting()) == ()


def test_an_orphaning_deletion_leaves_everything_alone() -> None:
    """While the Job has the finalizer, and when only orphans are left."""
    assert cleared(a_job().deleting().with_finalizer("orphan"), a_pe(), a_pod()) == ()
    assert cleared(ELSEWHERE, a_pe().orphaned(), a_pod()) == ()


def test_the_pod_of_a_pe_that_is_gone_goes_while_its_job_lives() -> None:
    """A resize removed the PE; the absence is confirmed before the pod is deleted."""
    (effect,) = decided(a_pod(), submitted()).effects
    assert isinstance(effect, DeletePod)
    assert effect.believed_gone_owner == "uid-shop-0"
    assert effect.reason == "NoLongerPlanned"
    assert decided(a_pod().deleting(), submitted()).effects == ()
    assert decided(a_pod(), a_job().deleting()).effects == ()


def test_facts_queue_the_keys_that_they_concern() -> None:
    """Facts of a job and its ConfigMap queue its PEs, all others queue one."""
    table = world(a_pe(), a_pe(pe_id=1), a_pe("other"), a_job())
    both = {PeKey(NAMESPACE, "shop-0"), PeKey(NAMESPACE, "shop-1")}
    assert woken(table, a_job()) == both | {KEY}
    assert woken(table, a_config_map()) == both
    assert woken(table, a_config_map(pe_id=0)) == {PE_KEY}
    assert woken(table, a_pe()) == {PE_KEY}
    assert woken(table, a_pod()) == {PE_KEY}
    plan = a_config_map().named("shop.plan.0")
    assert woken(table, plan) == set()
    assert woken(table, a_node()) == set()


def test_a_pod_queues_its_job_when_that_is_gone_or_goes() -> None:
    """Else each of thousands of pods would have it decided that nothing is to be deleted."""
    for job in (a_job().deleting(), ELSEWHERE, a_job().with_uid("uid-later-one")):
        assert woken(world(a_pe(), job), a_pod()) == {PE_KEY, KEY}


def test_a_job_that_leaves_its_pods_behind_queues_their_clean_up() -> None:
    going, leaving = a_job().deleting(), a_job().deleting().with_finalizer("orphan")
    change = Change(going.entry(), leaving.entry())
    assert KEY in set(intake.keys_of(change, world(leaving, a_pod())))


def test_all_keys_include_those_that_only_have_pods_left() -> None:
    """What was missed while this service was down is found after a resync."""
    assert set(intake.all_keys(FilledTable([a_pod()]))) == {PE_KEY, KEY}


def test_the_fence_changes_with_specs_and_deletions_but_not_with_our_own_status() -> None:
    """Otherwise the first effect of a decision would stop the others."""
    base = intake.fence_of(world(a_pe(), a_job()), PE_KEY)
    assert intake.fence_of(world(a_pe().launched(3).at_version(9), a_job()), PE_KEY) == base
    for other in (
        world(a_pe().at_generation(2), a_job()),
        world(a_pe().deleting(), a_job()),
        world(a_pe().with_uid("uid-new"), a_job()),
        world(a_pe(), a_job().deleting()),
    ):
        assert intake.fence_of(other, PE_KEY) != base
