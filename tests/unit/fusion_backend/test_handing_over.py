"""A resize whose PEs hand over: what the Job's status records, and what waits for it."""

from __future__ import annotations

import pytest

from contracts import labels
from contracts.moments import moment_of, unix_s_of
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import Effect, WriteJobStatus
from tests.unit.fusion_backend.handing_over import SECONDS, HandingOver, listed_in, resized_to
from tests.unit.fusion_backend.world import JOB, Obj


def test_pes_that_change_or_go_hand_over_and_are_listed_with_their_launches() -> None:
    world = resized_to(2)
    assert world.status()["phase"] == "Resizing"
    hand_over = world.hand_over
    assert hand_over["generation"] == 1
    assert hand_over["pes"]
    assert set(hand_over["pes"].values()) == {1}
    assert (hand_over["sealed"], hand_over["gone"], hand_over["complete"]) == ({}, [], False)
    assert unix_s_of(hand_over["deadline"]) - unix_s_of(hand_over["begun"]) == SECONDS


def test_no_changed_pe_is_launched_and_no_leaving_one_deleted_before_all_have_sealed() -> None:
    world = resized_to(2)
    before, pes, listed = world.launches(), listed_in(world), _first_pes(world)
    world.seal(*pes[:-1])
    world.converge()
    assert world.launches() == before
    world.seal(pes[-1])
    world.converge()
    assert world.hand_over["complete"]
    assert world.hand_over["sealed"] == world.hand_over["pes"]
    assert world.status()["phase"] == "Submitted"
    removed = set(before) - set(world.launches())
    assert removed
    assert removed <= listed


def test_a_hand_over_costs_one_status_more() -> None:
    world = resized_to()
    assert world.status_writes() == 1
    world.seal(*listed_in(world))
    world.converge()
    plain = HandingOver(width=3, hands_over=False)
    plain.writes.clear()
    plain.resize(0, 5)
    plain.converge()
    assert world.status_writes() == plain.status_writes() + 1
    assert len(world.writes) == len(plain.writes) + 1


@pytest.mark.parametrize("world", [{"hands_over": False}, {"scaling": {"handOverSeconds": 0}}])
def test_a_resize_of_pes_that_do_not_hand_over_waits_for_nothing(world: Obj) -> None:
    resized = resized_to(**world)
    assert resized.status()["phase"] == "Submitted"
    assert not resized.hand_over


def test_what_a_resize_adds_starts_at_once() -> None:
    world = HandingOver(width=3)
    before = world.launches()
    world.resize(0, 5)
    world.converge()
    added = set(world.launches()) - set(before)
    assert added
    assert added <= world.named("Pod")


def test_the_status_says_whom_a_resize_waits_for() -> None:
    world = resized_to()
    first, more = listed_in(world)[0], len(listed_in(world)) - 1
    text = f"it waits for PE {first} and {more} more to hand over, for 30 s at most"
    assert text in world.condition("Submitted")["message"]
    world.seal(*listed_in(world))
    world.step()
    assert "hand over" not in world.condition("Submitted")["message"]


def test_a_pe_that_ends_is_gone_at_once_so_that_the_others_do_not_wait_for_its_marker() -> None:
    world = resized_to()
    ended, *others = listed_in(world)
    world.end(ended)
    world.step()
    assert world.hand_over["gone"] == [ended]
    assert not world.hand_over["complete"]
    world.seal(*others)
    world.converge()
    assert world.hand_over["complete"]
    assert world.hand_over["gone"] == [ended]
    assert world.status()["phase"] == "Submitted"


def test_after_the_deadline_the_resize_goes_on_and_an_event_names_who_is_late() -> None:
    world = resized_to()
    late, *others = listed_in(world)
    world.seal(*others)
    decision = decide(world.snapshot(), world.now)
    assert decision.requeue_at == unix_s_of(world.hand_over["deadline"])
    world.now += SECONDS
    world.converge()
    assert world.hand_over["gone"] == [late]
    assert world.status()["phase"] == "Submitted"
    [event] = [text for reason, text in world.events if reason == "HandOverTimedOut"]
    assert event.startswith(f"PE {late} did not hand over within {SECONDS} s")


def test_the_event_names_sources_of_late_pes_since_they_give_tuples_again() -> None:
    world = resized_to()
    late, *others = listed_in(world)
    for pe in (late, others[0]):
        runtime = world.objects["ProcessingElement", labels.pe_name(JOB, pe)]["status"]["runtime"]
        runtime["sources"] = [f"Numbers{pe}"]
    world.seal(*others)
    world.now += SECONDS
    world.converge()
    [event] = [text for reason, text in world.events if reason == "HandOverTimedOut"]
    again = f"; what source Numbers{late} of PE {late} gave since their checkpoint may come twice"
    assert event.endswith(again)


