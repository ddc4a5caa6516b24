"""The plan record: everything about one generation of a job that must outlive the planner.

It is written before the first child of the generation, and then compared with the children. At the
next resize the planner takes every identity from it. The JSON form is stable: equal records give
equal bytes, and a newer release reads an older schema version.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, overload

import orjson

from planner.numbering.measured import MeasuredCpu
from planner.numbering.record_text import array_of, loaded
from planner.numbering.splitters import SplitterKey, SplitterRecord

SCHEMA_VERSION = 5
"""2: ports of a length. 3: places in pools, isolated operators. 4: channels. 5: packs, Services."""

Direction = Literal["in", "out"]
FusionType = Literal["noChannelInfluence", "channelIsolation", "channelExlocation"]
_DIRECTIONS: Sequence[Direction] = ("in", "out")
_NUMBERS_OF_RUN = 8  # pe, direction, operator, port, splitter, channel, id, length
_READABLE = range(1, SCHEMA_VERSION + 1)
PORTS_MAX = 16 * 1024 * 1024
"""Of a record: each connection has two, and there are fewer connections (requesting.py)."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """The fusion scheme of a job, and what the number of its PEs was chosen from.

    `requested` is the value of the job spec; `type` how channels of parallel regions fuse.
    `pes_max` is the N of manual, and for automatic the number that was chosen at submission
    (reckoning.py) from what follows: `nodes` and their CPU, that of a PE's pod, and the threads.
    CPU is in thousandths; 0: not known; a limit of 0: no limit. `is_divided`: request and limit are
    those of the whole job, which its PEs share.

    Records of older releases hold automatic as `manual`, with N = the number of nodes.
    """

    scheme: Literal["legacy", "manual", "automatic"]
    pes_max: int | None = None
    requested: Literal["legacy", "manual", "automatic"] = "manual"
    nodes: int | None = None
    type: FusionType = "noChannelInfluence"
    allocatable_mcpu: int = 0
    largest_node_mcpu: int = 0
    request_mcpu: int = 0
    limit_mcpu: int = 0
    is_divided: bool = False
    threads_min: int = 0
    threads_max: int = 0

    @staticmethod
    def legacy(kind: FusionType = "noChannelInfluence") -> Fusion:
        """One PE for each fusable unit."""
        return Fusion("legacy", None, "legacy", type=kind)

    @staticmethod
    def manual(pes: int, kind: FusionType = "noChannelInfluence") -> Fusion:
        """At most that many PEs, unless constraints ask for more."""
        return Fusion("manual", pes, "manual", type=kind)

    @staticmethod
    def automatic(
        nodes: int,
        kind: FusionType = "noChannelInfluence",
        *,
        allocatable_mcpu: int = 0,
        largest_node_mcpu: int = 0,
        request_mcpu: int = 0,
        limit_mcpu: int = 0,
        is_divided: bool = False,
    ) -> Fusion:
        """As many PEs as application and cluster suggest: the planner chooses."""
        return Fusion(
            "automatic",
            None,
            "automatic",
            nodes,
            kind,
            allocatable_mcpu,
            largest_node_mcpu,
            request_mcpu,
            limit_mcpu,
            is_divided,
        )


@dataclass(frozen=True, slots=True)
class PeRecord:
    """One PE. `meaning`, `content_id`: SHA-256 in hex; `channel_of`: channels.py, None: unknown.

    `config_map` and `key` are where its AADL of `aadl_bytes` is: a pack, or without a key a
    ConfigMap of its own, which a release without packs made.
    """

    id: int
    name: str
    meaning: str
    content_id: str
    config_map: str
    operators: tuple[str, ...]
    restartable: bool
    relocatable: bool
    input_ports: tuple[int, ...]
    regions: tuple[int, ...]
    host_pool: int | None = None
    host: str | None = None
    colocations: tuple[str, ...] = ()
    exlocations: tuple[str, ...] = ()
    isolation: bool = False
    in_pool_index: int | None = None
    isolated: tuple[str, ...] = ()
    channel_of: tuple[int, ...] | None = None
    key: str = ""
    aadl_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RegionRecord:
    """A parallel region and the width in force; `index` is that of the ADL."""

    index: int
    name: str
    width: int


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A host pool of the job, replicated ones included."""

    index: int
    name: str
    size: int | None
    mode: Literal["shared", "exclusive"]
    hosts: tuple[str, ...]
    tags: tuple[str, ...]


