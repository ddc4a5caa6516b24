"""`make bench-resize`: a region of a running job goes from 3 to 5 channels under load.

On `millrace up`, with PEs as processes: how long a key waits for its next tuple, and how many
tuples were lost or came twice.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson

from cli import jobs, submitting
from cli.connecting import Cluster, connected
from cli.following import following
from cli.layouts import UpOptions
from cli.running import RunningSystem, running_system
from cli.showing import Screen, answer_lines, print_lines
from loadtest import resized_flow
from loadtest.api import Api
from loadtest.recording import PAGE, record
from millrace.loading import load_file

JOB: Final = "resized"
CLAIM: Final = "state"
RATE: Final = 50_000
SECONDS: Final = 40
WAIT_S: Final = 300.0
Result = dict[str, Any]


async def _until(found: Callable[[], Result], count: int) -> Result:
    """What the sink saw, as soon as so many tuples came."""
    async with asyncio.timeout(WAIT_S):
        while True:
            result = found()
            if result.get("count", 0) >= count:
                return result
            await asyncio.sleep(0.2)


async def _resized(system: RunningSystem, folder: Path, state: Path, tuples: int) -> str:
    source = Path(resized_flow.__file__)
    shutil.copy(source, folder / source.name)
    bundle = load_file(folder / source.name, "app").bundle(folder / f"{JOB}.sab")
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(Api.of(system.kubeconfig))
        await api.call("POST", "/api/v1/namespaces/default/persistentvolumeclaims", _CLAIM)
        cluster: Cluster = await stack.enter_async_context(connected(system.kubeconfig))
        submission = submitting.Submission(
            bundle,
            name=JOB,
            fusion="legacy",
            params=(f"count={tuples}", f"rate={RATE}"),
            spec={"processingElement": _TEMPLATE},
        )
        await submitting.submit(cluster, submission, system.bundles)
        follower = await stack.enter_async_context(following(cluster.kube, "default", JOB))
        screen = Screen()
        await jobs.wait_running(follower, screen, WAIT_S)

        def found() -> Result:
            for path in state.rglob(Path(resized_flow.RESULT).name):
                return dict(orjson.loads(path.read_bytes()))
            return {}

        before = await _until(found, tuples // 4)
        begun = time.monotonic()
        await jobs.scale(cluster, "default", JOB, "Wide=5", screen, wait=True, timeout_s=WAIT_S)
        seconds = time.monotonic() - begun
        after = await _until(found, tuples - tuples % resized_flow.EVERY)
        return _report(before, after, seconds)


def _report(before: Result, after: Result, seconds: float) -> str:
    gaps = list(after["longest"].values())
    usual = median(before["longest"].values())
    return (
        f"resize 3 → 5 at {before['count'] / before['seconds']:,.0f} tuples/s: a key waits "
        f"{median(gaps):.1f} s for its next tuple, at most {max(gaps):.1f} s (without a resize "
        f"{usual:.2f} s); {after['lost']} lost, {after['doubled']} doubled, {after['miscounted']} "
        f"miscounted of {after['count']:,}; the command took {seconds:.1f} s"
    )


_CLAIM: Final = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": CLAIM},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}
_TEMPLATE: Final = {
    "image": "millrace/runtime:0.1.0",
    "checkpointRepository": {"fileSystem": {"volumeClaim": {"name": CLAIM}}},
    "dataVolumeClaim": {"name": CLAIM, "subPath": "data"},
}


async def _run(tuples: int) -> str:
    with tempfile.TemporaryDirectory(prefix="millrace-resize-") as name:
        folder = Path(name)
        options = UpOptions(folder / "kubeconfig", state=folder / "state")
        async with running_system(options, print_lines) as system:
            return await _resized(system, folder, folder / "state", tuples)


def main(words: Sequence[str]) -> int:
    """Measure one resize; the exit code."""
    numbers = [int(each) for each in words if each.isdigit()]
    text = asyncio.run(_run(numbers[0] if numbers else RATE * SECONDS))
    answer_lines(text)
    if "--record" in words:
        record(PAGE, "make bench-resize", text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