def test_a_width_that_is_set_back_ends_the_hand_over_and_nothing_is_launched() -> None:
    world = resized_to()
    before = world.launches()
    running = {name: launch for name, launch in before.items() if name in _first_pes(world)}
    world.now += 5
    world.resize(0, 3)
    for _ in range(20):
        world.step()
        if world.hand_over["generation"] == 2:
            world.seal(*listed_in(world))
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.hand_over["generation"] == 2
    assert world.hand_over["complete"]
    assert {name: world.launches()[name] for name in running} == running


def _first_pes(world: HandingOver) -> set[str]:
    return {labels.pe_name(JOB, pe) for pe in listed_in(world)}


def test_a_hand_over_of_no_pes_lets_those_of_the_last_one_go_on() -> None:
    """Those that were added do not report yet: no PE of the newest plan hands over."""
    world = resized_to()
    world.hands_over = False
    for name in set(world.launches()) - _first_pes(world):
        world.objects["ProcessingElement", name]["status"].pop("runtime", None)
    world.now += 5
    world.resize(0, 3)
    world.converge()
    hand_over = world.hand_over
    assert (hand_over["generation"], hand_over["pes"], hand_over["complete"]) == (2, {}, True)
    assert world.status()["phase"] == "Submitted"


def test_a_seal_of_an_older_generation_does_not_count() -> None:
    world = resized_to(5)
    world.seal(*listed_in(world)[:1])
    world.now += 5
    world.resize(0, 8)
    world.converge()
    sealed = listed_in(world)[1:]
    world.seal(*sealed)
    world.converge()
    assert not world.hand_over["complete"]
    assert world.hand_over["sealed"] == {}
    assert world.status()["phase"] == "Resizing"


def test_a_newer_width_replaces_a_hand_over_that_goes_on() -> None:
    world = resized_to(5)
    world.seal(*listed_in(world)[:1])
    world.now += 5
    world.resize(0, 8)
    world.converge()
    assert world.hand_over["generation"] == 2
    assert world.hand_over["sealed"] == {}
    world.seal(*listed_in(world))
    world.converge()
    assert world.status()["phase"] == "Submitted"


@pytest.mark.parametrize("steps", range(8))
def test_a_service_that_dies_at_any_step_of_a_hand_over_goes_on(steps: int) -> None:
    world = HandingOver(width=3)
    world.resize(0, 2)
    for _ in range(steps):
        world.step()
        if world.hand_over:
            world.seal(*listed_in(world)[:steps])
    world.crash()
    world.converge()
    world.seal(*listed_in(world))
    world.crash()
    world.converge()
    assert world.status()["phase"] == "Submitted"


def test_the_end_of_a_hand_over_needs_no_plan() -> None:
    """A service that starts again completes it before it has read a record."""
    world = resized_to()
    world.seal(*listed_in(world))
    world.crash()
    assert _writes_of_job(world)
    world.converge()
    assert world.hand_over["complete"]


def _writes_of_job(world: HandingOver) -> list[Effect]:
    effects = decide(world.snapshot(), world.now).effects
    return [each for each in effects if isinstance(each, WriteJobStatus)]


def test_nothing_of_a_job_that_is_deleted_waits_for_its_pes() -> None:
    world = resized_to()
    world.delete_job()
    world.now += SECONDS
    world.step()
    assert not world.named("ProcessingElement")
    assert not world.hand_over["complete"]


OURS = "registry.example/millrace/runtime:1"


def _silent(image: str = OURS) -> HandingOver:
    """A job whose PEs did not report yet."""
    return HandingOver(width=3, hands_over=False, processingElement={"image": image})


def _hands_over(world: HandingOver) -> bool:
    """Whether PEs are waited for when the region gets another width."""
    world.resize(0, 5)
    world.converge()
    return set(map(int, world.hand_over.get("pes", ()))) > set(world.hand_over.get("gone", ()))


@pytest.mark.parametrize(("image", "is_listed"), [(OURS, True), ("example/streams:1", False)])
def test_a_pe_of_our_runtime_that_did_not_report_yet_hands_over(
    image: str, is_listed: bool
) -> None:
    """It began a moment before the resize, and has taken tuples in."""
    assert _hands_over(_silent(image)) is is_listed


