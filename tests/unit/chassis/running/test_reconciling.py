"""A stage in the chassis: restore, coalescing, fences, back-off, decision records."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from services.chassis.log.bus import NewRecord
from services.chassis.process.errors import NotAllowed, Rejected, Superseded, Transient
from services.chassis.running.decision_log import GATHER_S
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from services.chassis.table.reading import BATCH_RECORDS_MAX
from tests.unit.chassis.running.saying import RESOURCES_0, epoch, gone, present, record, synced
from tests.unit.chassis.running.staging import (
    EVERYWHERE,
    Bench,
    Do,
    bench,
    commit_resync,
    idle,
    new_log,
)
from tests.virtual_time import virtually


def wanting(*effects: Do, reason: str = "Working") -> Decision[Do]:
    return Decision(effects, reason)


class TestRestore:
    """Nothing is decided before everything that exists has been published."""

    @virtually
    async def test_a_stage_decides_when_the_last_partition_is_complete_and_each_key_once(
        self,
    ) -> None:
        async with bench() as it:
            await it.say(present("a"), present("b"), present("b", version=2, size=2))
            for partition in EVERYWHERE[:-1]:
                await it.say(synced(), to=partition)
            assert not it.is_live()
            assert it.stage.decided == []
            await it.say(synced(), to=EVERYWHERE[-1])
            assert it.is_live()
            assert sorted(it.stage.decided) == ["a", "b"]

    @virtually
    async def test_a_comparison_completes_no_restore(self) -> None:
        async with bench() as it:
            await it.say(present("a"))
            await it.sync(full=False)
            assert not it.is_live()

    @virtually
    async def test_a_restore_reads_from_the_newest_complete_resync_however_old_the_log(
        self,
    ) -> None:
        log = await new_log()
        for version in range(1, 2001):
            await log.produce([record(present("old", version=version), RESOURCES_0)])
        began_at = await log.end_offsets(EVERYWHERE)
        now = epoch(2)
        await log.produce([record(present("new", version=3000, at=now), RESOURCES_0)])
        await log.produce([record(synced(at=now), each) for each in EVERYWHERE])
        await commit_resync(log, began_at)
        async with bench(log=log) as it:
            await it.settle()
            assert it.stage.decided == ["new"]
            assert it.runtime.metrics.value("millrace_records_read_total") == 1 + len(EVERYWHERE)

    @virtually
    async def test_a_restore_decides_on_nothing_older_than_the_end_of_the_log(self) -> None:
        """Its resync may be an hour old: what was done since would be done again."""
        log = await new_log()
        await log.produce([record(present("a"), EVERYWHERE[-1])])
        await log.produce([record(synced(), each) for each in EVERYWHERE])
        newest = 2 * BATCH_RECORDS_MAX + 1
        for version in range(2, newest + 1):
            await log.produce([record(present("a", version=version, size=version), EVERYWHERE[-1])])
        decided_on = []

        def note(_key: str, entry: Entry | None) -> Decision[Do]:
            assert entry is not None
            decided_on.append(entry.resource_version)
            return Decision((), "Working")

        async with bench(note, log=log) as it:
            await it.settle()
            assert it.is_live()
        assert decided_on == [newest]

    @virtually
    async def test_an_emptied_log_is_waited_for_and_decides_nothing(self) -> None:
        async with bench() as it:
            await it.say(present("a"))
            await it.sync()
            it.forget()
            await it.log.empty()
            await it.settle(60)
            assert it.stage.decided == []
            assert [entry.name for entry in it.runner.table.of_kind("Service")] == ["a"]

    @virtually
    async def test_a_later_full_resync_decides_every_key_once_more(self) -> None:
        async with bench() as it:
            await it.say(present("a"), present("b"))
            await it.sync()
            it.forget()
            await it.say(present("a", at=epoch(2)), present("b", at=epoch(2)))
            await it.sync(epoch(2), full=False)
            assert it.stage.decided == []
            await it.sync(epoch(2))
            assert sorted(it.stage.decided) == ["a", "b"]

    @virtually
    async def test_the_emptied_table_of_another_cluster_is_not_decided_on(self) -> None:
        async with bench() as it:
            await it.say(present("a"), present("b"))
            await it.sync()
            it.forget()
            other = epoch(incarnation=2, cluster="cluster-b")
            await it.say(present("c", at=other))
            assert not it.is_live()
            assert it.stage.decided == []
            await it.sync(other)
            assert it.stage.decided == ["c"]

    @virtually
    async def test_a_record_that_cannot_be_read_is_counted_and_skipped(self) -> None:
        async with bench() as it:
            good = record(present("a"), RESOURCES_0)
            await it.log.produce(
                [
                    NewRecord(RESOURCES_0, good.key, b"{", good.headers),
                    NewRecord(RESOURCES_0, good.key, good.value, ()),
                    NewRecord(RESOURCES_0, good.key, b'{"kind": "Service"}', good.headers),
                    good,
                ]
            )
            await it.sync()
            assert it.stage.decided == ["a"]
            assert it.runtime.metrics.value("millrace_records_malformed_total") == 3

    @virtually
    async def test_a_record_of_another_schema_or_of_another_key_is_skipped(self) -> None:
        """Both were written by somebody else than the watch-ingest of this release."""
        async with bench() as it:
            good = record(present("a"), RESOURCES_0)
            newer = tuple(
                (name, b"2" if name == "ce_dataschemaversion" else value)
                for name, value in good.headers
            )
            await it.log.produce(
                [
                    NewRecord(RESOURCES_0, good.key, good.value, newer),
                    NewRecord(RESOURCES_0, b"Service/ns/b", good.value, good.headers),
                    NewRecord(RESOURCES_0, b"", b"", ()),
                ]
            )
            await it.sync()
            assert len(it.runner.table) == 0
            assert it.runtime.metrics.value("millrace_records_malformed_total") == 2

    @virtually
    async def test_an_object_that_cannot_be_indexed_stops_nobody_and_leaves_no_trace(self) -> None:
        """It is as if it had not been said: what is reported of it later counts."""
        indexes = {"by-color": lambda entry: [entry.data["color"]]}
        async with bench(indexes=indexes) as it:
            await it.say(present("a", color="red"), present("b"), present("c", color="red"))
            await it.sync()
            assert sorted(it.stage.decided) == ["a", "c"]
            await it.say(present("a", version=2), present("a", version=2, uid="other"))
            await it.say(present("b", version=2, color="blue"), present("a", version=3, color="x"))
            named = {c: [e.name for e in it.runner.table.by("by-color", c)] for c in ("red", "x")}
            assert named == {"red": ["c"], "x": ["a"]}
            assert it.runtime.metrics.value("millrace_crashes_total", where="table") == 3
            assert it.runner.table.get("Service", "ns", "b") is not None

    @virtually
    async def test_facts_of_kinds_that_the_stage_does_not_read_are_skipped(self) -> None:
        async with bench() as it:
            await it.say(present("p", kind="Pod"), present("a"))
            await it.sync()
            assert list(it.runner.table.of_kind("Pod")) == []
            assert it.stage.decided == ["a"]


async def live(it: Bench) -> None:
    """One object, restored, with counting begun again."""
    await it.say(present("a", spec={"n": 1}))
    await it.sync()
    it.forget()


class TestCoalescing:
    """A key is decided once for many changes."""

    @virtually
    async def test_a_batch_of_facts_leads_to_one_decision_of_each_key(self) -> None:
        async with bench() as it:
            await live(it)
            await it.say(*(present("a", version=v, size=v) for v in range(2, 102)))
            assert it.stage.decided == ["a"]

    @virtually
    async def test_the_observations_of_1500_own_writes_lead_to_one_more_decision(self) -> None:
        wished = tuple(Do("a", number) for number in range(1500))

        def decide(_key: str, entry: Entry | None) -> Decision[Do]:
            done = entry is not None and entry.data.get("written", 0) == 1500
            return wanting() if done else wanting(*wished)

        written = 0

        async def write(_key: str, _effect: Do) -> str:
            nonlocal written
            await asyncio.sleep(0.001)
            written += 1
            it.runner.table.observe(
                "Service",
                "ns",
                "a",
                uid="uid-a",
                resource_version=1000 + written,
                data={"written": written},
            )
            return "created"

        async with bench(decide, write) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(5)
            assert len(it.stage.carried_out) == 1500
            assert len(it.stage.decided) == 2

    @virtually
    async def test_effects_of_one_decision_run_side_by_side_up_to_the_bound(self) -> None:
        now, most = 0, 0

        async def count(_key: str, _effect: Do) -> str:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(1)
            now -= 1
            return "done"

        async with bench(lambda _k, _e: wanting(*(Do("x", n) for n in range(80))), count) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(10)
            assert most == 32
            assert len(it.stage.carried_out) == 80


class TestFence:
    """An older decision is not carried on."""

    @virtually
    async def test_a_newer_input_stops_what_has_not_begun(self) -> None:
        async def slowly(_key: str, _effect: Do) -> str:
            await asyncio.sleep(1)
            return "done"

        def decide(_key: str, entry: Entry | None) -> Decision[Do]:
            assert entry is not None
            if entry.data["spec"] == {"n": 2}:
                return wanting(Do("new"))
            return wanting(*(Do("old", number) for number in range(100)))

        async with bench(decide, slowly) as it:
            await it.say(present("a", spec={"n": 1}))
            await it.sync()
            await it.settle(0.5)
            await it.say(present("a", version=2, spec={"n": 2}))
            await it.settle(10)
            old = [effect for effect in it.stage.carried_out if effect.name == "old"]
            assert len(old) == 32, "those in flight end, the others never begin"
            assert it.stage.carried_out[-1] == Do("new")

    @virtually
    async def test_a_change_that_is_no_input_stops_nothing(self) -> None:
        async def slowly(_key: str, _effect: Do) -> str:
            await asyncio.sleep(1)
            return "done"

        def decide(_key: str, entry: Entry | None) -> Decision[Do]:
            assert entry is not None
            many = tuple(Do("x", number) for number in range(100))
            return wanting(*many) if "status" not in entry.data else idle("", None)

        async with bench(decide, slowly) as it:
            await it.say(present("a", spec={"n": 1}))
            await it.sync()
            await it.settle(0.5)
            await it.say(present("a", version=2, spec={"n": 1}, status=1))
            await it.settle(10)
            assert len(it.stage.carried_out) == 100

    @virtually
    async def test_an_effect_that_finds_newer_input_stops_the_others_and_decides_again(
        self,
    ) -> None:
        async def find_newer(_key: str, effect: Do) -> str:
            await asyncio.sleep(0.5 if effect.number == 0 else 1)
            if effect.number == 0:
                raise Superseded("newer")
            return "done"

        many = tuple(Do("x", number) for number in range(64))
        rounds = 0

        def decide(_key: str, _entry: Entry | None) -> Decision[Do]:
            nonlocal rounds
            rounds += 1
            return wanting(*many) if rounds == 1 else wanting()

        async with bench(decide, find_newer) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(10)
            assert rounds == 2
            assert len(it.stage.carried_out) == 31

    @virtually
    async def test_a_stop_lets_effects_in_flight_end_and_begins_no_other(self) -> None:
        async def slowly(_key: str, _effect: Do) -> str:
            await asyncio.sleep(5)
            return "done"

        many = tuple(Do("x", number) for number in range(64))
        async with bench(lambda _k, _e: wanting(*many), slowly) as it:
            await it.say(present("a"))
            await it.sync()
            it.runtime.stopping.set()
        assert len(it.stage.carried_out) == 32


class TestFailures:
    """Each effect and each key fails on its own."""

    @virtually
    async def test_a_failing_effect_backs_off_while_others_go_on(self) -> None:
        tried: list[float] = []
        loop = asyncio.get_running_loop()

        async def fail_some(_key: str, effect: Do) -> str:
            if effect.name == "bad":
                tried.append(loop.time())
                raise Transient("away")
            return "done"

        def decide(_key: str, _entry: Entry | None) -> Decision[Do]:
            return wanting(Do("bad"), *(() if it.stage.carried_out else (Do("good"),)))

        async with bench(decide, fail_some) as it:
            await live(it)
            await it.say(present("a", version=2, spec={"n": 1}, size=1))
            assert Do("good") in it.stage.carried_out
            await it.settle(200)
            pauses = [after - before for before, after in pairwise(tried)]
            assert 5 < len(tried) < 20
            assert pauses[-1] > 20
            assert all(pause <= 60.1 for pause in pauses)

    @virtually
    async def test_a_server_that_names_a_time_is_asked_no_sooner(self) -> None:
        tried: list[float] = []
        loop = asyncio.get_running_loop()

        async def refuse_once(_key: str, _effect: Do) -> str:
            tried.append(loop.time())
            if len(tried) == 1:
                raise Transient("429", retry_after_s=17)
            return "done"

        def decide(_key: str, _entry: Entry | None) -> Decision[Do]:
            return wanting() if it.stage.carried_out else wanting(Do("x"))

        async with bench(decide, refuse_once) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(60)
            assert len(tried) == 2
            assert tried[1] - tried[0] >= 17

    @virtually
    async def test_a_refused_effect_is_tried_as_seldom_as_anything(self) -> None:
        tried: list[float] = []
        loop = asyncio.get_running_loop()

        async def refuse(_key: str, _effect: Do) -> str:
            tried.append(loop.time())
            raise Rejected(422, "Invalid", "no", {})

        async with bench(lambda _k, _e: wanting(Do("x")), refuse) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(120)
        assert 2 <= len(tried) <= 5
        assert tried[1] - tried[0] >= 30

    @virtually
    async def test_what_is_not_allowed_is_tried_again_soon(self) -> None:
        """An API server that has just started allows nothing until it has read its roles."""
        tried: list[float] = []
        loop = asyncio.get_running_loop()

        async def refuse(_key: str, _effect: Do) -> str:
            tried.append(loop.time())
            raise NotAllowed(403, "Forbidden", "no", {})

        async with bench(lambda _k, _e: wanting(Do("x")), refuse) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(4)
            assert len(tried) >= 4
            await it.settle(600)
        assert len(tried) < 40

    @virtually
    async def test_a_bad_object_delays_only_its_own_key(self) -> None:
        async with bench() as it:
            await it.say(present("bad", poison=True), present("good"))
            await it.sync()
            assert it.stage.decided == ["good"]
            await it.say(present("good", version=2, size=2))
            assert it.stage.decided == ["good", "good"]
            await it.say(present("bad", version=2, poison=False))
            await it.settle(5)
            assert it.stage.decided == ["good", "good", "bad"]
            assert it.runtime.metrics.value("millrace_crashes_total", where="key") >= 1

    @virtually
    async def test_a_defect_in_an_effect_is_counted_and_tried_again(self) -> None:
        rounds = 0

        async def crash_once(_key: str, _effect: Do) -> str:
            nonlocal rounds
            rounds += 1
            if rounds == 1:
                raise ZeroDivisionError
            return "done"

        def decide(_key: str, _entry: Entry | None) -> Decision[Do]:
            return wanting() if it.stage.carried_out else wanting(Do("x"))

        async with bench(decide, crash_once) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(5)
            assert rounds == 2
            assert it.runtime.metrics.value("millrace_crashes_total", where="effect") == 1


class TestWaking:
    """What no fact wakes."""

    @virtually
    async def test_a_key_is_decided_again_at_its_time(self) -> None:
        loop = asyncio.get_running_loop()
        at: list[float] = []

        def decide(_key: str, _entry: Entry | None) -> Decision[Do]:
            at.append(loop.time())
            now = it.runtime.clock.now()
            return Decision((), "Waiting", requeue_at=now + 30 if len(at) == 1 else None)

        async with bench(decide) as it:
            await it.say(present("a"))
            await it.sync()
            await it.settle(100)
        assert len(at) == 2
        assert 30 <= at[1] - at[0] < 31

    @virtually
    async def test_a_result_under_a_kind_of_the_stage_wakes_its_key(self) -> None:
        async with bench() as it:
            await live(it)
            it.stage.wiring.table.observe(
                "Plan", "ns", "a", uid="digest", resource_version=1, data={"plan": 1}
            )
            await it.settle()
            assert it.stage.decided == ["a"]
            await it.sync(epoch(2))
            await it.sync(epoch(3))
            assert it.runner.table.get("Plan", "ns", "a") is not None

    @virtually
    async def test_the_key_of_a_deleted_object_is_decided(self) -> None:
        async with bench() as it:
            await live(it)
            await it.say(gone("a", version=2))
            assert it.stage.decided == ["a"]


class TestDecisionRecords:
    """A decision is reported when it had effects or its reason changed."""

    @virtually
    async def test_effects_and_new_reasons_are_reported_and_repetitions_are_not(self) -> None:
        def decide(_key: str, entry: Entry | None) -> Decision[Do]:
            size = entry.data.get("size") if entry else None
            if size == 3:
                return wanting(Do("x", 3), reason="Changing")
            return idle("", None)

        async with bench(decide) as it:
            await live(it)
            for size in (1, 2, 3):
                await it.say(present("a", version=10 + size, spec={"n": 1}, size=size))
            await it.say(present("a", version=20, spec={"n": 1}, size=4))
            said = await it.decisions()
        assert [each["reason"] for each in said] == [
            "NothingToChange",
            "Changing",
            "NothingToChange",
        ]
        whole = {"name": "x", "number": 3}
        assert said[1]["effects"] == [
            {"name": "Do", "subject": "x", "outcome": "done", "value": whole}
        ]
        assert said[1]["decided"]["count"] == 1
        assert said[1]["key"] == "a"
        assert said[1]["cause"] == "e"

    @virtually
    async def test_a_look_that_finds_everything_as_it_should_be_is_no_news(self) -> None:
        async def look(_key: str, _effect: Do) -> str:
            return "existed"

        async with bench(lambda _k, _e: wanting(Do("x")), look) as it:
            await live(it)
            for version in range(2, 6):
                await it.say(present("a", version=version, size=version))
            assert len(it.stage.carried_out) > 3
            said = await it.decisions()
        assert len(said) == 1

    @virtually
    async def test_a_log_that_takes_no_records_stops_no_decision(self) -> None:
        async with bench(lambda _k, _e: wanting(Do("x"))) as it:
            await live(it)
            await it.settle(2 * GATHER_S)
            produce, it.log.produce = it.log.produce, _refuse  # type: ignore[method-assign, assignment]
            await produce([record(present("a", version=2, spec={"n": 1}, size=2), RESOURCES_0)])
            await it.settle(2 * GATHER_S)
            assert it.stage.carried_out == [Do("x")]
            metrics = it.runtime.metrics
            assert metrics.value("millrace_decisions_dropped_total") == 1
            assert metrics.value("millrace_observations_dropped_total") == 0
            it.runner.table.observe_gone(("Service", "ns", "b"), "u")
            it.runner.table.observe_gone(("Service", "ns", "c"), "u")
            await it.settle(2 * GATHER_S)
            assert metrics.value("millrace_decisions_dropped_total") == 1
            assert metrics.value("millrace_observations_dropped_total") == 2
            it.log.produce = produce  # type: ignore[method-assign]

    @virtually
    async def test_an_observation_that_no_record_takes_leaves_a_gap_and_stops_nothing(self) -> None:
        async with bench() as it:
            await live(it)
            it.runner.table.observe(
                "Service", "ns", "a", uid="u", resource_version=9, data={"size": 2**64}
            )
            it.runner.table.observe_gone(("Service", "ns", "b"), "u")
            await it.settle()
            *_, huge, gone = await it.observations()
        assert (huge.what, list(huge.content)) == ("object", ["unwritten"])
        assert (gone.what, gone.number) == ("gone", huge.number + 1)
        assert it.runtime.metrics.value("millrace_observations_dropped_total") == 1


async def _refuse(_records: object) -> None:
    raise OSError("disk full")
