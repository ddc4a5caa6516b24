"""What is in a recording, as its first line says: starts, partitions, gaps, what is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from contracts.topics import PARTITIONS_MAX, TopicLayout
from history.entries import Gap, partition_named

FORMAT: Final = "millrace-recording"
VERSION: Final = 1
"""A reader takes this version and older ones."""
_NUMBER_MAX: Final = 2**62


class ManifestMalformed(Exception):
    """A manifest that cannot be read; the message continues a sentence that begins with a file."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Some records of a partition: the offset of the first, the place and length, how many.

    `at` is in bytes from the end of the manifest's frame on.
    """

    first: int
    at: int
    size: int
    records: int


@dataclass(frozen=True, slots=True)
class PartitionKept:
    """The records of one partition: from offset `first` on, below `end`.

    Not `is_whole`: records of other jobs are left out. `resync` is the offset where the newest
    complete resync before the recording's `since` begins; None without one.
    """

    first: int
    end: int
    is_whole: bool = True
    resync: int | None = None
    frames: tuple[Frame, ...] = ()

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(frame.records for frame in self.frames)

    def to_json(self) -> dict[str, Any]:
        """The partition as a JSON object."""
        return {
            "first": self.first,
            "end": self.end,
            "whole": self.is_whole,
            "resync": self.resync,
            "records": self.records,
            "frames": [[each.first, each.at, each.size, each.records] for each in self.frames],
        }

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> PartitionKept:
        """The partition that a JSON object says; raises KeyError, TypeError or ValueError."""
        resync = value["resync"]
        return PartitionKept(
            _number(value["first"]),
            _number(value["end"]),
            _flag(value["whole"]),
            None if resync is None else _number(resync),
            tuple(Frame(*map(_number, frame)) for frame in value["frames"]),
        )


@dataclass(frozen=True, slots=True)
class StartKept:
    """One start of an instance: its release and settings as it recorded them, its observations.

    `observations` are the numbers of the first and the last one that are there; (0, 0): none.
    `reading` has the offset from which it read each partition.
    """

    service: str
    instance: str
    start: str
    release: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    observations: tuple[int, int] = (0, 0)
    decisions: int = 0
    reading: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The start as a JSON object."""
        return {
            "service": self.service,
            "instance": self.instance,
            "start": self.start,
            "release": self.release,
            "settings": dict(self.settings),
            "observations": list(self.observations),
            "decisions": self.decisions,
            "reading": dict(self.reading),
        }

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> StartKept:
        """The start that a JSON object says; raises KeyError, TypeError or ValueError."""
        first, last = map(_number, value["observations"])
        return StartKept(
            str(value["service"]),
            str(value["instance"]),
            str(value["start"]),
            str(value["release"]),
            dict(value["settings"]),
            (first, last),
            _number(value["decisions"]),
            {str(name): _number(at) for name, at in value["reading"].items()},
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """A recording in short. Times are unix seconds; `job` is (namespace, name) or empty.

    `redacted`: names, values and addresses are replaced. `epochs` are those of its facts, as facts
    have them; `releases` are those that decided.
    """

    layout: TopicLayout
    made_at: float
    made_by: str = ""
    job: tuple[str, ...] = ()
    since: float | None = None
    redacted: bool = False
    releases: tuple[str, ...] = ()
    epochs: tuple[Mapping[str, Any], ...] = ()
    starts: tuple[StartKept, ...] = ()
    partitions: Mapping[str, PartitionKept] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()

    @property
    def bytes_behind(self) -> int:
        """How many bytes the frames of all partitions have."""
        frames = [frame for kept in self.partitions.values() for frame in kept.frames]
        return sum(frame.size for frame in frames)

    def to_json(self) -> dict[str, Any]:
        """The manifest as a JSON object."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "madeBy": self.made_by,
            "madeAt": self.made_at,
            "prefix": self.layout.prefix,
            "partitionsByJob": self.layout.partitions,
            "job": list(self.job),
            "since": self.since,
            "redacted": self.redacted,
            "releases": list(self.releases),
            "epochs": [dict(each) for each in self.epochs],
            "starts": [each.to_json() for each in self.starts],
            "partitions": {name: kept.to_json() for name, kept in self.partitions.items()},
            "gaps": [_gap_to_json(gap) for gap in self.gaps],
        }

    @staticmethod
    def of_json(value: Any) -> Manifest:
        """The manifest that a JSON value says; raises ManifestMalformed."""
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise ManifestMalformed("is no recording of millrace")
        version = value.get("version")
        if type(version) is not int or not 1 <= version <= VERSION:
            raise ManifestMalformed(
                f"is a recording of version {str(version)[:20]}, and this release reads up to"
                f" {VERSION}: use the release that made it, or a newer one"
            )
        try:
            return _manifest_of(value)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise ManifestMalformed(
                f"is damaged: its manifest has another form than this release writes: {problem!r}"
            ) from None


def _manifest_of(value: Mapping[str, Any]) -> Manifest:
    count = _number(value["partitionsByJob"], PARTITIONS_MAX)
    if not count:
        raise ValueError("partitionsByJob is 0")
    layout = TopicLayout(str(value["prefix"]), count)
    partitions = {
        str(name): PartitionKept.of_json(kept) for name, kept in value["partitions"].items()
    }
    for name in partitions:
        partition_named(name, layout)
    _refuse_other_places(partitions)
    since = value["since"]
    return Manifest(
        layout,
        finite(value["madeAt"]),
        str(value["madeBy"]),
        tuple(map(str, value["job"])),
        None if since is None else finite(since),
        _flag(value["redacted"]),
        tuple(map(str, value["releases"])),
        tuple(dict(each) for each in value["epochs"]),
        tuple(map(StartKept.of_json, value["starts"])),
        partitions,
        tuple(map(_gap_of_json, value["gaps"])),
    )


def _refuse_other_places(partitions: Mapping[str, PartitionKept]) -> None:
    """Frames stand one behind the other, and the records of a partition in their order."""
    at = 0
    by_place: Callable[[PartitionKept], int] = lambda kept: kept.frames[0].at  # noqa: E731
    for kept in sorted((each for each in partitions.values() if each.frames), key=by_place):
        offset = kept.first
        for frame in kept.frames:
            if frame.at != at or not offset <= frame.first < kept.end or not frame.records:
                raise ValueError(f"a frame at {frame.at}")
            at, offset = at + frame.size, frame.first + frame.records


def _gap_to_json(gap: Gap) -> dict[str, Any]:
    return {"partition": gap.partition, "first": gap.first, "end": gap.end, "why": gap.why}


def _gap_of_json(value: Mapping[str, Any]) -> Gap:
    first, end = _number(value["first"]), _number(value["end"])
    return Gap(str(value["partition"]), first, end, str(value["why"]))


def _number(value: object, at_most: int = _NUMBER_MAX) -> int:
    if type(value) is not int or not 0 <= value <= at_most:
        raise ValueError(f"{str(value)[:40]} is no number from 0 to {at_most}")
    return value


def finite(value: object) -> float:
    """A number of JSON, as unix seconds are written; raises ValueError for anything else."""
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError(f"{str(value)[:40]} is no finite number")
    return float(value)  # type: ignore[arg-type]


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{str(value)[:40]} is neither true nor false")
    return value