def test_a_pod_hands_over_before_any_status_of_its_pe() -> None:
    """The status waits for two seconds, so that the first report comes with it."""
    world = _silent()
    for name in world.named("ProcessingElement"):
        world.objects["ProcessingElement", name]["status"] = {}
    assert _hands_over(world)


@pytest.mark.parametrize(("seconds", "is_listed"), [(59, True), (61, False)])
def test_a_container_that_runs_for_long_without_a_report_is_not_waited_for(
    seconds: int, is_listed: bool
) -> None:
    world = _silent()
    _run_since(world, world.now - seconds)
    assert _hands_over(world) is is_listed


def _run_since(world: HandingOver, began: float) -> None:
    running = {"running": {"startedAt": moment_of(began)}}
    for name in world.named("Pod"):
        containers = [{"name": labels.PE_CONTAINER, "state": running}]
        world.objects["Pod", name]["status"] = {"phase": "Running", "containerStatuses": containers}


@pytest.mark.parametrize("reason", ["Unschedulable", "ImagePullBackOff", "VolumesNotMounted"])
def test_a_pod_whose_process_does_not_begin_is_not_waited_for(reason: str) -> None:
    world = _silent()
    for name in world.named("ProcessingElement"):
        world.objects["ProcessingElement", name]["status"]["reason"] = reason
    assert not _hands_over(world)
    assert world.hand_over["complete"]
    assert world.hand_over["gone"], "its peers know that nobody takes what they keep for it"


def test_a_pe_that_does_not_begin_is_gone_and_the_others_are_waited_for() -> None:
    world = _silent()
    name = labels.pe_name(JOB, 1)
    world.objects["ProcessingElement", name]["status"]["reason"] = "Unschedulable"
    assert _hands_over(world)
    assert world.hand_over["gone"] == [1]
    assert "1" in world.hand_over["pes"]


def test_a_pe_whose_pod_runs_is_waited_for_though_its_status_still_says_why_it_did_not() -> None:
    world = _silent()
    _run_since(world, world.now)
    name = labels.pe_name(JOB, 1)
    world.objects["ProcessingElement", name]["status"]["reason"] = "Unschedulable"
    assert _hands_over(world)
    assert 1 not in world.hand_over["gone"]


@pytest.mark.parametrize(("status", "is_awaited"), [({}, True), ({"reason": "GatesClosed"}, False)])
def test_a_pe_whose_first_launch_nothing_says_is_listed_with_it(
    status: Obj, is_awaited: bool
) -> None:
    """As launch 0, so that the first one begins behind it, with what is for it by then."""
    world = _silent()
    name = labels.pe_name(JOB, 1)
    world.never_launched[name] = status
    world.others()
    world.resize(0, 5)
    for _ in range(40):
        world.step()
        if world.hand_over:
            break
    assert world.hand_over["pes"]["1"] == 0
    assert (1 not in world.hand_over["gone"]) is is_awaited


def test_a_pe_that_reports_late_that_it_hands_over_begins_a_hand_over_then() -> None:
    """pod-state-machine has seen the report, and keeps its pod."""
    world = HandingOver(width=3, hands_over=False)
    world.resize(0, 5)
    world.step(dropping=lambda effect: not isinstance(effect, WriteJobStatus))
    world.hands_over = True
    world.converge()
    for _ in range(4):
        if not world.hand_over.get("complete", True):
            world.seal(*listed_in(world))
        world.converge()
    assert world.status()["phase"] == "Submitted"


def test_a_launch_that_has_not_reported_yet_is_listed_where_an_older_one_did() -> None:
    """Or it would be replaced at once, and its groups of keys would be nobody's."""
    world = HandingOver(width=3)
    name = labels.pe_name(JOB, 1)
    pod, element = world.objects["Pod", name], world.objects["ProcessingElement", name]
    pod["metadata"]["labels"][labels.LAUNCH_COUNT] = "2"
    element["status"]["launchCount"] = 2
    world.hands_over = False  # it starts, and reports nothing meanwhile
    world.resize(0, 5)
    world.converge()
    assert world.hand_over["pes"]["1"] == 2


def test_a_listed_pe_keeps_its_content_until_all_have_handed_over() -> None:
    """Where its launch ends, the next one has to understand what is on its way to it."""
    world = HandingOver(width=3)
    before = world.contents()
    world.resize(0, 2)
    world.converge()
    *most, last = listed_in(world)
    world.seal(*most)
    world.converge()
    assert world.contents() == before
    world.seal(last)
    world.converge()
    after = world.contents()
    listed = {labels.pe_name(JOB, pe) for pe in (*most, last)} & after.keys()
    assert listed
    assert all(after[name] != before[name] for name in listed)
