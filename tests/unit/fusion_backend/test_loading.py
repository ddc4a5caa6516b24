"""A width that follows a hand-over waits until the PEs that it is for have loaded their state."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from contracts import labels
from contracts.moments import unix_s_of
from contracts.resources.hand_over import FORMER_MAX
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import RecordPlan, WriteJobStatus
from services.fusion_backend.core.loading import Loading as WaitsFor
from tests.unit.fusion_backend.handing_over import SECONDS, HandingOver, listed_in
from tests.unit.fusion_backend.world import JOB, Obj

REGION = ("ParallelRegion", f"{JOB}-0")
GATHERED_S = 5


class Loading(HandingOver):
    """A world in which the runtimes of some PEs report no start: they have not loaded yet."""

    def __init__(self, **spec: Any) -> None:
        self.slow: set[int] = set()
        super().__init__(**spec)

    def others(self) -> None:
        kept = {pe: dict(self._status(pe).get("runtime", {})) for pe in self.slow}
        super().others()
        for pe, runtime in kept.items():
            self._status(pe)["runtime"] = runtime

    def _status(self, pe: int) -> Obj:
        found = self.objects.get(("ProcessingElement", labels.pe_name(JOB, pe)), {})
        return dict(found).setdefault("status", {}) if found else {}

    def settle(self) -> None:
        """Decide until neither we nor others have anything to do."""
        for _ in range(3):
            self.converge()

    @property
    def generation(self) -> int:
        """The newest generation that has a record."""
        return self.snapshot().newest_generation

    @property
    def message(self) -> str:
        """What the region says of its width."""
        return str(self.objects[REGION]["status"]["message"])


def _handed_over(*, slow: int = 1, width: int = 5, seal: bool = True, **spec: Any) -> Loading:
    """A resize has handed over, and so many of the PEs that it changed have not loaded."""
    world = Loading(width=3, **spec)
    world.resize(0, width)
    world.settle()
    world.slow = set(listed_in(world)[:slow])
    if seal:
        world.seal(*listed_in(world))
    else:
        world.now += SECONDS
    world.settle()
    assert world.hand_over["complete"]
    world.now += GATHERED_S
    return world


def test_a_width_waits_for_pes_that_have_not_loaded_what_was_handed_over() -> None:
    world = _handed_over(slow=2)
    first = min(world.slow)
    world.resize(0, 6)
    world.settle()
    assert world.generation == 1
    text = f"width 6 waits for PE {first} and 1 more to load the state that was handed over"
    assert text in world.message
    assert condition(world.objects[REGION]["status"], "Accepted")["reason"] == "StateLoading"
    world.slow.clear()
    world.settle()
    assert world.generation == 2
    assert world.hand_over["generation"] == 2


def test_a_launch_that_seals_again_and_does_not_begin_is_no_start() -> None:
    """The API server fills in the default of `handsOver` beside it."""
    world = _handed_over(slow=1)
    status = world._status(min(world.slow))
    status["runtime"] = {"launch": status["launchCount"], "handsOver": False, "sealed": 1}
    world.resize(0, 6)
    world.settle()
    assert world.generation == 1
    assert condition(world.objects[REGION]["status"], "Accepted")["reason"] == "StateLoading"


def test_a_pe_that_loads_meanwhile_costs_no_write() -> None:
    world = _handed_over(slow=2)
    world.resize(0, 6)
    world.settle()
    world.writes.clear()
    world.slow = {min(world.slow)}
    world.settle()
    assert world.generation == 1
    assert not world.writes


def test_a_pe_that_the_resize_added_is_waited_for() -> None:
    world = Loading(width=3)
    before = set(world.launches())
    world.resize(0, 5)
    world.step()
    world.hands_over = False
    world.settle()
    world.seal(*listed_in(world))
    for name in set(world.launches()) - before:
        world.objects["ProcessingElement", name]["status"].pop("runtime", None)
    world.hands_over = True
    world.slow = {int(name.rpartition("-")[2]) for name in set(world.launches()) - before}
    assert world.slow
    world.settle()
    assert world.hand_over["complete"]
    world.now += GATHERED_S
    world.resize(0, 6)
    world.settle()
    assert world.generation == 1
    world.slow.clear()
    world.settle()
    assert world.generation == 2


def test_the_wait_ends_when_as_much_time_has_passed_as_a_hand_over_may_take() -> None:
    world = _handed_over()
    world.resize(0, 6)
    world.settle()
    ends = unix_s_of(world.hand_over["completedAt"]) + SECONDS
    world.now = ends - 1
    world.settle()
    assert world.generation == 1
    assert decide(world.snapshot(), world.now).requeue_at == ends
    world.now = ends + GATHERED_S
    world.settle()
    assert world.generation == 2


def test_a_clock_that_was_ahead_of_ours_holds_up_nothing_for_longer() -> None:
    world = _handed_over()
    world.now -= 60
    world.resize(0, 6)
    world.settle()
    world.now += SECONDS
    world.settle()
    assert world.generation == 2


def test_where_no_pe_sealed_there_is_nothing_to_load() -> None:
    world = _handed_over(seal=False)
    world.resize(0, 6)
    world.settle()
    assert "to load" not in world.message
    world.slow.clear()
    world.settle()
    assert world.generation == 2


@pytest.mark.parametrize("seconds", [0, 30])
def test_an_edit_to_0_ends_the_wait(seconds: int) -> None:
    world = _handed_over()
    world.edit("Job", JOB, scaling={"handOverSeconds": seconds})
    world.resize(0, 6)
    world.settle()
    assert (world.generation == 2) == (seconds == 0)


def test_a_restarted_service_waits_as_well() -> None:
    world = _handed_over()
    world.resize(0, 6)
    world.crash()
    world.settle()
    assert world.generation == 1


def test_no_decision_ends_a_hand_over_and_records_the_next_generation() -> None:
    """Else changed PEs are launched, and what they load is replaced before they do."""
    world = Loading(width=3)
    world.resize(0, 5)
    world.settle()
    world.now += GATHERED_S
    world.resize(0, 6)
    world.seal(*listed_in(world))
    for _ in range(40):
        effects = decide(world.snapshot(), world.now).effects
        is_ending = any(isinstance(each, WriteJobStatus) for each in effects)
        assert not (is_ending and any(isinstance(each, RecordPlan) for each in effects))
        world.step()
        if world.hand_over["complete"]:
            break
    assert world.generation == world.hand_over["generation"] == 1


def test_a_plan_that_is_made_when_the_last_pe_seals_waits_for_what_it_loads() -> None:
    """One decision could end the hand-over and record the plan: it does the first."""
    world = Loading(width=3)
    world.resize(0, 5)
    world.settle()
    world.now += GATHERED_S
    world.resize(0, 6)
    for _ in range(40):
        if _has(world, RecordPlan):
            break
        world.step()
    assert _has(world, RecordPlan)
    assert not _has(world, WriteJobStatus)
    world.slow = set(listed_in(world))
    world.seal(*listed_in(world))
    assert _has(world, WriteJobStatus)
    assert not _has(world, RecordPlan)
    world.settle()
    assert world.hand_over["complete"]
    assert world.generation == 1


def _has(world: Loading, effect: type) -> bool:
    """Whether the next decision has an effect of this type."""
    return any(isinstance(each, effect) for each in decide(world.snapshot(), world.now).effects)


def test_a_hand_over_does_not_end_once_a_newer_generation_is_recorded() -> None:
    """The newer one replaces it, and what has sealed is not launched in between."""
    world = Loading(width=3)
    world.resize(0, 5)
    world.settle()
    before, listed = world.launches(), listed_in(world)
    world.now += GATHERED_S
    world.resize(0, 6)
    for _ in range(40):
        world.step(dropping=lambda effect: isinstance(effect, WriteJobStatus))
        if world.generation == 2:
            break
    assert world.generation == 2
    world.seal(*listed)
    world.crash()
    for _ in range(40):
        world.step()
        assert not world.hand_over["complete"], "its PEs would be launched"
    assert world.hand_over["generation"] == 2
    assert {name: world.launches()[name] for name in before} == before


STORE = {"fileSystem": {"claimName": "states"}}


def _with_store(world: Loading) -> Loading:
    """Each of its PEs keeps its state."""
    for (kind, _), each in world.objects.items():
        if kind == "ProcessingElement":
            each["spec"]["checkpointRepository"] = STORE
    return world


def _after_another_width(world: Loading) -> Loading:
    """The wait for the PEs that have not loaded is over, and another width has handed over."""
    world.now += SECONDS
    world.resize(0, 6)
    world.settle()
    assert world.generation == 2
    return world


def test_a_hand_over_that_a_pe_has_not_begun_since_is_recorded_behind_the_next_ones() -> None:
    world = _with_store(_handed_over())
    first = deepcopy(world.hand_over)
    _after_another_width(world)
    kept = {name: first[name] for name in ("generation", "pes", "sealed")}
    assert world.hand_over["former"] == [kept]
    world.seal(*listed_in(world))
    world.settle()
    assert world.hand_over["former"] == [kept], "it is kept when the next one is complete"


def test_a_hand_over_that_all_pes_have_begun_since_is_not_recorded_any_more() -> None:
    world = _with_store(_handed_over())
    world.slow.clear()
    world.settle()
    _after_another_width(world)
    assert world.hand_over["former"] == []


def test_nothing_is_recorded_for_pes_that_keep_no_state_nor_once_the_job_has_ended() -> None:
    assert _after_another_width(_handed_over()).hand_over["former"] == []
    ended = _with_store(_handed_over())
    ended.objects["Job", JOB]["status"]["hasEnded"] = True
    assert _after_another_width(ended).hand_over["former"] == []


def test_a_width_that_waits_for_pes_that_cannot_be_read_says_so() -> None:
    """A full status is kept for them, and none of those that can be read is left."""
    text = WaitsFor((), None).text
    assert text == "waits for PEs that cannot be read to load the state that was handed over"


def test_a_width_waits_where_the_status_has_no_room_for_what_pes_begin_with() -> None:
    world = _with_store(_handed_over())
    slow = min(world.slow)
    kept = {"generation": 1, "pes": {str(slow): 1}, "sealed": {str(slow): 1}}
    world.objects["Job", JOB]["status"]["handOver"]["former"] = [kept] * (FORMER_MAX - 1)
    world.now += SECONDS * 10
    world.resize(0, 6)
    world.settle()
    assert world.generation == 1
    assert f"waits for PE {slow} to load the state that was handed over" in world.message
    world.slow.clear()
    world.settle()
    assert world.generation == 2
    assert world.hand_over["former"] == []
