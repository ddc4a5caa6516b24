"""The placement part of `make bench`: jobs of 500 PEs on 5,000 nodes, ordinary and at the edge.

The unit is one numpy pass over a matrix of 500 × 5,000 in the same process: does each PE fit on
each node? The ordinary job has tags, pools, colocation, exlocation and requests, and fits easily. A
job at the edge just fits or just does not. Times are milliseconds of CPU, the best of some runs.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cli.showing import answer, answer_lines
from contracts.scheduling.nodes import Node
from placement.answers import Answer, Placed, Refused
from placement.cluster import Cluster
from placement.deciding import decide
from placement.job import Job, Pe, Pool
from placement.taken import Pod

PES, NODES, WAITING = 500, 5_000, 100
PASSES = 15
"""Repetitions of measurements that take milliseconds, against pauses of the machine."""
AIMED_ORDINARY, AIMED_EDGE = 5.0, 300.0
"""The passes that a decision may take: reported, not asserted."""
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Decided:
    """One measured decision; `ratio` is its time in passes."""

    name: str
    answer: str
    seconds: float
    ratio: float
    aim: float


def measure_all(runs: int, report: Callable[[str], None]) -> list[Decided]:
    """Measure the ordinary job, a hundred of them in a row, and ten jobs at the edge."""
    report("placement")
    cluster = a_cluster()
    pass_s = one_pass()
    runs_of_short = max(runs, PASSES)
    rows = [_measured("ordinary", cluster, ordinary(), pass_s, AIMED_ORDINARY, runs_of_short)]
    rows += _waiting(cluster, pass_s, runs)
    for name, at_edge, job in edges():
        rows.append(_measured(name, at_edge or cluster, job, pass_s, AIMED_EDGE, runs))
    return rows


def _waiting(cluster: Cluster, pass_s: float, runs: int) -> list[Decided]:
    """A hundred ordinary jobs, one after the other on one cluster; returns first and last."""
    jobs = [replace(ordinary(seed), name=f"load/waiting{seed}") for seed in range(WAITING)]
    best: dict[int, Decided] = {}
    for _ in range(max(1, runs)):
        fresh = replace(cluster, remembered={})
        for at, job in enumerate(jobs):
            taken = _measured(
                f"{at + 1} of {WAITING} that wait", fresh, job, pass_s, AIMED_ORDINARY, 1
            )
            best[at] = min(best.get(at, taken), taken, key=lambda each: each.seconds)
    return [best[0], best[WAITING - 1]]


def one_pass() -> float:
    """Seconds to compare the request of every PE with the free CPU of every node."""
    numbers = np.random.default_rng(7)
    free = numbers.integers(0, 4_000, (1, NODES))
    requested = numbers.integers(100, 2_000, (PES, 1))
    taken = []
    for _ in range(PASSES):
        start = time.process_time()
        (free >= requested).sum(axis=1)
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def _measured(
    name: str, cluster: Cluster, job: Job, pass_s: float, aim: float, runs: int
) -> Decided:
    best, answer = float("inf"), None
    for _ in range(max(1, runs)):
        new = replace(job)  # without caches of the run before
        start = time.process_time()
        answer = decide(cluster, new)
        best = min(best, time.process_time() - start)
    return Decided(name, _outcome(answer), best, best / pass_s, aim)


def _outcome(answer: Answer | None) -> str:
    match answer:
        case Placed():
            return "placed"
        case Refused():
            return answer.why.value
    return "unknown"


# --------------------------------------------------------------------------- clusters and jobs


def a_cluster() -> Cluster:
    """5,000 nodes of three sizes, some with tags, and 20,000 other pods."""
    draw = random.Random(11)
    nodes = []
    for at in range(NODES):
        cpu = draw.choice([8_000, 16_000, 32_000])
        tags = {f"tag.streams.ibm.com/{tag}": "" for tag in ("ib", "blue") if draw.random() < 0.2}
        labels = tags | {"topology.kubernetes.io/zone": f"z{at % 3}"}
        allocatable = {"cpu": cpu, "memory": cpu * 4 * GIB // 1_000, "pods": 110}
        nodes.append(Node(f"node-{at:04}", labels, (f"10.1.{at // 250}.{at % 250}",), allocatable))
    pods = [
        Pod(
            f"node-{draw.randrange(NODES):04}",
            {"cpu": draw.choice([100, 500, 1_000, 2_000]), "memory": draw.choice([1, 2, 4]) * GIB},
        )
        for _ in range(4 * NODES)
    ]
    return Cluster.of(nodes, pods)


def ordinary(seed: int = 13) -> Job:
    """500 PEs with two pools, colocation, exlocation and a named host."""
    draw = random.Random(seed)
    pools = (
        Pool(0, "Blue", size=40, tags=("blue",)),
        Pool(1, "Own", is_exclusive=True, size=20, tags=("ib",)),
    )
    pes = []
    for at in range(PES):
        requests = {"cpu": draw.choice([500, 1_000]), "memory": draw.choice([1, 2]) * GIB}
        pes.append(
            Pe(
                id=at,
                requests=requests,
                host="node-0042" if at == 7 else "",
                pool=0 if at % 10 == 0 else 1 if at % 10 == 1 else None,
                colocations=frozenset({f"c{at // 50}"} if at % 25 == 2 else ()),
                exlocations=frozenset({f"e{at % 2}"} if at % 10 > 6 else ()),
            )
        )
    return Job("load/ordinary", tuple(pes), pools)


def edges() -> Iterator[tuple[str, Cluster | None, Job]]:
    """Name, cluster and job; None is `a_cluster()`. Each job just fits or just does not."""
    few = _tagged_cluster(120)
    for fits in (True, False):
        word = "just fit" if fits else "one too many"
        yield f"exlocation on all tagged nodes, {word}", few, _apart(120 if fits else 121)
        yield f"bins filled by threes, {word}", few, _bins(120, 0 if fits else 1)
        yield f"exclusive pools that take all tags, {word}", few, _pools(120 if fits else 121)
        yield f"groups that fill nodes, {word}", few, _groups(120 if fits else 121)
        yield f"places apart in sized pools, {word}", few, _mixed(60 if fits else 61)


def _tagged_cluster(tagged: int) -> Cluster:
    """5,000 nodes; the first `tagged` carry the tag that the jobs require."""
    nodes = [
        Node(
            f"node-{at:04}",
            {"tag.streams.ibm.com/edge": ""} if at < tagged else {},
            (),
            {"cpu": 10_000, "memory": 64 * GIB, "pods": 110},
        )
        for at in range(NODES)
    ]
    return Cluster.of(nodes)


_EDGE = Pool(0, "Edge", tags=("edge",))


def _rest(count: int) -> tuple[Pe, ...]:
    """PEs without constraints, up to 500 in all."""
    return tuple(Pe(at, {"cpu": 250}) for at in range(count, PES))


def _apart(count: int) -> Job:
    apart = frozenset({"apart"})
    pes = [Pe(at, {"cpu": 1_000}, pool=0, exlocations=apart) for at in range(count)]
    return Job(f"load/apart{count}", (*pes, *_rest(count)), (_EDGE,))


def _bins(nodes: int, more: int) -> Job:
    """Three PEs fill each node to the last milli-CPU; most first choices lead to a dead end."""
    draw = random.Random(17)
    sizes = []
    for _ in range(nodes):
        one = draw.choice([2_200, 2_600, 3_100])
        other = draw.choice([2_900, 3_300, 3_700])
        sizes += [one, other, 10_000 - one - other]
    sizes += [250] * more
    pes = [Pe(at, {"cpu": size}, pool=0) for at, size in enumerate(sizes)]
    return Job(f"load/bins{more}", (*pes, *_rest(len(pes))), (_EDGE,))


def _pools(nodes: int) -> Job:
    sizes = [nodes // 3, nodes // 3, nodes - 2 * (nodes // 3)]
    pools = tuple(
        Pool(at, f"Own{at}", is_exclusive=True, size=size, tags=("edge",))
        for at, size in enumerate(sizes)
    )
    pes = [Pe(at, {"cpu": 6_000}, pool=at % 3) for at in range(90)]
    return Job(f"load/pools{nodes}", (*pes, *_rest(90)), pools)


def _groups(count: int) -> Job:
    pes = [
        Pe(at, {"cpu": 5_000}, pool=0, colocations=frozenset({f"c{at // 2}"}))
        for at in range(2 * count)
    ]
    return Job(f"load/groups{count}", (*pes, *_rest(len(pes))), (_EDGE,))


def _mixed(size: int) -> Job:
    """Two pools share the tagged nodes, one is exclusive; the PEs of each are apart."""
    pools = (
        Pool(0, "Own", is_exclusive=True, size=size, tags=("edge",)),
        Pool(1, "Edge", size=60, tags=("edge",)),
    )
    pes = []
    for at in range(size + 60):
        pool = 0 if at < size else 1
        sizes = {"cpu": 9_000 if at % 3 else 7_000}
        pes.append(Pe(at, sizes, pool=pool, exlocations=frozenset({f"e{pool}"})))
    return Job(f"load/mixed{size}", (*pes, *_rest(len(pes))), pools)


# --------------------------------------------------------------------------- the report


def render(rows: Sequence[Decided]) -> str:
    """The table for people."""
    lines = [f"{PES} PEs on {NODES} nodes {'':30} answer                       ms  passes  aim"]
    lines += [
        f"{row.name:52} {row.answer:24} {1000 * row.seconds:8.1f} {row.ratio:7.1f} {row.aim:4.0f}"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    answer_lines(render(measure_all(3, answer)))
