"""`millrace demo`: the whole system in a minute, on an application of our own."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from cli import jobs, submitting
from cli.bundling import pack_folder
from cli.connecting import Cluster, connected
from cli.following import following
from cli.layouts import UpOptions
from cli.resources import WORDCOUNT
from cli.running import RunningSystem, running_system
from cli.showing import Screen

JOB = "wordcount"
REGION = "Counted"
WIDTH_BEFORE = 3
WIDTH_AFTER = 5
WAIT_S = 120.0

_KEPT = """
It keeps running until Ctrl-C. In another terminal:

  export KUBECONFIG={kubeconfig}
  kubectl get stj,stp,stpr            # the job, its processing elements, its parallel region
  kubectl get pods -o wide
  kubectl scale stpr {job}-0 --replicas=2
  kubectl get stp -w
  {millrace} get {job}
  {millrace} scale {job} {region}=4
"""


async def demonstrate(
    console: Screen,
    *,
    keep: bool,
    kubeconfig: Path | None,
    real: bool = False,
    pair: Path | None = None,
) -> int:
    """Run the demo; returns its exit code."""
    with tempfile.TemporaryDirectory(prefix="millrace-demo-") as folder:
        target = (kubeconfig or Path(folder) / "kubeconfig").resolve()
        options = UpOptions(target, real=real, pair=pair)
        async with running_system(options, console.print) as system:
            await _show(console, system, Path(folder))
            if keep:
                kept = _KEPT.format(kubeconfig=target, job=JOB, region=REGION, millrace=_command())
                console.print(kept, soft_wrap=True)
                await _until_stopped()
            if real:
                await _clean_up(system)
    return 0


async def _show(console: Screen, system: RunningSystem, folder: Path) -> None:
    async with AsyncExitStack() as stack:
        cluster: Cluster = await stack.enter_async_context(connected(system.kubeconfig))
        bundle = pack_folder(WORDCOUNT, folder / f"{JOB}.sab")
        console.rule(f"submit {bundle.name}, parallel region {REGION} of width {WIDTH_BEFORE}")
        submission = submitting.Submission(
            bundle, name=JOB, fusion="legacy", widths=(f"{REGION}={WIDTH_BEFORE}",)
        )
        await submitting.submit(cluster, submission, system.bundles)
        follower = await stack.enter_async_context(following(cluster.kube, "default", JOB))
        await jobs.wait_running(follower, console, WAIT_S)
        console.rule(f"resize {REGION} {WIDTH_BEFORE} → {WIDTH_AFTER}")
        outcome = await jobs.scale(
            cluster,
            "default",
            JOB,
            f"{REGION}={WIDTH_AFTER}",
            console,
            wait=True,
            timeout_s=WAIT_S,
        )
        console.print(outcome)


def _command() -> str:
    """How this command was called, for a person who calls it again."""
    called = Path(sys.argv[0])
    return sys.argv[0] if called.name == "millrace" else "python -m cli"


async def _clean_up(system: RunningSystem) -> None:
    """A pair may go on without us, and the next demo wants the job's name."""
    async with connected(system.kubeconfig) as cluster:
        await jobs.delete(cluster, "default", JOB, wait_s=WAIT_S)


async def _until_stopped() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
