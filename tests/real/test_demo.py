"""`millrace demo --real`: everything at once, on a pair that is there and stays there."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from cli.connecting import JOBS, aclosing_transport
from services.chassis.kube.port import KubeClient
from services.chassis.process.errors import NotFound
from tests.patience import patient
from tests.places import ROOT
from tools.real.pair import existing_pair

COVERS = ("cli/demo*", "cli/stores.py", "cli/grounds.py", "tools/real/grounds.py")

pytestmark = [pytest.mark.real]
DEMO_S_MAX = patient(100.0)


async def test_the_demo_runs_on_the_pair_and_leaves_it_as_it_was() -> None:
    """Submitted, resized, cleaned up; the cluster answers afterwards and has no job of it."""
    pair = existing_pair(os.environ)
    if pair is None:
        pytest.skip("no pair: set MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS (real-up)")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", "demo", "--real"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(DEMO_S_MAX):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    said = output.decode()
    assert process.returncode == 0, said
    assert "Counted=5" in said
    assert "left alone   2  0, 4" in said
    async with aclosing_transport(pair.kubeconfig) as transport:
        with pytest.raises(NotFound):
            await KubeClient(transport, "test").get(JOBS, "default", "wordcount")
