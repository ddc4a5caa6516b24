"""Tuples flow on a real node: containers of the image of millrace's runtime, and the DNS.

The times and the memory that are printed are measured, not judged: machines differ.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
from aiohttp import ClientSession

from cli.bundling import pack_source
from loadtest.api import Api
from tests.e2e.watching import JobObjects, Obj
from tests.node.counts import Counts, served_counts, wrong
from tests.node.grounds import Ground
from tests.node.installation import Installation, installed
from tests.node.installing import JOBS_NAMESPACE, NAMESPACE, RUNTIME_IMAGE
from tests.node.profiles import CLAIM as STORE_CLAIM
from tests.node.profiles import make_store, remove_store
from tests.node.scheduling import COUNT, RATE, SEEDS, NodePrepared, on_real_node, outcome
from tests.node.steps import Steps
from tests.numbered.sandboxed import BUNDLE as NUMBERED
from tests.numbered.sandboxed import CLAIM as NUMBERED_CLAIM
from tests.patience import patient
from tests.places import ROOT
from tools.real.node.plan import NODE_NAME

pytestmark = [pytest.mark.node, pytest.mark.timeout(patient(900 + 5 * COUNT / RATE))]
_TESTS = ROOT / "tests"
BUNDLE = "numbers.sab"
JOB, REGION, CLAIM = "numbers", "Counted", "states"
OUTSIDE = 4
"""PEs outside the region: Ticks, Numbers, Shown, Posted."""
WIDTHS = (3, 5)
ENOUGH = 200
"""Counts that are waited for before and after the resize: 4,000 tuples each."""
WAIT_S = patient(180.0)
POLL_S = 0.2
METRICS_PORT = 9696


async def test_tuples_flow_through_containers_and_neither_resize_nor_schedule_loses_one(
    up: Ground, steps: Steps, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Job names no image: fusion-backend gives its PEs that of its setting."""
    bundles = {
        BUNDLE: pack_source(_TESTS / "node" / "counting" / "app.py", tmp_path / BUNDLE),
        NUMBERED: pack_source(_TESTS / "numbered" / "app.py:app", tmp_path / NUMBERED),
    }
    contents = {name: path.read_bytes() for name, path in bundles.items()}
    async with (
        served_counts(up.node.host_ip) as counts,
        installed(up, steps, contents, tmp_path / "bundles") as there,
    ):
        await make_store(there.api, JOBS_NAMESPACE, CLAIM, tmp_path / "states")
        await make_store(there.api, JOBS_NAMESPACE, NUMBERED_CLAIM, tmp_path / "numbered")
        try:
            async with there.cluster.job(JOB) as job:
                with steps.step("a job is submitted, until 4,000 tuples were counted"):
                    await there.cluster.submit(JOB, _spec(counts.url))
                    await _until_running(job, WIDTHS[0])
                    await _until(counts, ENOUGH)
                _check_pods(list(job.live_pods().values()))
                lines = await _measured(list(job.live_pods().values()))
                with steps.step(f"{WIDTHS[0]} → {WIDTHS[1]} while tuples flow"):
                    await there.cluster.resize(job, REGION, WIDTHS[1])
                    await _until_running(job, WIDTHS[1])
                with steps.step("4,000 tuples more"):
                    await _until(counts, len(counts) + ENOUGH)
                lines.append(f"hand-over: {job.status.get('handOver')}")
                assert wrong(counts.seen) == []
                assert await _rejected(there) == []
                steps.began("the job is deleted")
            steps.passed("the job is deleted")
            lines += await _exact(there, tmp_path / "numbered", steps)
        finally:
            with steps.step("helm uninstall"):
                await there.installer.uninstall()
            await _remove_stores(there.api)
    with capsys.disabled():
        sys.stdout.write("".join(f"\n  {line}" for line in lines))


async def _rejected(there: Installation) -> list[str]:
    """Writes that the API server rejected: an admission policy may be too narrow."""
    return [line for each in there.services for line in await each.rejected()]


