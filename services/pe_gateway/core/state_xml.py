"""The document of `/api/state`: jobs, PEs, operators, ports and connections, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import quoteattr

from services.pe_gateway.core.outlines import Operator, OutputPort, PeOutline

NAMESPACE: Final = "http://www.ibm.com/xmlns/prod/streams/api/state"
USER: Final = "streams"


class JobState(NamedTuple):
    """A job with the outline of each of its PEs by id, and its regions' names by index."""

    id: int
    name: str
    application: str
    regions: Mapping[int, str]
    pes: Mapping[int, PeOutline]


def state_xml(namespace: str, jobs: Sequence[JobState]) -> bytes:
    """The document, sorted by ids and indexes."""
    return "".join(_instance(namespace, jobs)).encode()


def _instance(namespace: str, jobs: Sequence[JobState]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    yield f'<instance xmlns="{NAMESPACE}"{_attribute("id", namespace)}>'
    for job in sorted(jobs):
        yield f"<job{_attribute('id', job.id)}{_attribute('name', job.name)}"
        yield f"{_attribute('applicationName', job.application)}{_attribute('user', USER)}>"
        for pe in sorted(job.pes):
            yield f"<pe{_attribute('id', pe)}>"
            for operator in sorted(job.pes[pe].operators):
                yield from _operator(operator, job.regions)
            yield "</pe>"
        yield "</job>"
    yield "</instance>"


def _operator(operator: Operator, regions: Mapping[int, str]) -> Iterator[str]:
    yield f"<operator{_attribute('name', operator.name)}"
    yield f"{_attribute('logicalName', operator.logical_name)}>"
    for region, channel in operator.channels:
        name = _attribute("logicalName", regions.get(region, ""))
        yield f"<parallelChannel{_attribute('index', channel)}{name}/>"
    for index, name in operator.inputs:
        yield f"<inputPort{_attribute('index', index)}{_attribute('name', name)}/>"
    for port in operator.outputs:
        yield from _output(port)
    yield "</operator>"


def _output(port: OutputPort) -> Iterator[str]:
    yield f"<outputPort{_attribute('index', port.index)}{_attribute('name', port.name)}"
    yield f"{_attribute('streamName', port.stream)}>"
    for pe, number in port.connections:
        yield f"<connection{_attribute('inputPeId', pe)}{_attribute('inputPortIndex', number)}/>"
    yield "</outputPort>"


def _attribute(name: str, value: str | int) -> str:
    return f" {name}={quoteattr(str(value))}"