class OperatorKey(NamedTuple):
    """The lasting identity of an operator: logical index, local channels innermost first."""

    logical: int
    channels: tuple[int, ...]


class OperatorRecord(NamedTuple):
    """The index and the PE of one operator."""

    key: OperatorKey
    operator: int
    pe: int


class PortKey(NamedTuple):
    """The lasting identity of a PE port; splitter and channel are -1 without one."""

    direction: Direction
    operator: int
    port: int
    splitter: int
    channel: int


class PortRecord(NamedTuple):
    """The id of a PE port, local to PE and direction."""

    pe: int
    key: PortKey
    id: int


class PortRun(NamedTuple):
    """Ids of PE ports that differ by channel only: `length` channels from that of the key on."""

    pe: int
    key: PortKey
    id: int
    length: int = 1

    def each(self) -> Iterator[PortRecord]:
        """One by one."""
        for place in range(self.length):
            key = self.key._replace(channel=self.key.channel + place)
            yield PortRecord(self.pe, key, self.id + place)


class PortRuns(Sequence[PortRun]):
    """Runs of PE ports in an array: a wide connection may have a million that have no length."""

    def __init__(self, runs: Iterable[PortRun] = ()) -> None:
        """Raises OverflowError for a number of more than 32 bits."""
        self._numbers = array("i")
        for pe, (direction, *places), number, length in runs:
            numbers = (pe, _DIRECTIONS.index(direction), *places, number, length)
            self._numbers.extend(numbers)

    def check(self) -> None:
        """Raises ValueError for numbers that no plan has, however they got into a record."""
        lengths = self._numbers[_NUMBERS_OF_RUN - 1 :: _NUMBERS_OF_RUN]
        channels = self._numbers[_NUMBERS_OF_RUN - 3 :: _NUMBERS_OF_RUN]
        least = min(self._numbers, default=0), min(lengths, default=1)
        most = max(channels, default=0), sum(lengths)
        if min(least) < -1 or least[1] < 1 or max(most) > PORTS_MAX:
            raise ValueError("not a plan record: no plan has such ports")

    def __len__(self) -> int:
        return len(self._numbers) // _NUMBERS_OF_RUN

    def __iter__(self) -> Iterator[PortRun]:
        numbers = [iter(self._numbers)] * _NUMBERS_OF_RUN
        for pe, direction, operator, port, splitter, channel, number, length in zip(
            *numbers, strict=True
        ):
            key = PortKey(_DIRECTIONS[direction], operator, port, splitter, channel)
            yield PortRun(pe, key, number, length)

    @overload
    def __getitem__(self, place: int) -> PortRun: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[PortRun]: ...

    def __getitem__(self, place: int | slice) -> PortRun | Sequence[PortRun]:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PortRuns):
            return self._numbers == other._numbers
        return tuple(self) == other

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class HighWater:
    """The highest id given so far, by kind; -1 for none. Ids up to it are never given again."""

    operator: int = -1
    pe: int = -1
    pool: int = -1
    ports: Mapping[tuple[int, Direction], int] = field(default_factory=dict)
    splitters: Mapping[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class PlanRecord:
    """One generation of a job. `measured` is what automatic fusion knew of the CPU in use, `packs`
    the bytes that each pack had when it was made (packing.py).
    """

    generation: int
    bundle_digest: str
    job_name: str
    job_id: int
    application_name: str
    application_scope: str
    fusion: Fusion
    regions: tuple[RegionRecord, ...]
    pools: tuple[PoolRecord, ...]
    pes: tuple[PeRecord, ...]
    operators: tuple[OperatorRecord, ...]
    port_runs: Sequence[PortRun]
    splitters: tuple[SplitterRecord, ...]
    high_water: HighWater
    measured: MeasuredCpu | None = None
    packs: Mapping[str, int] = field(default_factory=dict)
    is_python: bool = False

    @property
    def widths(self) -> dict[str, int]:
        """Width in force by region name."""
        return {region.name: region.width for region in self.regions}

    @cached_property
    def isolated(self) -> dict[int, tuple[str, ...]]:
        """The operators that ask for a host of their own, by PE; of an older record, the first."""
        named = {pe.id: pe.isolated or pe.operators[: pe.isolation] for pe in self.pes}
        return {pe: operators for pe, operators in named.items() if operators}

    @property
    def ports(self) -> tuple[PortRecord, ...]:
        """The PE ports one by one; a wide connection has very many."""
        return tuple(port for run in self.port_runs for port in run.each())

    def to_json(self) -> str:
        """The stable text form."""
        return self.to_bytes().decode()

    def to_bytes(self) -> bytes:
        """The same in UTF-8; it may have tens of megabytes."""
        return orjson.dumps(_document(self))

    @staticmethod
    def from_json(text: str | bytes) -> PlanRecord:
        """The record of a text that `to_json` made; `ValueError` for anything else."""
        document, port_rows = loaded(text)
        if not isinstance(document, dict) or document.get("schema") not in _READABLE:
            raise ValueError(f"not a plan record of schema version 1 to {SCHEMA_VERSION}")
        try:
            return _record(document, document["ports"] if port_rows is None else port_rows)
        except (AttributeError, KeyError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"not a plan record ({type(error).__name__}: {error})") from error


def schema_of(text: str | bytes) -> int:
    """The schema version that a text says it is of; ValueError where it says none."""
    document, _ = loaded(text)
    if isinstance(document, dict) and isinstance(version := document.get("schema"), int):
        return version
    raise ValueError("no plan record: it says no schema version")


def _document(record: PlanRecord) -> dict[str, Any]:
    high = record.high_water
    return {
        "schema": SCHEMA_VERSION,
        "generation": record.generation,
        "bundleDigest": record.bundle_digest,
        "jobName": record.job_name,
        "jobId": record.job_id,
        "applicationName": record.application_name,
        "applicationScope": record.application_scope,
        "fusion": record.fusion,
        "regions": record.regions,
        "pools": record.pools,
        "pes": record.pes,
        "packs": record.packs,
        "operators": [[*item.key, item.operator, item.pe] for item in record.operators],
        "ports": orjson.Fragment(array_of(map(_port_row, record.port_runs))),
        "splitters": [[*item.key, item.id] for item in record.splitters],
        "highWater": {
            "operator": high.operator,
            "pe": high.pe,
            "pool": high.pool,
            "ports": [[*key, high.ports[key]] for key in sorted(high.ports)],
            "splitters": [[*key, high.splitters[key]] for key in sorted(high.splitters)],
        },
        **({"measured": record.measured} if record.measured else {}),
        **({"python": True} if record.is_python else {}),
    }


def _port_row(run: PortRun) -> list[object]:
    """Schema 1 knew single ports only: a row without a length."""
    row: list[object] = [run.pe, *run.key, run.id]
    return row if run.length == 1 else [*row, run.length]


def _record(doc: dict[str, Any], port_rows: Iterable[list[Any]]) -> PlanRecord:
    port_runs = PortRuns(PortRun(row[0], PortKey(*row[1:6]), *row[6:]) for row in port_rows)
    port_runs.check()
    return PlanRecord(
        generation=doc["generation"],
        bundle_digest=doc["bundleDigest"],
        job_name=doc["jobName"],
        job_id=doc["jobId"],
        application_name=doc["applicationName"],
        application_scope=doc["applicationScope"],
        fusion=Fusion(**doc["fusion"]),
        regions=tuple(RegionRecord(**item) for item in doc["regions"]),
        pools=tuple(PoolRecord(**_tuples(item)) for item in doc["pools"]),
        pes=tuple(PeRecord(**_tuples(item)) for item in doc["pes"]),
        operators=tuple(
            OperatorRecord(OperatorKey(logical, tuple(channels)), index, pe)
            for logical, channels, index, pe in doc["operators"]
        ),
        port_runs=port_runs,
        splitters=tuple(
            SplitterRecord(
                SplitterKey(op, port, tuple((s[0], s[1], s[2], s[3]) for s in path)), id_
            )
            for op, port, path, id_ in doc["splitters"]
        ),
        high_water=_high_water(doc["highWater"]),
        measured=MeasuredCpu(**doc["measured"]) if "measured" in doc else None,
        packs=doc.get("packs", {}),
        is_python=doc.get("python", False),
    )


def _high_water(doc: dict[str, Any]) -> HighWater:
    return HighWater(
        operator=doc["operator"],
        pe=doc["pe"],
        pool=doc["pool"],
        ports={(pe, direction): highest for pe, direction, highest in doc["ports"]},
        splitters={(op, port): highest for op, port, highest in doc["splitters"]},
    )


def _tuples(item: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in item.items()}
