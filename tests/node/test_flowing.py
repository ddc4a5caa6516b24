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
from cli.real.node.plan import KEY, NODE_NAME
from loadtest.api import CORE, Api
from tests.e2e.watching import JobObjects, Obj
from tests.node.counts import Counts, served_counts, wrong
from tests.node.grounds import Ground
from tests.node.installation import installed
from tests.node.installing import JOBS_NAMESPACE, NAMESPACE, RUNTIME_IMAGE
from tests.node.profiles import CLAIM as STORE_CLAIM
from tests.node.profiles import make_volume
from tests.node.steps import Steps
from tests.places import ROOT

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]
BUNDLE = "numbers.sab"
JOB, REGION, CLAIM = "numbers", "Counted", "states"
OUTSIDE = 4
"""PEs outside the region: Ticks, Numbers, Shown, Posted."""
WIDTHS = (3, 5)
ENOUGH = 200
"""Counts that are waited for before and after the resize: 4,000 tuples each."""
WAIT_S = 180.0
POLL_S = 0.2
METRICS_PORT = 9696


async def test_tuples_flow_through_containers_and_a_resize_loses_none(
    up: Ground, steps: Steps, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Job names no image: fusion-backend gives its PEs that of its setting."""
    source = ROOT / "tests" / "node" / "counting" / "app.py"
    content = pack_source(source, tmp_path / BUNDLE).read_bytes()
    async with (
        served_counts(up.node.host_ip) as counts,
        installed(up, steps, {BUNDLE: content}, tmp_path / "bundles") as there,
    ):
        await _make_store(there.api, tmp_path / "states")
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
                steps.began("the job is deleted")
            steps.passed("the job is deleted")
        finally:
            with steps.step("helm uninstall"):
                await there.installer.uninstall()
            await _remove_stores(there.api)
    with capsys.disabled():
        sys.stdout.write("".join(f"\n  {line}" for line in lines))


def _spec(url: str) -> Obj:
    """Its pods are on the real node, where the image is."""
    toleration = {"key": KEY, "operator": "Exists"}
    pod = {"nodeSelector": {KEY: "true"}, "tolerations": [toleration]}
    claim = {"fileSystem": {"volumeClaim": {"name": CLAIM}}}
    return {
        "bundle": {"name": BUNDLE},
        "fusion": {"legacy": True},
        "imagePullPolicy": "Never",
        "submissionTimeValues": {"url": url, "width": str(WIDTHS[0])},
        "processingElement": {
            "podTemplate": {"spec": pod},
            "checkpointDataStore": claim,
            # Where the machine is shared, seven interpreters may take long to start.
            "initialProbeDelayInSeconds": 120,
        },
    }


async def _make_store(api: Api, folder: Path) -> None:
    """A claim that every node reaches: there is one."""
    await make_volume(api, JOBS_NAMESPACE, folder, claim=CLAIM, mode="ReadWriteMany")
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": f"{CLAIM}-{JOBS_NAMESPACE}",
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM}}
    await api.call("POST", f"{CORE}/persistentvolumeclaims", body | {"spec": spec})


async def _remove_stores(api: Api) -> None:
    """The claims and volumes, which an uninstallation keeps."""
    for namespace, claim in ((JOBS_NAMESPACE, CLAIM), (NAMESPACE, STORE_CLAIM)):
        claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        await api.call("DELETE", f"{claims}/{claim}")
        await api.call("DELETE", f"/api/v1/persistentvolumes/{claim}-{namespace}")


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
