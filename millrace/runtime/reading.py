"""Reads the description of a PE (AADL, `/etc/config/pe/aadl.xml`) into frozen values.

Only what the runtime needs: operators with their constants, where tuples go, and the ports by
which the PE is connected with others. Operators are known by their indexes in the AADL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, cast
from xml.etree import ElementTree

from millrace.graph import SplitterKind
from millrace.parameters import constant_value
from millrace.runtime.barriers import Place
from millrace.runtime.endings import Ending, PeFailed

Element = ElementTree.Element
KIND_PREFIX: Final = "millrace::"
Congestion = Literal["wait", "dropFirst", "dropLast"]
QUEUE_TUPLES: Final = 1024
"""The size of a queue before a threaded port whose AADL names none, in tuples."""


class DescriptionRefused(PeFailed):
    """The AADL cannot be read, or does not describe a PE."""

    ending = Ending.DESCRIPTION_REFUSED


class DescriptionMissing(DescriptionRefused):
    """The AADL is not there."""

    ending = Ending.DESCRIPTION_MISSING


class OperatorRefused(DescriptionRefused):
    """An operator is compiled SPL, which this runtime does not execute."""

    ending = Ending.OPERATOR_REFUSED


@dataclass(frozen=True, slots=True)
class Inside:
    """Tuples go to an operator of the same PE."""

    operator: int


@dataclass(frozen=True, slots=True)
class Outside:
    """Tuples go to an output port of the PE."""

    port: int


@dataclass(frozen=True, slots=True)
class Splitting:
    """Tuples are split; `channels` has the targets of each."""

    kind: SplitterKind
    attributes: tuple[str, ...]
    channels: tuple[tuple[Goal, ...], ...]
    drops_windows: bool = False


Goal = Inside | Outside | Splitting


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue before a threaded port: its size in tuples, and what it does when it is full."""

    tuples: int = QUEUE_TUPLES
    congestion: Congestion = "wait"


@dataclass(frozen=True, slots=True)
class Instance:
    """One operator of the PE. `channels`: (channel, width) by the index of the region."""

    index: int
    name: str
    path: str
    goals: tuple[Goal, ...] = ()
    channels: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    global_channel: tuple[int, int] = (0, 1)
    constants: Mapping[str, Any] = field(default_factory=dict)
    queue: Queue | None = None
    checkpoint_s: float | None = None


