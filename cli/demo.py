"""`millrace demo`: the whole system in half a minute, on applications of our own.

On the embedded cluster a job counts words while its region is resized, and what it counted is
compared with the truth. On a real control plane pods are played: there is a plan, and no tuple.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from cli import demo_job, jobs, submitting
from cli.bundling import pack_folder, pack_source
from cli.connecting import Cluster, connected
from cli.flowing import AFTER, BEFORE, DURING, count_table, number
from cli.following import following
from cli.layouts import UpOptions
from cli.live import JobView, compare
from cli.resources import SENTENCES, WORDCOUNT
from cli.running import RunningSystem, running_system
from cli.showing import Screen, cell
from cli.stores import create_claim

PLAYED_JOB = "wordcount"
REGION = demo_job.REGION
WIDTH_BEFORE = 3
WIDTH_AFTER = 5
WAIT_S = 120.0
RATE = 500
BEFORE_S = 3.0
SENTENCES_COUNT = 7_000
KEPT_COUNT = 1_000_000_000

_KEPT = """
It keeps running until Ctrl-C, and {job} goes on with more sentences. In another terminal:

  export KUBECONFIG={kubeconfig}
  {millrace} tap {job} {region} --limit 10  # tuples as they pass
  {millrace} scale {job} {region}=2
  {millrace} get {job}
  kubectl get stj,stp,stpr            # the job, its processing elements, its parallel region
  kubectl get pods -o wide
  kubectl scale stpr {job}-0 --replicas=4
"""
_KEPT_PLAYED = """
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
    """Run the demo; returns its exit code: 1 if what was counted is not the truth."""
    with tempfile.TemporaryDirectory(prefix="millrace-demo-") as folder:
        target = (kubeconfig or Path(folder) / "kubeconfig").resolve()
        options = UpOptions(target, real=real, pair=pair)
        async with running_system(options, console.print) as system:
            show = _show_played if real else _show
            is_true = await show(console, system, Path(folder))
            if keep:
                await _keep(console, system, Path(folder), target, real=real)
            if real:
                await _clean_up(system)
    return 0 if is_true else 1


async def _show(console: Screen, system: RunningSystem, folder: Path) -> bool:
    """Count words through a resize; returns whether every word was counted once."""
    truth = demo_job.truth_of(SENTENCES_COUNT)
    async with AsyncExitStack() as stack:
        cluster: Cluster = await stack.enter_async_context(connected(system.kubeconfig))
        await create_claim(cluster, "default", demo_job.STORE)
        bundle = pack_source(SENTENCES / "app.py", folder / f"{demo_job.JOB}.sab")
        sentences = f"{number(SENTENCES_COUNT)} sentences, {number(RATE)} a second"
        console.rule(f"{sentences}: {REGION} has {WIDTH_BEFORE} channels")
        await _submit(cluster, system, bundle, SENTENCES_COUNT)
        follower = await stack.enter_async_context(following(cluster.kube, "default", demo_job.JOB))
        with console.status("waiting for the pods"):
            await jobs.wait_running(follower, console, WAIT_S, quiet=True)
        async with demo_job.watched(cluster, follower, console) as found:
            await found.until_flowing(WIDTH_BEFORE, WAIT_S)
            found.flow.phase = BEFORE
            await asyncio.sleep(BEFORE_S)
            found.flow.phase = DURING
            before, after, moved_s = await demo_job.resized(cluster, found, WIDTH_AFTER, WAIT_S)
            found.flow.phase = AFTER
            counted = await found.counts(truth, WAIT_S)
        console.print(_resize_text(before, after, moved_s))
        return _compare(console, counted, truth, found.lost)


async def _submit(cluster: Cluster, system: RunningSystem, bundle: Path, count: int) -> None:
    submission = submitting.Submission(
        bundle,
        name=demo_job.JOB,
        fusion="legacy",
        widths=(f"{REGION}={WIDTH_BEFORE}",),
        params=(f"count={count}", f"rate={RATE}"),
        store=demo_job.STORE,
    )
    await submitting.submit(cluster, submission, system.bundles)


def _resize_text(before: JobView, after: JobView, moved_s: float) -> str:
    outcome = compare(before, after, moved_s)
    return (
        f"\nresized {WIDTH_BEFORE} → {WIDTH_AFTER} in {moved_s:.1f} s:"
        f" {len(outcome.restarted)} PEs handed their state over,"
        f" {len(outcome.added)} are new, {len(outcome.untouched)} ran on\n"
    )


def _compare(
    console: Screen, counted: Mapping[str, int], truth: Mapping[str, int], lost: int
) -> bool:
    console.rule("what the job counted")
    console.print(count_table(counted, truth), "")
    is_true = counted == truth
    words = f"{number(sum(truth.values()))} words"
    if is_true:
        text = f"{words}, each counted once: the resize lost {lost} tuples"
        console.print(cell(f"✓ {text}", "bold green"))
    else:
        found = number(sum(counted.values()))
        text = f"{words} came, and {found} were counted; PEs report {lost} lost tuples"
        console.print(cell(f"✗ {text}", "bold red"))
    return is_true


async def _show_played(console: Screen, system: RunningSystem, folder: Path) -> bool:
    """Plan and resize on a control plane whose pods are played."""
    async with AsyncExitStack() as stack:
        cluster: Cluster = await stack.enter_async_context(connected(system.kubeconfig))
        bundle = pack_folder(WORDCOUNT, folder / f"{PLAYED_JOB}.sab")
        console.print("The pods of this control plane are played, so no tuple flows.")
        console.rule(f"submit {bundle.name}, parallel region {REGION} of width {WIDTH_BEFORE}")
        submission = submitting.Submission(
            bundle, name=PLAYED_JOB, fusion="legacy", widths=(f"{REGION}={WIDTH_BEFORE}",)
        )
        await submitting.submit(cluster, submission, system.bundles)
        follower = await stack.enter_async_context(following(cluster.kube, "default", PLAYED_JOB))
        await jobs.wait_running(follower, console, WAIT_S)
        console.rule(f"resize {REGION} {WIDTH_BEFORE} → {WIDTH_AFTER}")
        width = f"{REGION}={WIDTH_AFTER}"
        outcome = await jobs.scale(
            cluster, "default", PLAYED_JOB, width, console, wait=True, timeout_s=WAIT_S
        )
        console.print(outcome)
    return True


async def _keep(
    console: Screen, system: RunningSystem, folder: Path, kubeconfig: Path, *, real: bool
) -> None:
    """Leave it running until a signal; sentences go on."""
    if not real:
        async with connected(system.kubeconfig) as cluster:
            await jobs.delete(cluster, "default", demo_job.JOB, wait_s=WAIT_S)
            await _submit(cluster, system, folder / f"{demo_job.JOB}.sab", KEPT_COUNT)
    text, job = (_KEPT_PLAYED, PLAYED_JOB) if real else (_KEPT, demo_job.JOB)
    kept = text.format(kubeconfig=kubeconfig, job=job, region=REGION, millrace=_command())
    console.print(kept, soft_wrap=True)
    await _until_stopped()


def _command() -> str:
    """How this command was called, for a person who calls it again."""
    called = Path(sys.argv[0])
    return sys.argv[0] if called.name == "millrace" else "python -m cli"


async def _clean_up(system: RunningSystem) -> None:
    """A pair may go on without us, and the next demo wants the job's name."""
    async with connected(system.kubeconfig) as cluster:
        await jobs.delete(cluster, "default", PLAYED_JOB, wait_s=WAIT_S)


async def _until_stopped() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    await stop.wait()
