"""Who goes first when more is to be done than may be in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from services.chassis.running.gate import PATIENT_EVERY, PATIENT_SHARE, Gate
from services.chassis.running.stage import Decision, Urgency, urgency_of
from services.chassis.table.entries import Entry
from tests.unit.chassis.running.saying import present
from tests.unit.chassis.running.staging import Do, bench
from tests.virtual_time import virtually

PROMPT, PATIENT = Urgency.PROMPT, Urgency.PATIENT


class Line:
    """Many who wait at one gate, and in which order they came in."""

    def __init__(self, slots: int) -> None:
        self.gate = Gate(slots)
        self.entered: list[str] = []
        self.inside = 0
        self.inside_max = 0

    async def pass_through(self, name: str, urgency: Urgency, stay_s: float = 1.0) -> None:
        async with self.gate.slot(urgency):
            self.entered.append(name)
            self.inside += 1
            self.inside_max = max(self.inside, self.inside_max)
            await asyncio.sleep(stay_s)
            self.inside -= 1

    async def all(self, *who: tuple[str, Urgency]) -> None:
        await asyncio.gather(*(self.pass_through(name, urgency) for name, urgency in who))


@virtually
async def test_no_more_than_the_slots_are_in_flight() -> None:
    """Whatever their urgency."""
    line = Line(4)
    await line.all(*((str(n), PATIENT if n % 2 else PROMPT) for n in range(40)))
    assert line.inside_max == 4
    assert len(line.entered) == 40


@virtually
async def test_a_free_slot_goes_to_what_is_prompt_though_it_came_later() -> None:
    line = Line(1)
    await line.all(("first", PROMPT), ("patient", PATIENT), ("a", PROMPT), ("b", PROMPT))
    assert line.entered == ["first", "a", "b", "patient"]


@virtually
async def test_patient_effects_leave_slots_for_what_may_come() -> None:
    """Only a part of the slots is theirs, even when nobody else waits."""
    line = Line(2 * PATIENT_SHARE)
    await line.all(*((str(n), PATIENT) for n in range(20)))
    assert line.inside_max == 2


@virtually
async def test_a_patient_effect_does_not_wait_for_ever() -> None:
    """However many prompt ones there are."""
    line = Line(1)
    prompt = [(str(n), PROMPT) for n in range(10 * PATIENT_EVERY)]
    await line.all(*prompt, ("patient", PATIENT))
    assert line.entered.index("patient") <= PATIENT_EVERY


@virtually
async def test_any_gives_up_waiting_takes_no_slot_with_it() -> None:
    """Neither one that waits nor one that has just been let in."""
    line = Line(1)
    waiting = [asyncio.create_task(line.pass_through(str(n), PROMPT)) for n in range(3)]
    await asyncio.sleep(0.5)
    waiting[1].cancel()
    await asyncio.sleep(0.5)
    await asyncio.sleep(0.1)
    waiting[2].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await asyncio.wait_for(line.pass_through("last", PATIENT), 2.0)
    assert line.entered == ["0", "2", "last"]


@virtually
async def test_a_slot_that_is_freed_in_the_moment_of_giving_up_goes_to_the_next() -> None:
    """Before whoever gave up has run again."""
    gate, entered = Gate(1), asyncio.Event()

    async def enter() -> None:
        async with gate.slot(PROMPT):
            entered.set()

    async with gate.slot(PROMPT):
        given_up = asyncio.create_task(enter())
        waiting = asyncio.create_task(enter())
        await asyncio.sleep(0)
        given_up.cancel()
    await asyncio.wait_for(waiting, 1.0)
    assert given_up.cancelled()
    assert entered.is_set()


class Put(Do):
    """An effect that says itself that it is patient."""

    urgency = PATIENT


def begun_in(effects: tuple[Do, ...]) -> Callable[[str, Entry | None], Decision[Do]]:
    """A decision with these effects, once."""

    def decide(_key: str, entry: Entry | None) -> Decision[Do]:
        return Decision(effects if entry is not None else (), "Working")

    return decide


async def take_time(_key: str, _effect: Do) -> str:
    await asyncio.sleep(10.0)
    return "done"


@virtually
async def test_the_effects_of_a_decision_begin_in_their_order_the_patient_ones_last() -> None:
    begun: list[str] = []

    async def carry_out(key: str, effect: Do) -> str:
        begun.append(effect.name)
        return await take_time(key, effect)

    slow: Callable[[str, Do], Awaitable[str]] = carry_out
    effects = (Put("service"), Do("config"), Do("pe"))
    async with bench(begun_in(effects), slow) as it:
        await it.say(present("a"))
        await it.sync()
        await it.settle(5.0)
        assert begun == ["config", "pe", "service"]


def test_an_effect_that_says_nothing_is_prompt() -> None:
    assert [urgency_of(each) for each in (Do("x"), Put("x"))] == [PROMPT, PATIENT]