@dataclass(frozen=True, slots=True)
class InputPort:
    """An input port of the PE: the operator that it leads to, and its (PE, output port) peers."""

    id: int
    operator: int
    peers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class OutputPort:
    """An output port of the PE: the operator that it comes from, and its (PE, input port) peers.

    `places`: the instance of an operator behind each peer; a plan of an older release names none.
    """

    id: int
    operator: int
    peers: tuple[tuple[int, int], ...] = ()
    places: Mapping[tuple[int, int], Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Description:
    """What a PE is: its application, its operators, and how it is connected."""

    pe: int
    job: int
    job_name: str
    application: str
    module: str
    variable: str
    graph: str
    operators: tuple[Instance, ...]
    inputs: tuple[InputPort, ...]
    outputs: tuple[OutputPort, ...]
    trace_level: str = "error"
    keeps_running: bool = False
    """The application is to stay when its sources have ended."""

    @property
    def checkpoint_s(self) -> float | None:
        """How often the PE saves its state (seconds); None: only at its ends."""
        periods = [e.checkpoint_s for e in self.operators if e.checkpoint_s is not None]
        return min(periods, default=None)

    @property
    def peers(self) -> frozenset[int]:
        """The PEs that it is connected with."""
        ends = [each.peers for each in self.inputs] + [each.peers for each in self.outputs]
        return frozenset(pe for peers in ends for pe, _ in peers)


def description_of(text: bytes) -> Description:
    """The description in an AADL. Raises DescriptionRefused."""
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - fusion-backend wrote it
    except ElementTree.ParseError as problem:
        raise DescriptionRefused(f"the AADL is no XML: {problem}") from None
    try:
        return _description(root)
    except (KeyError, ValueError, StopIteration) as problem:
        what = type(problem).__name__
        raise DescriptionRefused(f"the AADL lacks something: {what} {problem}") from None


def _description(root: Element) -> Description:
    kinds = {
        each.attrib["index"]: each.attrib["kind"] for each in _found(root, "operDefinition", deep=1)
    }
    instances = list(_found(root, "operInstance", deep=1))
    for each in instances:
        _check_kind(each, kinds.get(each.attrib["definitionIndex"], "of no kind"))
    ports = _Ports(root)
    operators = tuple(_instance(each, ports) for each in instances)
    if not operators:
        raise DescriptionRefused("the AADL has no operators")
    constants = operators[0].constants
    tracing = next(_found(root, "tracingUpdate", deep=1), None)
    return Description(
        pe=int(root.attrib["id"]),
        job=int(root.attrib["jobId"]),
        job_name=root.attrib["jobName"],
        application=root.attrib["applicationName"],
        module=constants["millrace.module"],
        variable=constants["millrace.app"],
        graph=constants["millrace.graph"],
        operators=operators,
        inputs=tuple(_input_ports(root)),
        outputs=tuple(_output_ports(root, operators)),
        trace_level="error" if tracing is None else tracing.attrib["level"],
        keeps_running=bool(constants.get("millrace.keepRunning")),
    )


def _check_kind(instance: Element, kind: str) -> None:
    names = {each.attrib["name"] for each in _found(instance, "runtimeConstant", deep=1)}
    if not kind.startswith(KIND_PREFIX) or "millrace.module" not in names:
        raise OperatorRefused(
            f"operator {instance.attrib['name']} is of kind {kind}, which is compiled SPL: this "
            "image runs applications in Python; give the Job an image of the SPL runtime "
            "(processingElement.image)"
        )


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _found(parent: Element, name: str, *, deep: int = 0) -> Iterator[Element]:
    """The children of that name; `deep`: so many levels below them, too."""
    for each in parent:
        if _name(each) == name:
            yield each
        elif deep:
            yield from _found(each, name, deep=deep - 1)


class _Ports:
    """The output ports of the PE, by the operator's port, the splitter and the channel."""

    def __init__(self, root: Element) -> None:
        self._ids: dict[tuple[str, str, str, str], int] = {}
        for holder in _found(root, "outputPorts"):
            for port in _found(holder, "outputPort"):
                end = next(_found(port, "operInstanceConnection")).attrib
                key = (
                    end["operInstanceIndex"],
                    end["oportIndex"],
                    end.get("splitterIndex", ""),
                    end.get("channelIndex", ""),
                )
                self._ids[key] = int(port.attrib["id"])

    def outside(self, operator: str, port: str, splitter: str = "", channel: str = "") -> Outside:
        return Outside(self._ids[operator, port, splitter, channel])


def _instance(element: Element, ports: _Ports) -> Instance:
    levels = list(_found(element, "parallelRegion", deep=1))
    inner = levels[0].attrib if levels else {}
    threaded = next(_found(element, "threadedPort", deep=2), None)
    return Instance(
        index=int(element.attrib["index"]),
        name=element.attrib["name"],
        path=element.attrib["logicalName"],
        goals=tuple(
            goal
            for port in _found(element, "outputPort", deep=1)
            for goal in _goals(
                port, partial(ports.outside, element.attrib["index"], port.attrib["index"])
            )
        ),
        channels={
            int(each.attrib["regionIndex"]): (
                int(each.attrib["localChannelIndex"]),
                int(each.attrib["localMaxChannels"]),
            )
            for each in levels
        },
        global_channel=(
            int(inner.get("globalChannelIndex", 0)),
            int(inner.get("globalMaxChannels", 1)),
        ),
        constants={
            each.attrib["name"]: constant_value(each.attrib["value"])
            for each in _found(element, "runtimeConstant", deep=1)
        },
        queue=None if threaded is None else _queue(threaded),
        checkpoint_s=_period(next(_found(element, "checkpointing"), None)),
    )


def _period(checkpointing: Element | None) -> float | None:
    if checkpointing is None or checkpointing.attrib["policy"] != "periodic":
        return None
    return float(checkpointing.attrib["period"])


def _queue(threaded: Element) -> Queue:
    policy = threaded.attrib["congestionPolicy"]
    if policy not in ("wait", "dropFirst", "dropLast"):
        raise DescriptionRefused(f"the AADL has the congestion policy {policy!r}")
    size = int(threaded.get("queueSize") or QUEUE_TUPLES)
    return Queue(max(size, 1), cast(Congestion, policy))


def _goals(parent: Element, outside: Callable[..., Outside], *place: str) -> Iterator[Goal]:
    """Where tuples go; `place` is the splitter and the channel in which `parent` is."""
    if next(_found(parent, "interPeConnection"), None) is not None:
        yield outside(*place)  # one port, however many operators it leads to
    for each in _found(parent, "intraPeConnection"):
        yield Inside(int(each.attrib["operInstanceIndex"]))
    for each in _found(parent, "splitter"):
        yield _splitting(each, outside)


def _splitting(splitter: Element, outside: Callable[..., Outside]) -> Splitting:
    number = splitter.attrib["index"]
    channels: dict[int, list[Goal]] = {}
    for each in _found(splitter, "parallelChannel"):  # one channel may have several elements
        channel = each.attrib["index"]
        channels.setdefault(int(channel), []).extend(_goals(each, outside, number, channel))
    kind = splitter.attrib["kind"]
    if kind not in ("RoundRobin", "Hash", "Broadcast"):
        raise DescriptionRefused(f"the AADL has a splitter of kind {kind!r}")
    return Splitting(
        kind=cast(SplitterKind, kind),
        attributes=tuple(each.attrib["name"] for each in _found(splitter, "attribute", deep=1)),
        channels=tuple(tuple(channels[index]) for index in range(len(channels))),
        drops_windows=splitter.get("dropWindowPuncts") == "true",
    )


def _input_ports(root: Element) -> Iterator[InputPort]:
    for holder in _found(root, "inputPorts"):
        for each in _found(holder, "inputPort"):
            connection = next(_found(each, "operInstanceConnection"))
            yield InputPort(
                int(each.attrib["id"]),
                int(connection.attrib["operInstanceIndex"]),
                tuple(
                    (int(peer.attrib["peId"]), int(peer.attrib["oportId"]))
                    for peer in _found(each, "staticConnection", deep=1)
                ),
            )


def _output_ports(root: Element, operators: Iterable[Instance]) -> Iterator[OutputPort]:
    downstream = {each.index: _downstream(each) for each in operators}
    for holder in _found(root, "outputPorts"):
        for each in _found(holder, "outputPort"):
            operator = int(next(_found(each, "operInstanceConnection")).attrib["operInstanceIndex"])
            found = list(_found(each, "staticConnection", deep=1))
            peers = tuple((int(e.attrib["peId"]), int(e.attrib["iportId"])) for e in found)
            takers = (int(e.attrib["iOperInstanceIndex"]) for e in found)
            known = downstream[operator]
            places = {
                peer: known[taker]
                for peer, taker in zip(peers, takers, strict=True)
                if taker in known
            }
            yield OutputPort(int(each.attrib["id"]), operator, peers, places)


def _downstream(instance: Instance) -> dict[int, Place]:
    """The instances in other PEs that take what this one gives, by their numbers."""
    found: Mapping[str, Mapping[str, int]] = instance.constants.get("millrace.downstream", {})
    return {
        number: Place(path, channels)
        for path, by_channels in found.items()
        for channels, number in by_channels.items()
    }
