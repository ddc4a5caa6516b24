"""What `/api/state` shows of a PE, read from its AADL: operators, ports and connections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lxml import etree

from contracts.bundle_limits import BundleInvalid
from contracts.untrusted_xml import parse_untrusted_xml


class Connected(NamedTuple):
    """The input port of a PE that a stream goes to."""

    pe: int
    port: int


@dataclass(frozen=True, slots=True, order=True)
class OutputPort:
    """An output port of an operator."""

    index: int
    name: str
    stream: str
    connections: tuple[Connected, ...]


class Operator(NamedTuple):
    """An operator; `channels` are (index of the region, global channel), outermost first."""

    name: str
    logical_name: str
    channels: tuple[tuple[int, int], ...]
    inputs: tuple[tuple[int, str], ...]
    outputs: tuple[OutputPort, ...]


class PeOutline(NamedTuple):
    """The operators of a PE, and the ids of its input ports."""

    operators: tuple[Operator, ...] = ()
    inputs: tuple[int, ...] = ()


def outline_of(aadl: bytes) -> PeOutline:
    """The outline of a PE. Raises BundleInvalid for a text that is no AADL."""
    root = parse_untrusted_xml(aadl, part="the AADL")
    connected: dict[tuple[str, str], list[Connected]] = defaultdict(list)
    try:
        for port in root.iterfind(".//{*}outputPort[@peId]"):
            own = port.find("{*}operInstanceConnection")
            if own is not None:
                place = (own.get("operInstanceIndex", ""), own.get("oportIndex", ""))
                connected[place] += map(_connected, port.iterfind(".//{*}staticConnection"))
        inputs = [int(port.get("id", "")) for port in root.iterfind(".//{*}inputPort[@peId]")]
        operators = [_operator(each, connected) for each in root.iterfind(".//{*}operInstance")]
    except ValueError as problem:
        raise BundleInvalid(f"the AADL has no number where it needs one: {problem}") from None
    return PeOutline(tuple(operators), tuple(sorted(inputs)))


def _connected(element: etree._Element) -> Connected:
    return Connected(int(element.get("peId", "")), int(element.get("iportId", "")))


def _operator(
    element: etree._Element, connected: Mapping[tuple[str, str], list[Connected]]
) -> Operator:
    own = element.get("index", "")
    outputs = (
        OutputPort(
            int(port.get("index", "")),
            port.get("name", ""),
            port.get("streamName", ""),
            tuple(sorted(set(connected.get((own, port.get("index", "")), ())))),
        )
        for port in element.iterfind("{*}outputPorts/{*}outputPort")
    )
    levels = [
        (int(level.get("regionIndex", "")), int(level.get("globalChannelIndex", "")))
        for level in element.iterfind("{*}parallelRegions/{*}parallelRegion")
    ]
    return Operator(
        element.get("name", ""),
        element.get("logicalName", ""),
        tuple(levels),
        tuple(
            (int(port.get("index", "")), port.get("name", ""))
            for port in element.iterfind("{*}inputPorts/{*}inputPort")
        ),
        tuple(outputs),
    )
