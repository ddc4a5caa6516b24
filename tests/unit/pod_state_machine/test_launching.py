"""Launches: the first, the next, what they wait for, and that their numbers never fall."""

from __future__ import annotations

import pytest

from contracts import labels
from contracts.resources.processing_element import PePhase
from services.launching.core.effects import CreatePod, DeletePod, PatchStatus
from services.launching.core.owners import LaunchStatus
from services.launching.core.rules import Observation
from tests.builders import Builder, a_config_map, a_job, a_pe, a_pod, pe_uid
from tests.unit.pod_state_machine.cluster import decided, gates, observed, resizing, submitted

UID = pe_uid("shop", 0)


def pod_name(launch: int) -> str:
    return labels.pod_name("shop", 0, UID, launch)


def intent_of(*builders: Builder) -> LaunchStatus:
    effects = decided(*builders).effects
    (intent,) = [each for each in effects if isinstance(each, PatchStatus)]
    assert intent.status.phase is PePhase.WAITING
    return intent.status


def test_a_new_pe_gets_its_first_pod_without_a_status_write_before_it() -> None:
    """Creating the PE is the intent of launch 1."""
    (effect,) = decided(a_pe()).effects
    assert effect == CreatePod(pod_name(1), 1, "c1", UID, 1)


def test_the_first_status_records_the_number_of_the_launch() -> None:
    """Launch counts go on from it, so it is written as soon as the pod exists."""
    (effect,) = decided(a_pe(), a_pod()).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.launch_count == 1
    assert effect.status.phase is PePhase.STARTING
    assert effect.status.pod == pod_name(1)
    assert effect.status.content_id == "c1"
    assert effect.status.observed_generation == 1


def test_a_re_created_pe_begins_with_the_launch_count_of_its_spec() -> None:
    """A PE that was deleted goes on counting where the old one stopped."""
    assert intent_of(a_pe().with_spec(launchCount=4)).launch_count == 4
    intended = a_pe().with_spec(launchCount=4).launched(4, phase="Waiting").with_status(pod="")
    (effect,) = decided(intended).effects
    assert isinstance(effect, CreatePod)
    assert (effect.launch, effect.believed_gone) == (4, ())


@pytest.mark.parametrize(
    "gates_but_one",
    [
        (a_config_map(),),
        (a_config_map(pe_id=0),),
        (a_config_map(), a_config_map(pe_id=0, content_id="other")),
        (a_config_map(), a_config_map(pe_id=0).deleting()),
    ],
)
def test_no_pod_is_created_while_a_config_map_that_it_mounts_is_missing(
    gates_but_one: tuple[Builder, ...],
) -> None:
    """A pod without them would fail at its start and count as a crash."""
    assert observed(a_pe(), *gates_but_one) is Observation.GATES_CLOSED
    assert decided(a_pe(), *gates_but_one).effects == ()


@pytest.mark.parametrize("job", [a_job().deleting(), a_job().with_uid("uid-later-one")])
def test_no_pod_is_created_for_a_job_that_is_deleted_or_another_one(job: Builder) -> None:
    """A later job of the same name has nothing to do with this PE."""
    assert decided(a_pe(), job).effects == ()


def test_no_pod_is_created_for_a_pe_that_is_deleted_and_its_pod_goes() -> None:
    """The garbage collector would do it as well, but slowly."""
    assert decided(a_pe().deleting()).effects == ()
    (effect,) = decided(a_pe().deleting(), a_pod()).effects
    assert isinstance(effect, DeletePod)


def test_an_orphaning_deletion_of_a_pe_leaves_its_pod_alone() -> None:
    """A user requested that the pod stays."""
    assert decided(a_pe().deleting().with_finalizer("orphan"), a_pod()).effects == ()


def test_a_pod_that_lost_its_owner_is_still_the_pod_of_its_pe() -> None:
    """Its name proves it: nothing is launched beside it, and it is not taken for a deleted one."""
    robbed = a_pod().in_phase("Running").orphaned()
    pe = a_pe().with_spec(restartDeletedPod=True).launched(1)
    assert observed(pe, robbed) is Observation.POD_RUNNING


def test_a_re_created_pe_removes_an_orphan_of_its_id_before_it_launches() -> None:
    """An orphaning deletion of the PE left it behind, and the job still needs the PE."""
    orphan = a_pod().in_phase("Running").orphaned()
    re_created = a_pe().with_uid("uid-of-a-later-pe")
    (removal,) = decided(re_created, orphan).effects
    assert isinstance(removal, DeletePod)
    assert removal.name == pod_name(1)


