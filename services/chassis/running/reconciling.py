"""Runs a stage: facts → table → snapshot → decide → effects → decision record.

    await StageRunner(make_stage, runtime).run()

returns when `runtime.stopping` is set and the effects in flight are done. How one effect is carried
out, with back-off and fence, is in `carrying_out.py`; which key runs when, in `work_queue.py`.

1. A batch of facts enters the table as a whole; each change makes keys dirty.
2. Nothing is decided before the restore is complete; then every key is dirty once.
3. A dirty key: snapshot, decide, effects side by side; 1500 of them make it dirty once, at the end.
4. After a costly decision without effects the key rests, so that its facts coalesce.
5. An exception concerns its key only: it is logged, counted and backed off.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contracts.facts import SyncCompleted
from contracts.unreadable import ObjectUnreadable
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Partition
from services.chassis.process.backoff import Backoffs
from services.chassis.process.collecting import Freezing
from services.chassis.process.errors import Superseded
from services.chassis.process.log_lines import log_of
from services.chassis.process.tracing import NO_CAUSE, Cause, cause_of, caused_by
from services.chassis.process.waking import Wakefulness
from services.chassis.running.carrying_out import CarryingOut
from services.chassis.running.confirming import confirm_own_writes
from services.chassis.running.crashes import RULES_AGAIN_S, Crashes
from services.chassis.running.effect_spans import decision_span
from services.chassis.running.leading import Leadership, Leading, PreparesToLead, list_again
from services.chassis.running.observations import Observed, ObservingTable
from services.chassis.running.own_part import OwnPart
from services.chassis.running.recording import MadeOf, Recorder, remember
from services.chassis.running.stage import views_of
from services.chassis.running.stage_times import StageTimes
from services.chassis.running.wiring import MakeStage, Runtime, Wiring
from services.chassis.running.work_queue import KEYS_IN_FLIGHT_MAX, WorkQueue
from services.chassis.table.entries import Change, Entry
from services.chassis.table.noting import NotedReading
from services.chassis.table.reading import FactReader, FactRecord
from services.chassis.table.restoring import Restore
from services.chassis.table.sharing import Part, Subscription
from services.chassis.table.tombstones import Ref
from services.chassis.table.viewing import Views

EFFECTS_IN_FLIGHT_MAX = 32
COSTLY_DECISION_S = 0.0005
REST_PER_SPENT = 19
REST_S_MAX = 0.25
"""Deciding a key with 500 children takes some milliseconds. The rest limits that to a twentieth of
a core."""


class StageRunner:
    """One stage in one event loop; several may share a loop, a log and a transport."""

    def __init__(
        self,
        make_stage: MakeStage,
        runtime: Runtime,
        *,
        settings: Mapping[str, Any] | None = None,
        effects_in_flight_max: int = EFFECTS_IN_FLIGHT_MAX,
        keys_in_flight_max: int = KEYS_IN_FLIGHT_MAX,
        leadership: Leadership | None = None,
    ) -> None:
        self._runtime = runtime
        self._recorder = Recorder(runtime, settings or {})
        self._observations = self._recorder.observations
        self.table = ObservingTable(self._observations.enter)
        self._writer = self._new_writer()
        self._wakefulness = Wakefulness(runtime.clock, self._note_slept)
        self._has_slept, self._went_live = asyncio.Event(), asyncio.Event()
        self._work: WorkQueue[Hashable] = WorkQueue(
            self._reconcile, clock=runtime.clock, keys_in_flight_max=keys_in_flight_max
        )
        self.stage = make_stage(self._new_wiring())
        self._freezing = Freezing(runtime.freeze)
        self._views = self._new_views()
        self.table.declare_indexes(self.stage.indexes)
        self._own = OwnPart(self.stage, self.table, runtime.topics, runtime.shares, self._note_bad)
        self._times = StageTimes(runtime.metrics, runtime.clock)
        self.table.on_observation = self._note_written
        self._restore = Restore(self._own.sharing)
        self._failing: Backoffs[Hashable] = Backoffs(runtime.random)
        self._carrying_out = CarryingOut(
            self.stage,
            self.table,
            runtime,
            is_marked=self._work.is_dirty,
            is_abandoned=self._work.is_abandoned,
            effects_in_flight_max=effects_in_flight_max,
        )
        self._crashes, self._log = Crashes(self.stage, self.stage.name), log_of(self.stage.name)
        self._causes: OrderedDict[Hashable, Cause] = OrderedDict()
        self._leading = self._new_leading(leadership) if leadership is not None else None

    def _new_writer(self) -> Writer:
        return Writer(
            self._runtime.kube,
            self.table,
            component=self._runtime.service,
            now=self._runtime.clock.now,
            require_awake=self._require_awake,
        )

    def _new_wiring(self) -> Wiring:
        return Wiring(
            self.table,
            self._writer,
            self._runtime,
            self._wake,
            self._observations.enter,
            self._catch_up,
        )

    def _new_views(self) -> Views:
        views, kept = views_of(self.stage), self._freezing.note_kept
        return Views(self.table, views, self._note_fold_crashed, kept)

    def _new_leading(self, leadership: Leadership) -> Leading:
        return Leading(
            self._runtime,
            leadership,
            prepare=self._prepare_to_lead,
            begin=self._begin_to_lead,
            end=self._end_leading,
        )

    @property
    def is_live(self) -> bool:
        """Whether the restore is complete, so that decisions are taken."""
        return self._restore.is_live

    @property
    def is_idle(self) -> bool:
        """Whether no key runs or waits in line (timers may be set)."""
        return self._work.is_idle

    async def run(self) -> None:
        """Run until `runtime.stopping` is set and the effects in flight are done."""
        bus, topics = self._runtime.bus, self._runtime.topics
        await bus.ensure_topics(topics.counts())
        reader = FactReader(
            bus,
            topics.prefix,
            self._own.sharing,
            take=self._take,
            assign=self._assign,
            begin=self._observations.begin_reading,
            catch_up=self._note_all_read,
            metrics=self._runtime.metrics,
        )
        async with asyncio.TaskGroup() as group:
            behind = [
                group.create_task(reader.run()),
                group.create_task(self._recorder.log.run()),
                group.create_task(
                    confirm_own_writes(self.table, self._writer, self._runtime.clock)
                ),
                group.create_task(self._wakefulness.run()),
                group.create_task(self._catch_up_after_sleep(reader)),
            ]
            if self._leading is not None:
                behind.append(group.create_task(self._leading.run()))
            await self._work.run(self._runtime.stopping)
            for task in behind:
                task.cancel()
        if self._leading is not None:
            await self._leading.release()
        await self._recorder.log.flush()

    # ------------------------------------------------------------------ facts

    async def _take(self, batch: Sequence[FactRecord]) -> None:
        """Apply a batch of facts without an await in between, so that its changes coalesce."""
        for record in batch:
            cause = cause_of(record.envelope)
            changes = self._applied(record)
            self._observations.note_read(record.partition, record.offset)
            if self.is_live:  # facts of a restore are old
                self._times.note_read(record)
            # Before any key is marked: an emptied table must not look like a deleted cluster.
            self._restore.follow_cluster(self.table.cluster_uid)
            for change in changes:
                self._mark_changed(change, cause)
            if isinstance(record.fact, SyncCompleted) and self.table.is_newest(
                record.fact, record.partition
            ):
                self._note_completed(record.fact, record.partition, cause)
        self._freezing.note_kept(len(batch))
        self._show_state()
        if self.is_live and not self._is_led:
            await self._catch_up()  # who stands by decides nothing, and would note for ever

    def _applied(self, record: FactRecord) -> Sequence[Change]:
        """The changes that a record causes; one whose object cannot be indexed causes none."""
        try:
            return self.table.apply(record.fact, record.partition)
        except Exception:  # noqa: BLE001 - a bad object must not stop the reading of others
            self._runtime.metrics.count("millrace_crashes_total", where="table")
            self._log.exception("fact_crashed", key=record.fact.key)
            return ()

    async def _catch_up(self) -> None:
        await self._views.catch_up()

    def _note_fold_crashed(self, ref: Ref) -> None:
        self._runtime.metrics.count("millrace_crashes_total", where="reading")
        self._log.exception("reading_crashed", object="/".join(ref))

    def _show_state(self) -> None:
        metrics = self._runtime.metrics
        metrics.set_gauge("millrace_live", float(self.is_live))
        metrics.set_gauge("millrace_table_entries", len(self.table))
        metrics.set_gauge("millrace_keys_waiting", self._work.dirty_count)

    def _note_completed(self, sync: SyncCompleted, partition: Partition, cause: Cause) -> None:
        was_live = self._restore.is_live
        self._mark_completed(self._restore.note_completed(sync, partition), was_live, cause)

    def _note_all_read(self, partition: Partition) -> None:
        was_live = self._restore.is_live
        self._mark_completed(self._restore.note_all_read(partition), was_live, None)
        self._show_state()

    def _mark_completed(
        self, completed: frozenset[Part], was_live: bool, cause: Cause | None
    ) -> None:
        """Mark every key of the completed partitions dirty once."""
        if not completed:
            return
        if self._restore.is_live and not was_live:
            self._log.info("live", entries=len(self.table))
            self._went_live.set()
        self._runtime.metrics.count("millrace_resyncs_completed_total")
        keys = self.stage.all_keys(self.table)
        self._mark_all((key for key in keys if self._own.part_of(key) in completed), cause)

    def _note_written(self, change: Change) -> None:
        """The answer to a write of ours is an observation like any other."""
        self._times.note_write(change)
        self._mark_changed(change)

    def _mark_changed(self, change: Change, cause: Cause | None = None) -> None:
        """Mark the keys that a change wakes; nobody is woken during the restore."""
        if not self._restore.is_any_live:
            return
        self._mark_all(self._own.keys_of(change), cause)

    def _note_bad(self, entry: Entry) -> None:
        self._runtime.metrics.count("millrace_crashes_total", where="keys")
        self._log.exception("keys_crashed", object="/".join(entry.ref))

    def _mark_all(self, keys: Iterable[Hashable], cause: Cause | None) -> None:
        for key in keys:
            if not self._is_decided_here(key):
                continue
            if cause is not None:
                of_trace = cause if cause.trace_id else self._causes.get(key, NO_CAUSE)
                remember(self._causes, key, replace(of_trace, event_id=cause.event_id))
                self._times.note_marked(key)
            self._work.add(key)

    def _wake(self, key: Hashable) -> None:
        if self._is_decided_here(key):
            self._work.add(key)

    # ------------------------------------------------------------------ after a sleep

    def _note_slept(self, for_s: float) -> None:
        """Other instances may have acted: nothing is decided before their writes are read."""
        self._log.warning("slept", for_s=round(for_s, 1))
        self._observations.enter(Observed.SLEPT, {"forSeconds": round(for_s, 1)})
        self._runtime.metrics.count("millrace_sleeps_total")
        self._restore.doubt()
        self._work.abandon(lambda _: True)
        self._has_slept.set()

    async def _catch_up_after_sleep(self, reader: FactReader) -> None:
        while True:
            await self._has_slept.wait()
            self._has_slept.clear()  # before: who sleeps again meanwhile asks for the ends again
            await reader.catch_up_again()

    def _require_awake(self) -> None:
        self._wakefulness.look()
        if self._restore.is_doubted:
            raise Superseded("this process slept, and reads first what was done meanwhile")
        if not self._is_led:
            raise Superseded("another instance decides now")

    # ------------------------------------------------------------------ one instance at a time

    async def _prepare_to_lead(self, kinds: Iterable[str]) -> None:
        await self._went_live.wait()
        for kind in kinds:
            await list_again(self._runtime, self.table, self._writer, kind)

    def _end_leading(self) -> None:
        self._observations.enter(Observed.LEADS_NO_MORE, {})
        self._work.abandon(lambda _: True)

    def _begin_to_lead(self) -> None:
        self._observations.enter(Observed.LEADS, {})
        if isinstance(self.stage, PreparesToLead):
            self.stage.begin_to_lead()
        self._mark_all(self.stage.all_keys(self.table), None)

    # ------------------------------------------------------------------ this instance's part

    def _assign(self, subscription: Subscription) -> None:
        """Take over new partitions; drop the keys and entries of the lost ones."""
        self._observations.assign(subscription)
        self._restore.assign(subscription)
        lost = self._own.assign(subscription)
        if lost:
            self._work.abandon(lambda key: self._own.part_of(key) in lost)
        self._log.info("assigned", partitions=len(self._own.partitions), left=len(lost))

    @property
    def _is_led(self) -> bool:
        """Whether this instance decides, where one does at a time."""
        return self._leading is None or self._leading.is_leading

    def _is_decided_here(self, key: Hashable) -> bool:
        return self._is_led and self._restore.is_decided(self._own.part_of(key))

    # ------------------------------------------------------------------ one key

    async def _reconcile(self, key: Hashable) -> float | None:
        """Decide and carry out once; returns the unix time at which to reconcile again, or None."""
        self._show_state()  # each key when it leaves the queue: the last one leaves it empty
        if not self._is_decided_here(key):
            return None
        waiting_until = self._failing.waiting_until(key, self._runtime.clock.now())
        if waiting_until is not None:
            return waiting_until
        with caused_by(self._causes.get(key, NO_CAUSE)):
            try:
                next_look_at = await self._decide_and_carry_out(key)
            except ObjectUnreadable as problem:
                # What runs stays as it is, and the next version of the object wakes the key.
                self._runtime.metrics.count("millrace_unreadable_inputs_total")
                self._log.warning("key_rests", key=str(key), problem=problem.why)
                await self._crashes.note_unreadable(key, problem.why)
                return None
            except Exception as defect:  # noqa: BLE001 - a bad object delays only its own key
                self._runtime.metrics.count("millrace_crashes_total", where="key")
                is_of_rules = await self._crashes.note_crashed(key, defect)
                now = self._runtime.clock.now()
                return now + RULES_AGAIN_S if is_of_rules else self._failing.mark_failed(key, now)
        self._failing.mark_succeeded(key)
        return next_look_at

    async def _decide_and_carry_out(self, key: Hashable) -> float | None:
        await self._catch_up()
        if not self._is_decided_here(key):
            return None
        began_s = self._times.note_begun(key)
        table, now = NotedReading(self.table), self._runtime.clock.now()
        # What arrives while effects are carried out is often their own doing, and no cause.
        position, cause = self._observations.position, self._causes.get(key, NO_CAUSE)
        snapshot = self.stage.snapshot(table, key)
        made_of = MadeOf(now, position, table.entries, self._views.digest)
        decision = self.stage.decide(snapshot, now)
        decided_s = self._times.note_decided(began_s)
        with decision_span(self._runtime, self.stage, key, decision, began_at=now):
            carried_out = await self._carrying_out.run(key, snapshot, decision)
        if carried_out.outcomes:
            self._times.note_carried_out(decided_s)
        if carried_out.decide_again:
            self._work.add(key)
        self._recorder.record(key, self.stage.subject(key), decision, made_of, carried_out, cause)
        await self._crashes.note_run(key, decision.effects, carried_out)
        if not carried_out.outcomes:
            await self._rest(decided_s - began_s)
        times = [each for each in (decision.requeue_at, carried_out.retry_at) if each is not None]
        return min(times) if times else None

    async def _rest(self, spent_s: float) -> None:
        """After a costly decision that nothing came of, let news of its key gather."""
        if spent_s > COSTLY_DECISION_S:
            await self._runtime.clock.sleep(min(REST_S_MAX, REST_PER_SPENT * spent_s))
