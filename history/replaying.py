"""Replays a log or a recording: its facts and observations through the cores of this release.

    async with replayed(source, options) as replay:
        async for step in replay.steps():
            ...

1. The starts of instances and their decisions are found (`starts.py`).
2. Each start gets its stage and an empty table; the decisions of all of them come by their time.
3. Before a decision the facts and observations of its position are applied; then today's code makes
   the snapshot and decides, at the recorded time.
4. Both decisions are compared (`comparing.py`). Behind a gap all that its start decided is unknown.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from history.comparing import Again, Compared, again_of, compared, unknown
from history.differing import Changes, changes_between
from history.entries import Decided, Place
from history.facts import SourceFacts
from history.sources import Bounds, Source, manifest_of
from history.stages import SettingsRefused, stage_of, unknown_settings
from history.starts import (
    DecisionsAt,
    Due,
    Found,
    StartFound,
    find_starts,
    observations_of,
)
from services.chassis.running.replaying import ReplayFailed, Replica
from services.roster import BY_NAME, DECIDING

SNAPSHOTS_KEPT_MAX = 1_000
"""Snapshots of keys, to show what changed since the decision before."""
FACTS_OF_DECISION = 500
"""A decision may leave cycles behind: the collector looks for them as after so many facts."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which decisions are replayed; an empty field admits all.

    `has_changes`: what changed in the snapshot since the decision before of the same key.
    """

    service: str = ""
    namespace: str = ""
    job: str = ""
    has_changes: bool = True

    def admits(self, entry: Decided) -> bool:
        """Whether a decision is replayed."""
        if self.service and entry.decision.service != self.service:
            return False
        return not self.job or (entry.namespace, entry.job) == (self.namespace, self.job)


@dataclass(frozen=True, slots=True)
class Step:
    """One decision of a replay: `number` counts from 1.

    `again` is None where it could not be made. `changes` None: it is the first one of its key, or
    they were not requested.
    """

    number: int
    recorded: Decided
    again: Again | None
    compared: Compared
    changes: Changes | None = None

    @property
    def place(self) -> Place:
        """Where the recorded decision is."""
        return self.recorded.place


@dataclass
class _Running:
    """A start whose decisions are made again; `failed` is why no more of them can be."""

    found: StartFound
    replica: Replica | None = None
    failed: str = ""
    next: int = 0
    before: OrderedDict[str, Any] = field(default_factory=OrderedDict)

    @property
    def due(self) -> Due | None:
        """The next decision."""
        decisions = self.found.decisions
        return decisions[self.next] if self.next < len(decisions) else None


class Replay:
    """One replay of a source; `found` says what it has."""

    def __init__(
        self,
        source: Source,
        bounds: Mapping[str, Bounds],
        found: Found,
        wanted: Wanted,
        freeze: Callable[[], None],
    ) -> None:
        self.found, self._freeze = found, freeze
        self._source, self._bounds, self._wanted = source, bounds, wanted
        self._manifest = manifest_of(source)
        self._has_digests = self._manifest is None or not self._manifest.redacted

    @property
    def starts(self) -> list[StartFound]:
        """The starts that decided something that is wanted."""
        return [each for each in self.found.starts.values() if each.decisions]

    @property
    def count(self) -> int:
        """How many decisions there are."""
        return sum(len(each.decisions) for each in self.starts)

    def lacking(self) -> list[str]:
        """What the manifest says that is missing: gaps, and decisions of each start, in words."""
        if self._manifest is None:
            return []
        gaps = [
            f"records {each.first} to {each.end - 1} of {each.partition}: {each.why}"
            if each.end > each.first
            else f"{each.partition}: {each.why}"
            for each in self._manifest.gaps
        ]
        if self._wanted.service or self._wanted.job:
            return gaps
        counted = {
            (each.service, each.instance, each.start): len(each.decisions)
            for each in self.found.starts.values()
        }
        for kept in self._manifest.starts:
            count = counted.get((kept.service, kept.instance, kept.start), 0)
            if count != kept.decisions:
                gaps.append(
                    f"{kept.service}, start {kept.start}: {kept.decisions} decisions were "
                    f"recorded, and the file has {count}"
                )
        return gaps

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Every decision by its time, and in the order of its start; from the beginning."""
        async with AsyncExitStack() as open_ones:
            facts = SourceFacts(self._source, self._bounds, open_ones, self._freeze)
            decisions = DecisionsAt(self._source, self._bounds, self.found, open_ones)
            heads = [(each.decisions[0].now, each.name, _Running(each)) for each in self.starts]
            heapq.heapify(heads)
            number = 0
            while heads:
                now, name, running = heapq.heappop(heads)
                due = running.due
                assert due is not None
                number += 1
                recorded = await decisions.take(due.place)
                yield await self._step(number, running, recorded, facts, open_ones)
                facts.note_kept(FACTS_OF_DECISION)
                running.next += 1
                if running.due is not None:
                    heapq.heappush(heads, (max(now, running.due.now), name, running))
                elif running.replica is not None:
                    running.replica.close()

    async def _step(
        self,
        number: int,
        running: _Running,
        recorded: Decided,
        facts: SourceFacts,
        open_ones: AsyncExitStack,
    ) -> Step:
        try:
            if running.failed:
                raise ReplayFailed(running.failed)
            if running.replica is None:
                running.replica = self._replica(running.found, facts, open_ones)
            again = await _again(running.replica, recorded)
        except (ReplayFailed, SettingsRefused) as problem:
            running.failed, running.replica = str(problem), None
            return Step(number, recorded, None, unknown(running.failed))
        changes = _changes(running, again) if self._wanted.has_changes else None
        result = compared(recorded.decision, again, has_digests=self._has_digests)
        return Step(number, recorded, again, result, changes)

    def _replica(self, start: StartFound, facts: SourceFacts, open_ones: AsyncExitStack) -> Replica:
        """The table and the stage of a start, as in a fresh process."""
        if start.service not in DECIDING:
            raise ReplayFailed(
                f"this release has no service {start.service} that decides; it has"
                f" {', '.join(DECIDING)}"
            )
        layout = self._source.layout
        new_stage = stage_of(start.service, start.settings or {}, layout)
        observations = observations_of(self._source, start, self._bounds)
        open_ones.push_async_callback(observations.aclose)
        shares = BY_NAME[start.service].shares
        return Replica(new_stage, layout, shares, facts, observations, start.keys)


