"""The metrics of a PE, by the names of the original, on port 9696 of its pod.

Nothing is counted here: when Prometheus scrapes, a function gives a `Snapshot` of plain values in
the event loop of the PE, so that no thread sees half of a count. The text is made of it in a
thread, for one scrape at a time: that of 100 operators takes tens of milliseconds.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, Literal

from millrace.runtime.endings import PortInUse
from millrace.runtime.serving import Handler, Reply, Request, Server

if TYPE_CHECKING:  # it is loaded for the first scrape, in its thread
    from prometheus_client.metrics_core import Metric

LOG = logging.getLogger("millrace.runtime.metrics")
PORT: Final = 9696
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
CUSTOM_PREFIX: Final = "custom_"
"""Before the name of a metric of the application that is taken."""


@dataclass(frozen=True, slots=True)
class PeInput:
    """Counts of an input port of the PE."""

    port: int
    tuples_processed: int = 0
    tuple_bytes_processed: int = 0
    window_puncts_processed: int = 0
    final_puncts_processed: int = 0


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection of an output port to `pe`:`port`. `congestion`: from 0 to 100 (blocked)."""

    pe: int
    port: int
    congestion_factor: int = 0
    tuples_filtered_out: int = 0


@dataclass(frozen=True, slots=True)
class PeOutput:
    """Counts of an output port of the PE. `connections`: those that are up."""

    port: int
    tuples_submitted: int = 0
    tuple_bytes_submitted: int = 0
    window_puncts_submitted: int = 0
    final_puncts_submitted: int = 0
    broken_connections: int = 0
    tuples_transmitted: int = 0
    tuple_bytes_transmitted: int = 0
    required_connecting: int = 0
    optional_connecting: int = 0
    connections: tuple[Connection, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorInput:
    """Counts of an input port of an operator, and of the queue before it if it has one."""

    op: int
    name: str
    logical_name: str
    port: int
    tuples_processed: int = 0
    tuples_dropped: int = 0
    window_puncts_processed: int = 0
    final_puncts_processed: int = 0
    enqueue_waits: int = 0
    tuples_queued: int = 0
    window_puncts_queued: int = 0
    final_puncts_queued: int = 0
    queue_size: int = 0
    max_items_queued: int = 0
    recent_max_items_queued: int = 0
    recent_max_items_queued_interval: int = 0


@dataclass(frozen=True, slots=True)
class OperatorOutput:
    """Counts of an output port of an operator."""

    op: int
    name: str
    logical_name: str
    port: int
    tuples_submitted: int = 0
    window_puncts_submitted: int = 0
    final_puncts_submitted: int = 0


@dataclass(frozen=True, slots=True)
class Custom:
    """A metric of the application, of an operator `of`."""

    name: str
    of: str
    kind: Literal["Counter", "Gauge", "Time"]
    value: float
    description: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is counted, at one moment. Seconds and bytes are those of the last time, or None.

    `lost`: tuples by cause. `skipped`: tuples by operator. `relative_costs`: of operators by name.
    `refused`: reports that pe-gateway refused for good, by their kind. `waiting_bytes`: by the
    name of an operator, or of an output port.
    """

    inputs: tuple[PeInput, ...] = ()
    outputs: tuple[PeOutput, ...] = ()
    operator_inputs: tuple[OperatorInput, ...] = ()
    operator_outputs: tuple[OperatorOutput, ...] = ()
    custom: tuple[Custom, ...] = ()
    relative_costs: Mapping[str, float] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    hand_over_s: float | None = None
    checkpoint_s: float | None = None
    checkpoint_bytes: int | None = None
    waiting_bytes: Mapping[str, int] = field(default_factory=dict)


_GAUGES: Final = frozenset(
    {
        *("required_connecting", "optional_connecting", "connections", "congestion_factor"),
        *("tuples_queued", "window_puncts_queued", "final_puncts_queued", "queue_size"),
        *("max_items_queued", "recent_max_items_queued", "recent_max_items_queued_interval"),
    }
)
_PLAIN: Final = frozenset(
    {
        *("queue_size", "max_items_queued"),
        *("recent_max_items_queued", "recent_max_items_queued_interval"),
    }
)
"""Fields whose names in 8.8 have no `n_`."""


class PeCollector:
    """A collector of prometheus_client that reads a snapshot when it is scraped."""

    def __init__(self, job: str, pe: int, snapshot: Callable[[], Snapshot]) -> None:
        """`snapshot` is called in the event loop of the PE, once for each scrape."""
        self._labels = {"job": job, "pe": str(pe)}
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        """One family for each name, with the samples of all ports."""
        return self.families(self.snapshot())

    def snapshot(self) -> Snapshot:
        """What is counted now. Call it in the event loop."""
        return self._snapshot()

    def families(self, snapshot: Snapshot) -> Iterator[Metric]:
        """The families of a snapshot; in any thread."""
        families = _Families(self._labels)
        for each in snapshot.inputs:
            families.add_fields("pe_input", each, {"pe_port": each.port})
        for output in snapshot.outputs:
            _add_output(families, output)
        for into in snapshot.operator_inputs:
            families.add_fields("op_input", into, _labels_of(into))
        for out in snapshot.operator_outputs:
            families.add_fields("op_output", out, _labels_of(out))
        for name, cost in snapshot.relative_costs.items():
            families.add("op_system_relative_operator_cost", "gauge", cost, {"name": name})
        _add_ours(families, snapshot)
        _add_custom(families, snapshot.custom)
        yield from families.found.values()


class _Families:
    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        self.found: dict[str, Metric] = {}

    def add(
        self, name: str, kind: str, value: float, labels: Mapping[str, object], about: str = ""
    ) -> None:
        from prometheus_client.metrics_core import Metric

        family = self.found.get(name)
        if family is None:
            family = self.found[name] = Metric(name, about or name.replace("_", " "), kind)
        texts = {key: str(each) for key, each in labels.items()}
        family.add_sample(name, {**self._labels, **texts}, value)

    def add_fields(self, prefix: str, counted: object, labels: Mapping[str, object]) -> None:
        """Each number of a dataclass, by the name of its field."""
        for each in fields(counted):  # type: ignore[arg-type]
            value = getattr(counted, each.name)
            if each.name in ("port", "op", "pe") or not isinstance(value, int):
                continue
            name = f"{prefix}_{'' if each.name in _PLAIN else 'n_'}{each.name}"
            self.add(name, "gauge" if each.name in _GAUGES else "counter", value, labels)


def _labels_of(port: OperatorInput | OperatorOutput) -> dict[str, object]:
    return {
        "op": port.op,
        "name": port.name,
        "logical_name": port.logical_name,
        "op_port": port.port,
    }


def _add_output(families: _Families, output: PeOutput) -> None:
    labels = {"pe_port": output.port}
    families.add_fields("pe_output", output, labels)
    families.add("pe_output_n_connections", "gauge", len(output.connections), labels)
    for each in output.connections:
        to = {**labels, "connection": f"({each.pe}:{each.port})"}
        families.add("pe_output_congestion_factor", "gauge", each.congestion_factor, to)
        families.add("pe_n_tuples_filtered_out", "counter", each.tuples_filtered_out, to)


def _add_ours(families: _Families, snapshot: Snapshot) -> None:
    for cause, tuples in snapshot.lost.items():
        about = "Tuples that were lost, by cause."
        families.add("millrace_tuples_lost_total", "counter", tuples, {"cause": cause}, about)
    for name, tuples in snapshot.skipped.items():
        about = "Tuples whose function raised, by operator."
        families.add("millrace_tuples_skipped_total", "counter", tuples, {"name": name}, about)
    for kind, reports in snapshot.refused.items():
        about = "Reports that pe-gateway refused for good, by kind."
        families.add("millrace_reports_refused_total", "counter", reports, {"kind": kind}, about)
    for name, waiting in snapshot.waiting_bytes.items():
        about = "Bytes of tuples that wait behind a source, in a queue, or for a peer, about."
        families.add("millrace_waiting_bytes", "gauge", waiting, {"name": name}, about)
    for name, value, about in (
        ("hand_over_seconds", snapshot.hand_over_s, "How long the last hand-over took."),
        ("checkpoint_seconds", snapshot.checkpoint_s, "How long the last checkpoint took."),
        ("checkpoint_bytes", snapshot.checkpoint_bytes, "The size of the last checkpoint."),
    ):
        if value is not None:
            families.add(f"millrace_{name}", "gauge", value, {}, about)


def _add_custom(families: _Families, metrics: Iterable[Custom]) -> None:
    """Metrics of the application last; one whose name is taken gets a prefix."""
    taken = set(families.found)
    kinds: dict[str, str] = {}
    samples: set[tuple[str, str]] = set()
    for each in metrics:
        kind = "gauge" if each.kind == "Gauge" else "counter"
        name = re.sub(r"[^a-zA-Z0-9_:]", "_", each.name) or "_"
        name = f"_{name}" if name[0].isdigit() else name
        if name in taken or kinds.setdefault(name, kind) != kind:
            name = f"{CUSTOM_PREFIX}{kind}_{name}"
        if (name, each.of) not in samples:
            samples.add((name, each.of))
            families.add(name, kind, each.value, {"name": each.of}, each.description)


def exposition(families: Iterable[Metric]) -> bytes:
    """The text for Prometheus."""
    return b"".join(map(_text_of, families))


@dataclass(frozen=True, slots=True)
class _One:
    family: Metric

    def collect(self) -> Iterable[Metric]:
        return (self.family,)


def _text_of(family: Metric) -> bytes:
    """prometheus_client adds `_total` to the name of a counter; the names of 8.8 have none."""
    from prometheus_client import generate_latest

    text = generate_latest(_One(family))
    if family.type != "counter":
        return text
    name = family.name.encode()
    text = text.replace(b"# HELP %b_total " % name, b"# HELP %b " % name, 1)
    return text.replace(b"\n# TYPE %b_total " % name, b"\n# TYPE %b " % name, 1)


class MetricsServer:
    """Serves `/metrics` in this event loop, from `start` until `stop`."""

    def __init__(
        self,
        collector: PeCollector,
        address: str,
        port: int = PORT,
        *,
        others: Mapping[str, Handler] | None = None,
    ) -> None:
        """`address`: the IP of the pod. `others`: what is served by other paths."""
        self._collector = collector
        self._address = address
        self._port = port
        self._turn = asyncio.Lock()
        self._server = Server({"/metrics": self._serve, **(others or {})})

    async def start(self) -> None:
        """Listen. Raises PortInUse."""
        try:
            await self._server.start(self._address, self._port)
        except OSError as problem:
            where = f"{self._address}:{self._port}"
            if problem.errno == errno.EADDRINUSE:
                raise PortInUse(f"port {where} of metrics is in use") from None
            raise PortInUse(f"port {where} of metrics cannot be served: {problem}") from None

    async def stop(self) -> None:
        """Serve no more."""
        await self._server.stop()

    @property
    def port(self) -> int:
        """The port that is served: another than requested if that was 0."""
        return self._server.port

    def _text(self, snapshot: Snapshot) -> bytes:
        return exposition(self._collector.families(snapshot))

    async def _serve(self, _: Request) -> Reply:
        async with self._turn:
            snapshot = self._collector.snapshot()
            body = await asyncio.to_thread(self._text, snapshot)
        return Reply(body, content_type=CONTENT_TYPE)
