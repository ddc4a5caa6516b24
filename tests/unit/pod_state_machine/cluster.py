"""A table filled from builders, and the decision on it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import Any

from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Change, Entry, TableReading
from services.chassis.table.indexing import Indexed
from services.launching.adapters.launches import Launches
from services.launching.core.rules import RULES, Observation
from services.launching.core.situation import Situation
from services.launching.core.snapshot import Timing
from services.pod_state_machine.adapters import intake
from services.pod_state_machine.adapters.assignments import Assignments
from services.pod_state_machine.core.deciding import decide, situation_of
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.snapshot import Key, PeKey, PeSnapshot
from tests.builders import EPOCH_TIME, NAMESPACE, Builder, a_config_map, a_job, a_pe

NOW = datetime.fromisoformat(EPOCH_TIME).timestamp() + 60.0
"""A minute after every object that builders make."""

PE_KEY = PeKey(NAMESPACE, "shop-0")


class FilledTable(TableReading):
    """The entries of some objects."""

    def __init__(self, builders: Iterable[Builder]) -> None:
        self._entries = [builder.entry() for builder in builders]
        self._indexed: Indexed[Entry] = Indexed(intake.INDEXES)
        for entry in self._entries:
            self._indexed.put(entry, self._indexed.places_of(entry))
        self.ended: frozenset[str] = frozenset()
        self.gone: dict[str, Entry] = {}

    def note_gone(self, builder: Builder | None) -> None:
        """Let a pod be one that was observed, and then deleted."""
        if builder is not None:
            entry = builder.entry()
            self.gone[entry.name] = entry

    def get(self, kind: str, namespace: str, name: str) -> Entry | None:
        return next((e for e in self._entries if e.ref == (kind, namespace, name)), None)

    def by(self, index: str, value: Hashable) -> list[Entry]:
        return self._indexed.find(index, value)

    def count(self, index: str, value: Hashable) -> int:
        return self._indexed.count(index, value)

    def of_kind(self, kind: str) -> Iterable[Entry]:
        return [entry for entry in self._entries if entry.kind == kind]

    def saw_end(self, kind: str, namespace: str, name: str) -> bool:
        return (kind, namespace) == ("Pod", NAMESPACE) and name in self.ended

    def was_deleted(self, kind: str, namespace: str, name: str) -> bool:
        return (kind, namespace) == ("Pod", NAMESPACE) and name in self.ended

    def last_shown(self, kind: str, namespace: str, name: str) -> Entry | None:
        return self.gone.get(name) if (kind, namespace) == ("Pod", NAMESPACE) else None


def gates(content_id: str = "c1") -> tuple[Builder, Builder]:
    """The ConfigMaps that pods of the PE mount."""
    return a_config_map(), a_config_map(pe_id=0, content_id=content_id)


def world(*builders: Builder) -> FilledTable:
    """A table with these objects, a job and open gates unless they are among them."""
    objects = list(builders)
    if not any(builder.kind == "Job" for builder in objects):
        objects.append(a_job())
    if not any(builder.kind == "ConfigMap" for builder in objects):
        objects.extend((*gates("c1"), gates("c2")[1]))
    return FilledTable(objects)


def woken(table: TableReading, builder: Builder) -> set[Key]:
    """The keys of an object that appears."""
    return set(intake.keys_of(Change(None, builder.entry()), table))


def decided(
    *builders: Builder,
    now: float = NOW,
    key: Key = PE_KEY,
    launches: Launches | None = None,
    ended: frozenset[str] = frozenset(),
    gone: Builder | None = None,
) -> Decision[Effect]:
    """The decision for the PE of the builders.

    `ended` are pods whose end was observed, `gone` is the last observed state of one that is gone.
    """
    table = world(*builders)
    table.ended = ended
    table.note_gone(gone)
    return decide(
        intake.snapshot_of(table, key, launches or Launches(), Assignments()), now, Timing()
    )


def snapshot_of(*builders: Builder) -> PeSnapshot:
    """The snapshot of the PE of the builders."""
    found = intake.snapshot_of(world(*builders), PE_KEY, Launches(), Assignments())
    assert isinstance(found, PeSnapshot)
    return found


def situation(
    *builders: Builder,
    now: float = NOW,
    gone: Builder | None = None,
    launches: Launches | None = None,
) -> Situation:
    """The PE of the builders at a moment; `gone` as in `decided`."""
    table = world(*builders)
    table.note_gone(gone)
    snapshot = intake.snapshot_of(table, PE_KEY, launches or Launches(), Assignments())
    assert isinstance(snapshot, PeSnapshot)
    assert snapshot.owner is not None
    return situation_of(snapshot, snapshot.owner, now, Timing())


def observed(*builders: Builder, now: float = NOW, gone: Builder | None = None) -> Observation:
    """The observation that decides on the PE of the builders; `gone` as in `decided`."""
    at = situation(*builders, now=now, gone=gone)
    observation = rule_for(RULES, at, at.phase).observation
    assert isinstance(observation, Observation)
    return observation


def submitted() -> Builder:
    """A job that runs."""
    return a_job().with_status(phase="Submitted")


def resizing() -> Builder:
    """A job that is being resized."""
    return a_job().with_status(phase="Resizing")


def waits_for_others(spec: dict[str, Any], more: Iterable[Builder]) -> bool:
    """Whether the first pod waits beside a PE that is on no node; the job lacks nothing else."""
    job = a_job().with_status(
        phase="Resizing", redisConfig="shards", transportCertificate={"secretName": "shop-tls"}
    )
    pe = a_pe().with_spec(**spec)
    mounted = a_config_map(pe_id=pe.build()["spec"]["id"], content_id="c1")
    decision = decided(pe, a_pe(pe_id=7), job, a_config_map(), mounted, *more)
    return decision.rules["PE"] == "UNPLACED"


__all__ = [
    "NOW",
    "PE_KEY",
    "a_pe",
    "decided",
    "gates",
    "observed",
    "resizing",
    "situation",
    "snapshot_of",
    "submitted",
    "waits_for_others",
    "woken",
    "world",
]