@asynccontextmanager
async def replayed(
    source: Source, wanted: Wanted, *, freeze: Callable[[], None] = lambda: None
) -> AsyncIterator[Replay]:
    """What a source has to be replayed.

    `freeze` is called when more facts are kept: a process of its own takes them out of the
    collector's sight, which would spend most of the time on them.
    """
    bounds = await source.bounds()
    found = await find_starts(source, bounds, wanted.admits)
    yield Replay(source, bounds, found, wanted, freeze)


async def _again(replica: Replica, recorded: Decided) -> Again:
    """What today's code decides at the position of a decision. Raises ReplayFailed."""
    decision = recorded.decision
    found = await replica.ready(decision.key, decision.position)
    try:
        remade = replica.remake(found)
    except Exception as defect:  # noqa: BLE001 - what the code of today raises is what it decides
        return Again(found, None, decision.objects, crash=_raised(defect))
    try:
        again = replica.stage.decide(remade.snapshot, decision.now)
        return again_of(found, remade.snapshot, remade.objects, again)
    except Exception as defect:  # noqa: BLE001 - as above
        return Again(found, remade.snapshot, remade.objects, crash=_raised(defect))


def _raised(defect: Exception) -> str:
    return f"{type(defect).__name__}: {defect}"


def _changes(running: _Running, again: Again) -> Changes | None:
    """What changed since the decision before of the key, in the same start."""
    key, kept = str(again.key), running.before
    before = kept.pop(key, None)
    kept[key] = again.snapshot
    if len(kept) > SNAPSHOTS_KEPT_MAX:
        kept.popitem(last=False)
    return None if before is None else changes_between(before, again.snapshot)


def release_notes(starts: list[StartFound], release: str) -> list[str]:
    """Sentences about starts whose release or settings are not those of this release."""
    notes: dict[str, None] = {}
    for each in starts:
        if each.settings is None:
            notes[
                f"{each.service} did not record its settings, as older releases did not:"
                " the defaults of this release are used"
            ] = None
            continue
        if each.release != release:
            notes[
                f"{each.service} was of release {each.release or '(not installed)'}, and this is"
                f" {release or '(not installed)'}"
            ] = None
        if each.service in DECIDING and (unused := unknown_settings(each.service, each.settings)):
            notes[f"{each.service} has no setting {', '.join(unused)} in this release"] = None
    return list(notes)
