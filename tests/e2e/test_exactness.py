"""Numbered tuples through a keyed region, while everything that people do happens to its job.

The applications really run. What arrives at the sink is held against the truth.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.e2e.watching import Cluster
from tests.numbered.app import is_skipped
from tests.numbered.sandboxed import (
    BUNDLE,
    ENDING,
    FAILING,
    FLOW_S_MAX,
    Numbered,
    Prepared,
    prepared,
    spec_of,
)
from tests.numbered.schedules import FUSIONS, START, play, schedule
from tests.patience import patient
from tests.pieces.suites import EXACT_PARTS

COVERS = ("millrace/runtime/*", "tests/numbered/*")

COUNT = int(os.environ.get("MILLRACE_EXACT_TUPLES", "30000"))
RATE = int(os.environ.get("MILLRACE_EXACT_RATE", "2500"))
FLOW_S = FLOW_S_MAX + patient(5 * COUNT / RATE)
"""A guard against hanging: the machine may be busy."""
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(patient(600) + FLOW_S),
    pytest.mark.flaky(reruns=0),
    pytest.mark.skipif(
        "MILLRACE_EXACT_SCHEDULES" not in os.environ,
        reason="a schedule takes about a minute of both cores: `make exact`",
    ),
]
SCHEDULES = int(os.environ.get("MILLRACE_EXACT_SCHEDULES", "0"))
SEED = int(os.environ.get("MILLRACE_EXACT_SEED", "0"))
"""That of the first schedule."""
ROUNDS = int(os.environ.get("MILLRACE_EXACT_ROUNDS", "1"))
"""How often a schedule goes through its widths: more of many tuples flow while things happen."""
FAILURES = 3
"""About at so many tuples a function raises; a restart that follows backs off, 10 s at first."""
AT_ONCE = int(os.environ.get("MILLRACE_EXACT_AT_ONCE", "5"))


async def one(around: Prepared, seed: int) -> str:
    """Play one schedule; what differs from the truth, empty where nothing does.

    In half of them, with each fusion, functions raise meanwhile; in a quarter the job ends.
    """
    each = schedule(seed, rounds=ROUNDS)
    kind = (FAILING, BUNDLE, FAILING, ENDING)[(seed + seed // len(FUSIONS)) % 4]
    fails = kind == FAILING
    async with around.cluster.job(f"exact-{seed}") as job:
        numbered = Numbered(around, job, COUNT, is_skipped if fails else lambda _: False)
        values = {"count": COUNT, "rate": RATE, "width": START}
        values |= {"every": COUNT // FAILURES} if fails else {}
        spec = spec_of(job.job, each.fusion, values, kind)
        await around.cluster.submit(job.job, spec)
        await job.until("running", job.all_running)
        await play(each, numbered)
        found = await numbered.found(FLOW_S)
        assert (numbered.failures >= FAILURES) == fails, "functions raise where they are to"
        if kind == ENDING:
            await numbered.until_completed()
            found = await numbered.found(FLOW_S)
    return "" if found.is_exact else f"{each}: {found}"


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.piece(f"exact/{number % EXACT_PARTS}"))
        for number, first in enumerate(range(SEED, SEED + max(SCHEDULES, 1), AT_ONCE))
    ],
)
async def test_no_tuple_is_lost_or_doubled_while_nobody_crashes(
    cluster: Cluster, tmp_path: Path, first: int, request: pytest.FixtureRequest
) -> None:
    """Several schedules at once, each with a job of its own: they share nodes and services."""
    if request.node.callspec.params["system"] == "real":
        pytest.skip("kwok plays the pods of the real pair: no tuple flows there")
    around = await prepared(cluster, tmp_path, BUNDLE, FAILING, ENDING)
    async with asyncio.TaskGroup() as group:
        seeds = range(first, min(first + AT_ONCE, SEED + max(SCHEDULES, 1)))
        played = [group.create_task(one(around, seed)) for seed in seeds]
    wrong = [found for each in played if (found := each.result())]
    assert not wrong, "\n".join(wrong)
