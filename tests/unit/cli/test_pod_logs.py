"""`millrace logs JOB`: lines for people, or with `-o json` as a program can read them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from sandbox.http.api import Api
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import serving
from sandbox.store.steering import LOG
from tests.builders import a_job, a_pe, a_pod
from tests.places import ROOT
from tests.sandboxed import Sandboxed

LONG = "x" * 10_000
"""More than a line for people may have."""


def written(event: str) -> str:
    names = {"job": "shop", "pe": 0, "launch": 1}
    at = "2027-01-15T08:00:00+00:00"
    line = {"timestamp": at, "level": "error", "logger": "counted", "event": event, **names}
    return json.dumps(line)


@asynccontextmanager
async def two_pes(folder: Path, *lines: str) -> AsyncIterator[Path]:
    """The kubeconfig of a cluster with a job of two PEs that have logged these lines."""
    sandboxed = Sandboxed()
    sandboxed.create(a_job("shop"))
    for pe_id in (0, 1):
        sandboxed.create(a_pe("shop", pe_id).orphaned())
        pod = a_pod("shop", pe_id).orphaned()
        pod = pod.with_spec(containers=[{"name": "pe", "image": "runtime:1"}])
        pod = pod.having("metadata", "annotations", value={LOG: "".join(f"{x}\n" for x in lines)})
        sandboxed.create(pod, api_version="v1")
    async with serving(Api(sandboxed.cluster.store, now=sandboxed.clock.now)) as port:
        write_kubeconfig(folder / "kubeconfig", port=port)
        yield folder / "kubeconfig"


async def logs(cluster: AbstractAsyncContextManager[Path], *options: str) -> list[str]:
    """The lines of the command, in a process of its own beside the server."""
    async with cluster as kubeconfig:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "cli", "logs", "shop", "--kubeconfig", str(kubeconfig)),
            *options,
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode().splitlines()


async def test_lines_of_a_job_begin_with_the_pe_and_are_words_for_people(tmp_path: Path) -> None:
    lines = await logs(two_pes(tmp_path, written("one\ntwo"), "plain \x1b words"))
    assert lines == [
        f"shop-{pe}  {line}"
        for pe in (0, 1)
        for line in (
            "2027-01-15 08:00:00.000  error    counted: one",
            "    two",
            "plain \\x1b words",
        )
    ]


async def test_a_program_reads_each_line_as_it_was_written(tmp_path: Path) -> None:
    """Of any length, and without the name of its PE, which the line has itself."""
    lines = await logs(two_pes(tmp_path, written(LONG)), "-o", "json")
    assert [json.loads(line)["event"] for line in lines] == [LONG, LONG]
