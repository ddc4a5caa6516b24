"""A key whose code crashes is tried ever more seldom, and costs the others nothing."""

from __future__ import annotations

from tests.unit.chassis.saying import present
from tests.unit.chassis.staging import bench, idle, succeed
from tests.virtual_time import virtually


@virtually
async def test_a_key_that_crashes_backs_off_while_others_go_on() -> None:
    """In a minute it is tried about eight times, each time after twice as long."""
    async with bench(idle, succeed) as it:
        await it.say(present("bad", poison=True), present("good"))
        await it.sync()
        await it.settle(60)
        crashes = it.runtime.metrics.value("millrace_crashes_total", where="key")
        assert 3 < crashes < 15
