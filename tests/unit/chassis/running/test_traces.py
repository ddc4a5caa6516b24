"""What is done for a key belongs to the trace of its newest fact."""

from __future__ import annotations

from services.chassis.process.tracing import Cause, current_cause
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from tests.unit.chassis.running.saying import present
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
