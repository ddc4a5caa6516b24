"""What is done for a key belongs to the trace of its newest fact."""

from __future__ import annotations

from services.chassis.process.tracing import Cause, current_cause
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from tests.unit.chassis.running.saying import RESOURCES_0, present, record
from tests.unit.chassis.running.staging import Do, bench
from tests.virtual_time import virtually

TRACE = "ab" * 16


@virtually
async def test_the_end_of_a_list_leaves_the_trace_of_a_key_as_it_is() -> None:
    causes: list[Cause] = []

    async def carry_out(_key: str, _effect: Do) -> str:
        causes.append(current_cause())
        return "done"

    def decide(_key: str, entry: Entry | None) -> Decision[Do]:
        return Decision((Do("a"),) if entry is not None else (), "Waiting")

    async with bench(decide, carry_out) as it:
        await it.sync()
        await it.say(present("x"))
        assert causes[-1].trace_id == TRACE
        assert causes[-1].span_id == TRACE[:16]
        before = len(causes)
        await it.sync(traced=False)
        assert len(causes) > before
        assert causes[-1].trace_id == TRACE


@virtually
async def test_a_recorded_cause_is_no_fact_that_comes_while_effects_are_carried_out() -> None:
    async def carry_out(_key: str, _effect: Do) -> str:
        later = record(present("x", version=2, size=2), RESOURCES_0, event_id="its own doing")
        await it.log.produce([later])
        await it.settle()
        return "done"

    def decide(_key: str, entry: Entry | None) -> Decision[Do]:
        is_new = entry is not None and entry.resource_version == 1
        return Decision((Do("a"),) if is_new else (), "Waiting")

    async with bench(decide, carry_out) as it:
        await it.sync()
        await it.say(present("x"))
        causes = [each["cause"] for each in await it.decisions() if each["effects"]]
        assert causes == ["e"]
