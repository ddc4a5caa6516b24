"""Counts everybody's writes by kind and writer, on the sandbox and on the real pair.

1. The API server counts the requests that it answered with success, by verb and resource.
2. The services count theirs. What is left is of Kubernetes, or of the benchmark.
3. Who that is follows from the resource: each of them has one controller that writes it.

Leases are not counted: they are the heartbeats of processes. Events are counted by themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Final, NamedTuple

from loadtest.api import Api
from loadtest.scraping import REQUESTS, WRITES, Gauges, Reading, Series

EVENTS: Final = "events"
LEASES: Final = "leases"
ENDPOINTS: Final = ("endpoints", "endpointslices")
SERVER_REQUESTS: Final = "apiserver_request_total"
OTHERS: Final = "others"
WRITERS: Final[Mapping[str, str]] = {
    "endpoints": "endpoints controller",
    "endpointslices": "endpoint slice controller",
    "pods/binding": "scheduler",
    "pods/status": "kubelet, garbage collector",
    "pods": "kubelet, garbage collector",
    "nodes": "kubelet",
    "nodes/status": "kubelet",
}
"""Who writes a resource beside the services."""
_SAMPLE: Final = re.compile(rf"^{SERVER_REQUESTS}\{{([^}}]*)\}} ([0-9.e+-]+)$", re.M)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


class Write(NamedTuple):
    """A kind of write: to a resource, with its subresource, by a writer."""

    resource: str
    verb: str
    writer: str = ""


def counted_by_server(metrics: str) -> Counter[Write]:
    """The writes that an API server has answered with success, from its Prometheus text."""
    found: Counter[Write] = Counter()
    for labels, value in _SAMPLE.findall(metrics):
        each = dict(_LABEL.findall(labels))
        subresource = each.get("subresource", "")
        resource = f"{each['resource']}/{subresource}" if subresource else each["resource"]
        if _is_counted(each["verb"], resource, each["code"]):
            found[Write(resource, _verb(each["verb"]))] += int(float(value))
    return found


def counted_by_services(samples: Mapping[Series, float]) -> Counter[Write]:
    """The same that the services have counted of their own."""
    found: Counter[Write] = Counter()
    for (name, pairs), value in samples.items():
        each = dict(pairs)
        if name == REQUESTS and _is_counted(each["verb"], each["resource"], each["code"]):
            found[Write(each["resource"], _verb(each["verb"]), each["service"])] += int(value)
    return found


class Counts(NamedTuple):
    """The writes that the API server has counted so far, and what the services say."""

    server: Counter[Write]
    reading: Reading


async def counts_until_now(api: Api, gauges: Gauges) -> Counts:
    """Both, as they are now."""
    server = counted_by_server(await api.metrics())
    return Counts(server, await gauges.read(api.session))


def _is_counted(verb: str, resource: str, code: str) -> bool:
    return (verb in WRITES or verb == "APPLY") and resource != LEASES and code.startswith("2")


def _verb(verb: str) -> str:
    return "PATCH" if verb == "APPLY" else verb


@dataclass(frozen=True, slots=True)
class Tally:
    """The writes of everybody in one step, by kind and writer."""

    writes: Mapping[Write, int] = field(default_factory=dict)

    @staticmethod
    def of(server: Mapping[Write, int], services: Mapping[Write, int]) -> Tally:
        """What the API server counted, with the writers that are known or follow."""
        left = Counter(server)
        for write, count in services.items():
            left[Write(write.resource, write.verb)] -= count
        others = Counter[Write]()
        for write, count in left.items():
            writer = WRITERS.get(write.resource, OTHERS)
            others[write._replace(writer=writer)] += max(0, count)
        return Tally({write: n for write, n in (Counter(services) + others).items() if n})

    @staticmethod
    def between(before: Counts, after: Counts) -> Tally:
        """The writes from one reading of both counts to a later one."""
        now, then = (counted_by_services(each.reading.samples) for each in (after, before))
        return Tally.of(after.server - before.server, now - then)

    def count(self, *resources: str) -> int:
        """Writes to these resources; without any, to all but Events."""
        return sum(
            n
            for write, n in self.writes.items()
            if (write.resource in resources if resources else write.resource != EVENTS)
        )


_SUMS: Final[Mapping[str, tuple[str, ...]]] = {
    "Endpoints and EndpointSlices": ENDPOINTS,
    "all but Events": (),
}


def render(tallies: Iterable[tuple[str, int, Tally]]) -> str:
    """A table of medians: step, new and changed PEs together, and the tally of a run."""
    grouped: dict[tuple[str, int], list[Tally]] = {}
    for step, pes, tally in tallies:
        grouped.setdefault((step, pes), []).append(tally)
    lines = ["| writes | PEs | resource | verb | writer | count | a PE |", "|---" * 7 + "|"]
    for (step, pes), runs in grouped.items():
        found = {write for run in runs for write in run.writes}
        counts = {each: median(run.writes.get(each, 0) for run in runs) for each in found}
        for write, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            kind = f"{write.resource} | {write.verb} | {write.writer}"
            lines.append(f"| {step} | {pes} | {kind} | {count:.0f} | {_a_pe(count, pes)} |")
        for word, resources in (
            ("Endpoints and EndpointSlices", ENDPOINTS),
            ("all but Events", ()),
        ):
            count = median(run.count(*resources) for run in runs)
            lines.append(f"| {step} | {pes} | **{word}** | | | {count:.0f} | {_a_pe(count, pes)} |")
    return "\n".join(lines)


def _a_pe(count: float, pes: int) -> str:
    return f"{count / pes:.2f}" if pes else ""