def test_a_pod_that_only_bears_the_labels_of_an_orphan_is_left_alone() -> None:
    """Anyone can write labels; a pod that an orphaning deletion left has a name of ours."""
    orphan = a_pod().in_phase("Running").orphaned()
    foreign = orphan.having("metadata", "name", value="fuzz-29")
    (effect,) = decided(a_pe().with_uid("uid-of-a-later-pe"), foreign).effects
    assert isinstance(effect, CreatePod)


def test_orphans_of_an_earlier_job_are_left_alone() -> None:
    """A user kept them, and the later job of that name does not own them."""
    orphan = a_pod().in_phase("Running").orphaned()
    earlier = orphan.having("metadata", "labels", labels.JOB_UID, value="uid-earlier-one")
    (effect,) = decided(a_pe().with_uid("uid-of-a-later-pe"), earlier).effects
    assert isinstance(effect, CreatePod)


def test_changed_content_writes_the_intent_and_then_removes_the_pod() -> None:
    """A pod that is removed without an intent would look deleted if the content came back."""
    pe = a_pe().with_content("c2").at_generation(2).launched(1)
    running = a_pod().in_phase("Running")
    decision = decided(pe, running, resizing())
    (intent,) = decision.effects
    assert isinstance(intent, PatchStatus)
    assert (intent.status.launch_count, intent.status.content_id) == (2, "c2")
    assert decision.reason == "ContentChanged"
    intended = pe.launched(2, phase="Waiting", content_id="c2")
    (removal,) = decided(intended, running, resizing()).effects
    assert isinstance(removal, DeletePod)
    assert removal.name == pod_name(1)


@pytest.mark.parametrize(
    "pe",
    [
        a_pe().with_content("c2"),
        a_pe().with_content("c2").launched(1, phase="Waiting", content_id="c1"),
    ],
)
def test_an_unrecorded_pod_is_deleted_only_when_the_next_launch_is_intended(
    pe: Builder,
) -> None:
    """With the delete but without the intent, the launch would seem not to have happened."""
    (intent,) = decided(pe, a_pod().in_phase("Running"), resizing()).effects
    assert isinstance(intent, PatchStatus)
    assert intent.status.launch_count == 2
    intended = a_pe().with_content("c2").launched(2, phase="Waiting", content_id="c2")
    (removal,) = decided(intended, a_pod().in_phase("Running"), resizing()).effects
    assert isinstance(removal, DeletePod)
    assert removal.name == pod_name(1)


def test_content_that_changes_waits_with_the_old_pod_for_the_new_config_map() -> None:
    """The old launch goes on working until the next one can start."""
    pe = a_pe().with_content("c2").launched(1)
    assert decided(pe, a_pod().in_phase("Running"), submitted(), *gates("c1")).effects == ()


def test_the_next_pod_waits_until_the_last_one_is_over_or_gone() -> None:
    """Two launches of one PE never run at once."""
    pe = a_pe().with_content("c2").launched(2, phase="Waiting", content_id="c2")
    leaving = a_pod().in_phase("Running").deleting()
    assert observed(pe, leaving) is Observation.PREDECESSOR_ALIVE
    assert decided(pe, leaving).effects == ()
    (created,) = decided(pe, leaving.in_phase("Failed")).effects
    assert isinstance(created, CreatePod)
    assert created.launch == 2
    assert created.believed_gone == ()


def test_the_absence_of_the_last_pod_is_confirmed_before_the_next_launch() -> None:
    """A fact may be missing: a GET by name confirms it."""
    pe = a_pe().with_content("c2").launched(2, phase="Waiting", content_id="c2")
    (created,) = decided(pe).effects
    assert isinstance(created, CreatePod)
    assert created.believed_gone == (pod_name(1),)


def test_a_pod_whose_end_was_observed_needs_no_get() -> None:
    """Its end is no mere absence; another earlier pod is still confirmed."""
    pe = a_pe().with_content("c2").launched(2, phase="Waiting", content_id="c2")
    for ended, confirmed in ((frozenset({pod_name(1)}), ()), (frozenset({"x"}), (pod_name(1),))):
        (created,) = decided(pe, ended=ended).effects
        assert isinstance(created, CreatePod)
        assert created.believed_gone == confirmed