async def _exact(there: Installation, folder: Path, steps: Steps) -> list[str]:
    """Play the schedules; a line of what each measured."""
    around = NodePrepared(there.cluster, folder, pods=there.services)
    with steps.step(f"schedules {SEEDS} of {COUNT:,} tuples each"):
        async with asyncio.TaskGroup() as group:
            played = [group.create_task(outcome(around, seed)) for seed in SEEDS]
    outcomes = [each.result() for each in played]
    assert all(each.found.is_exact for each in outcomes), "\n".join(map(str, outcomes))
    assert await _rejected(there) == []
    return list(map(str, outcomes))


def _spec(url: str) -> Obj:
    claim = {"fileSystem": {"volumeClaim": {"name": CLAIM}}}
    spec = {
        "bundle": {"name": BUNDLE},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"url": url, "width": str(WIDTHS[0])},
        "processingElement": {"checkpointDataStore": claim},
    }
    return on_real_node(spec)


async def _remove_stores(api: Api) -> None:
    for namespace, claim in (
        (JOBS_NAMESPACE, CLAIM),
        (JOBS_NAMESPACE, NUMBERED_CLAIM),
        (NAMESPACE, STORE_CLAIM),
    ):
        await remove_store(api, namespace, claim)


async def _until_running(job: JobObjects, width: int) -> None:
    """Every PE has a pod that runs and is connected."""
    await job.until(
        f"{width} channels that run and are connected",
        lambda: (
            job.width_in_force(REGION) == width
            and len(job.of("pes")) == width + OUTSIDE
            and job.all_running()
            and all(_is_connected(pe) for pe in job.of("pes").values())
        ),
        WAIT_S,
    )


def _is_connected(pe: Obj) -> bool:
    return bool((pe.get("status") or {}).get("connectivity") == "Full")


async def _until(counts: Counts, many: int) -> None:
    async with asyncio.timeout(WAIT_S):
        while len(counts) < many:  # noqa: ASYNC110 - a request of a container brings them
            await asyncio.sleep(POLL_S)


def _check_pods(pods: Sequence[Obj]) -> None:
    for pod in pods:
        assert pod["spec"]["nodeName"] == NODE_NAME
        (container,) = pod["spec"]["containers"]
        assert container["image"] == RUNTIME_IMAGE


async def _measured(pods: Sequence[Obj]) -> list[str]:
    """What the pods took to start, and what they use, one line each."""
    lines = []
    async with ClientSession() as session:
        for pod in pods:
            address = pod["status"]["podIP"]
            async with session.get(f"http://{address}:{METRICS_PORT}/metrics") as answer:
                assert answer.status == 200
                text = await answer.text()
            counted = {
                line.partition("{")[0]: line.rpartition(" ")[2]
                for line in text.splitlines()
                if "tuples_processed{" in line or "tuples_submitted{" in line
            }
            assert counted
            lines.append(f"{pod['metadata']['name']}: {_start_of(pod)}; {_memory_of(pod)}")
    return lines


def _start_of(pod: Obj) -> str:
    (status,) = pod["status"]["containerStatuses"]
    created = _moment(pod["metadata"]["creationTimestamp"])
    started = _moment(status["state"]["running"]["startedAt"])
    return f"{(started - created).total_seconds():.0f} s from the pod to its process"


def _memory_of(pod: Obj) -> str:
    """The resident memory of its process, which the machine sees, too."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and f"pod{pod['metadata']['uid']}" in (
                (entry / "cgroup").read_text()
            ):
                words = (entry / "cmdline").read_bytes()
                if b"streams-k8s-bootstrap" in words:
                    status = (entry / "status").read_text()
                    (line,) = (each for each in status.splitlines() if each.startswith("VmRSS"))
                    return f"{int(line.split()[1]) / 1000:.0f} MB resident"
        except (FileNotFoundError, ProcessLookupError):
            continue
    return "its process is not seen"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
