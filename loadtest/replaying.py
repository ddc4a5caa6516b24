"""`make bench-replay`: what a replay of many facts costs.

Facts of nodes, bound pods and pods that nothing follows from are in a recording, with one decision
of each of two services at their end. Measured are CPU seconds on one core, and all the memory of
the process. The figures are aims of a machine: reported, not asserted. Given recordings, it says
what their decisions cost instead (`deciding.py`).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import orjson

from cli.showing import answer, answer_lines, print_lines
from contracts import labels
from contracts.decisions import (
    DECISION_TYPE,
    OBSERVATION_TYPE,
    DecisionRecord,
    ObjectsRead,
    Observation,
    ObservationsRecord,
    Position,
)
from contracts.envelope import Envelope, to_headers
from contracts.facts import Epoch, Fact, FactType, project
from contracts.topics import CLUSTER, DECISIONS, RESOURCES, TopicLayout
from history.entries import partition_named
from history.manifests import Manifest, PartitionKept
from history.recordings import FramesWriter, RecordingSource, manifest_frame
from history.replaying import Wanted, replayed
from loadtest.deciding import lines_of
from loadtest.deciding import measured as decisions_measured
from services.chassis.log.bus import Record
from services.chassis.process.collecting import collector_paused, freeze

FACTS: Final = 1_000_000
AIMED_S, AIMED_BYTES = 30.0, 500 * 1024 * 1024
NODES, PODS = 5_000, 50_000
_LAYOUT: Final = TopicLayout()
_EPOCH: Final = Epoch(1, 1, "bench")
_AT_S: Final = 1_764_000_000.0
_IN_CLUSTER, _IN_RESOURCES = f"{CLUSTER.suffix}/0", f"{RESOURCES.suffix}/0"
_DECIDED: Final = f"{DECISIONS.suffix}/0"


@dataclass(frozen=True, slots=True)
class Measured:
    """One replay, in seconds of CPU; `peak_bytes` is all that the process held."""

    facts: int
    decisions: int
    cpu_s: float
    peak_bytes: int


# --------------------------------------------------------------------------- the recording


def _record(name: str, offset: int, key: str, type_: str, value: Any) -> Record:
    envelope = Envelope(f"{name}@{offset}", "bench", type_, key, _AT_S + offset, "0" * 32)
    partition = partition_named(name, _LAYOUT)
    body = orjson.dumps(value)
    return Record(partition, offset, _AT_S, key.encode(), body, to_headers(envelope))


def _fact(name: str, offset: int, kind: str, at: int, version: int) -> Record:
    namespace, object_name = ("", f"node-{at}") if kind == "Node" else ("load", f"pod-{at}")
    fact = Fact(
        FactType.MODIFICATION,
        kind,
        namespace,
        object_name,
        f"uid-{kind}-{at}",
        version,
        _EPOCH,
        "load",
        project(kind, _OBJECTS[kind](at, version)),
    )
    return _record(name, offset, fact.key, fact.type, fact.to_json())


def _node(at: int, version: int) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"node-{at}",
            "uid": f"uid-Node-{at}",
            "labels": {labels.HOSTNAME: f"node-{at}"},
        },
        "spec": {"unschedulable": version % 2 == 0},
        "status": {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "addresses": [{"type": "InternalIP", "address": f"10.1.{at // 250}.{at % 250}"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pod(at: int, version: int) -> dict[str, Any]:
    marks = {labels.APP: labels.APP_VALUE, labels.JOB: "load", labels.PE: str(at)}
    pe = {"kind": "ProcessingElement", "name": f"load-{at}", "uid": f"uid-{at}"}
    owner = pe | {"controller": True}
    requests = {"cpu": f"{250 + version % 5}m", "memory": "256Mi"}
    return {
        "metadata": {
            "name": f"pod-{at}",
            "namespace": "load",
            "uid": f"uid-Pod-{at}",
            "labels": marks,
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": f"node-{at % NODES}",
            "containers": [{"name": "pe", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Running", "startTime": "2026-11-24T16:00:00Z"},
    }


_OBJECTS: Final = {"Node": _node, "BoundPod": _pod, "Pod": _pod}


def _cluster_facts(facts: int) -> Iterator[Record]:
    """Of ten facts of the cluster one is of a node."""
    for offset in range(facts):
        kind, of = ("Node", NODES) if offset % 10 == 0 else ("BoundPod", PODS)
        yield _fact(_IN_CLUSTER, offset, kind, offset % of, offset + 1)


def _job_facts(facts: int) -> Iterator[Record]:
    for offset in range(facts):
        yield _fact(_IN_RESOURCES, offset, "Pod", offset % PODS, offset + 1)


def _decided(ends: dict[str, int]) -> Iterator[Record]:
    """The starts of two services, and a decision of each on all facts."""
    offsets = count()
    nodes = -(-ends[_IN_CLUSTER] // 10)
    for service, key, parts, read in (
        ("hostpool-manager", "/cluster", [_IN_CLUSTER], ends[_IN_CLUSTER]),
        (
            "pod-state-machine",
            "load/load-7",
            [_IN_CLUSTER, _IN_RESOURCES],
            nodes + ends[_IN_RESOURCES],
        ),
    ):
        first = dict.fromkeys(parts, 0)
        observed = (
            Observation(1, "started", {"release": "", "settings": {}}, {}),
            Observation(2, "assigned", {"partitions": parts}, {}),
            Observation(3, "reading", {"offsets": first}, {}),
        )
        packed = ObservationsRecord(service, "", service, observed)
        yield _record(_DECIDED, next(offsets), service, OBSERVATION_TYPE, packed.to_json())
        known = {name: ends[name] for name in parts}
        position = Position("", service, known, read, 3)
        decision = DecisionRecord(
            service, key, "Measured", now=_AT_S + FACTS, position=position, objects=ObjectsRead()
        )
        yield _record(_DECIDED, next(offsets), "load/load", DECISION_TYPE, decision.to_json())


def write(path: Path, facts: int) -> None:
    """A recording of so many facts, six tenths of them of the cluster."""
    of_cluster = facts * 6 // 10
    ends = {_IN_CLUSTER: of_cluster, _IN_RESOURCES: facts - of_cluster}
    parts = {
        _IN_CLUSTER: _cluster_facts(of_cluster),
        _IN_RESOURCES: _job_facts(facts - of_cluster),
        _DECIDED: _decided(ends),
    }
    kept: dict[str, PartitionKept] = {}
    frames = path.with_suffix(".frames")
    with frames.open("w+b") as file:
        writer = FramesWriter(file)
        for name, records in parts.items():
            end = 0
            for record in records:
                writer.add(record)
                end = record.offset + 1
            kept[name] = PartitionKept(0, end, frames=writer.end_partition())
    manifest = manifest_frame(Manifest(_LAYOUT, _AT_S, partitions=kept))
    with path.open("wb") as whole, frames.open("rb") as file:
        whole.write(manifest)
        while chunk := file.read(1024 * 1024):
            whole.write(chunk)
    frames.unlink()


# --------------------------------------------------------------------------- measuring


@collector_paused()
def measured(path: Path, facts: int) -> Measured:
    """Replay a recording as the command does, and measure it."""
    return asyncio.run(replay(path, facts))


async def replay(path: Path, facts: int) -> Measured:
    """Replay a recording, and measure it."""
    source, decisions = RecordingSource(path), 0
    begun_s = time.process_time()
    async with (
        replayed(source, Wanted(has_changes=False), freeze=freeze) as played,
        aclosing(played.steps()) as steps,
    ):
        async for step in steps:
            decisions += 1
            if step.again is None:
                raise RuntimeError(f"{step.place}: {step.compared.sentence}")
    cpu_s = time.process_time() - begun_s
    return Measured(facts, decisions, cpu_s, _peak_bytes())


def _peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("/proc/self/status has no VmHWM")


def _in_a_process(*words: object) -> str:
    command = [sys.executable, "-m", "loadtest.replaying", *map(str, words)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def main(words: Sequence[str]) -> int:
    """Write and replay, or measure the decisions of recordings; the exit code."""
    if words and not words[0].isdecimal():
        for word in words:
            answer_lines("\n".join((word, *lines_of(decisions_measured(Path(word))))))
        return 0
    facts = int(words[0]) if words else FACTS
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bench.rec"
        print_lines(f"writing {facts} facts")
        _in_a_process("write", path, facts)
        print_lines("replaying them")
        found = Measured(**json.loads(_in_a_process("replay", path, facts)))
    answer(
        f"{found.facts} facts that nothing follows from: {found.cpu_s:.1f} s of CPU (aim:"
        f" {AIMED_S * facts / FACTS:.0f}), {found.peak_bytes / 2**20:.0f} MiB (aim:"
        f" {AIMED_BYTES / 2**20:.0f})"
    )
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", to, number]:
            write(Path(to), int(number))
        case ["replay", of, number]:
            answer_lines(orjson.dumps(measured(Path(of), int(number))).decode())
        case rest:
            sys.exit(main(rest))