def test_a_raised_launch_count_is_the_number_of_the_next_launch() -> None:
    """Raised to 7, the next launch is number 7."""
    pe = a_pe().with_spec(launchCount=7).launched(2)
    assert intent_of(pe, a_pod(launch=2).in_phase("Running"), submitted()).launch_count == 7


def test_a_launch_that_is_skipped_unobserved_is_confirmed_not_to_have_happened() -> None:
    """Its pod may have been created a moment ago: the skipping launch would run beside it."""
    pe = a_pe().with_spec(launchCount=7).launched(3, phase="Waiting")
    (effect,) = decided(pe, submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.launch_count == 7
    assert effect.status.pod == pod_name(2)
    assert effect.believed_gone == pod_name(3)
    shown = decided(pe, a_pod(launch=3).in_phase("Running"), submitted()).effects
    assert [each.believed_gone for each in shown if isinstance(each, PatchStatus)] == [""]


def test_a_floor_raised_before_the_first_status_confirms_the_absence_of_the_first_pod() -> None:
    """Nothing records yet whether launch 1 has happened; what follows is intended first."""
    (intended,) = decided(a_pe().with_spec(launchCount=7)).effects
    assert isinstance(intended, PatchStatus)
    assert (intended.status.launch_count, intended.status.pod) == (7, "")
    assert intended.believed_gone == pod_name(1)


def test_a_floor_that_is_raised_twice_before_the_first_pod_skips_no_launch_unconfirmed() -> None:
    """The pod of the floor before may have been created a moment ago, and run beside the next."""
    pe = a_pe().with_spec(launchCount=9).launched(7, phase="Waiting").with_status(pod="")
    (intended,) = decided(pe).effects
    assert isinstance(intended, PatchStatus)
    assert intended.status.launch_count == 9
    assert intended.believed_gone == pod_name(7)


def test_launch_counts_never_fall_when_the_spec_has_less() -> None:
    """The spec's count is a floor."""
    pe = a_pe().with_spec(launchCount=1).with_content("c2").launched(5)
    assert intent_of(pe, a_pod(launch=5).in_phase("Running"), submitted()).launch_count == 6
    quiet = a_pe().with_spec(launchCount=1).launched(5, phase="Starting")
    (effect,) = decided(quiet, a_pod(launch=5).in_phase("Running"), submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.launch_count == 5


def test_a_pod_of_another_pe_of_that_name_counts_as_a_running_launch() -> None:
    """A PE was deleted and re-created: the pod of the old one must go first."""
    stranger = a_pod(owner="uid-old").in_phase("Running")
    intended, removed = decided(a_pe().with_spec(launchCount=2), stranger).effects
    assert isinstance(intended, PatchStatus)
    assert isinstance(removed, DeletePod)
    assert removed.believed_gone_owner == "uid-old"
    waiting = a_pe().with_spec(launchCount=2).launched(2, phase="Waiting").with_status(pod="")
    assert observed(waiting, stranger) is Observation.PREDECESSOR_ALIVE
    assert observed(a_pe(), stranger.deleting()) is Observation.PREDECESSOR_ALIVE


def test_a_pod_of_a_later_launch_than_recorded_means_that_the_view_is_behind() -> None:
    """Acting on it would remove a pod that another instance just launched."""
    pe = a_pe().with_content("c2").launched(1)
    assert decided(pe, a_pod(launch=2, content_id="c3"), submitted()).effects == ()


def test_a_pod_left_of_an_earlier_launch_is_removed_while_the_newest_runs() -> None:
    """The removal is level-triggered: a lost delete is repeated."""
    pe = a_pe().launched(2).with_status(reason="PodRunning", message="The pod runs.")
    effects = decided(pe, a_pod(launch=1), a_pod(launch=2).in_phase("Running"), submitted()).effects
    assert [each.name for each in effects if isinstance(each, DeletePod)] == [pod_name(1)]


def test_the_name_of_a_pod_is_a_pure_function_of_pe_uid_and_launch() -> None:
    """A launch that is tried twice meets itself."""
    assert pod_name(1) == pod_name(1)
    assert pod_name(1).startswith("shop-0-")
    others = {pod_name(2), labels.pod_name("shop", 0, "uid-other", 1)}
    assert len(others | {pod_name(1)}) == 3
