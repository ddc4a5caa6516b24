"""A key whose code crashes is tried ever more seldom, and costs the others nothing."""

from __future__ import annotations

import pytest

from contracts.unreadable import ObjectUnreadable
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from tests.unit.chassis.running.saying import present
from tests.unit.chassis.running.staging import Do, bench, idle, succeed
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


@virtually
async def test_a_key_that_crashes_again_and_again_says_so_until_it_does_not() -> None:
    """With the class of the exception, and without its words, which may quote anything."""
    async with bench(idle, succeed) as it:
        await it.say(present("bad", poison=True), present("good"))
        await it.sync()
        await it.settle(0.2)
        assert it.stage.stalled == {}
        await it.settle(60)
        assert set(it.stage.stalled) == {"bad"}
        assert "(ValueError)" in it.stage.stalled["bad"]
        assert "a bad object" not in it.stage.stalled["bad"]
        await it.say(present("bad", version=2))
        await it.settle(60)
        assert it.stage.stalled == {"bad": ""}


@virtually
async def test_an_effect_that_crashes_again_and_again_is_reported_until_it_is_done() -> None:
    is_broken = True

    async def carry_out(_key: str, effect: Do) -> str:
        if is_broken and effect.number:
            raise KeyError("secret")
        return "done"

    def decide(key: str, entry: Entry | None) -> Decision[Do]:
        return Decision((Do("a", 1), Do("b", 0)), "Waiting")

    async with bench(decide, carry_out) as it:
        await it.say(present("x"))
        await it.sync()
        await it.settle(60)
        assert "Do crashed" in it.stage.stalled["x"]
        assert "(KeyError)" in it.stage.stalled["x"]
        assert "secret" not in it.stage.stalled["x"]
        is_broken = False
        await it.settle(120)
        assert it.stage.stalled == {"x": ""}


@virtually
async def test_what_cannot_be_said_of_a_crash_ends_no_key() -> None:
    async with bench(idle, succeed) as it:

        async def refuse(_key: str, _why: str) -> None:
            raise RuntimeError("no")

        it.stage.report_stalled = refuse  # type: ignore[assignment,method-assign]
        await it.say(present("bad", poison=True), present("good"))
        await it.sync()
        await it.settle(60)
        assert "good" in it.stage.decided


@virtually
async def test_an_object_that_cannot_be_read_gets_no_second_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """watch-ingest reports on it; a traceback for each try would hide defects in the log."""
    logged: list[str] = []
    async with bench(idle, succeed) as it:

        async def cannot_read(*_: object, **__: object) -> None:
            raise ObjectUnreadable("spec nests too deep")

        it.stage.report_stalled = cannot_read  # type: ignore[method-assign]
        log = it.runner._crashes._log
        monkeypatch.setattr(log, "exception", lambda event, **_: logged.append(event))
        await it.say(present("bad", poison=True), present("good"))
        await it.sync()
        await it.settle(60)
        assert "good" in it.stage.decided
        assert set(logged) == {"key_crashed"}, "the report itself is not logged"
