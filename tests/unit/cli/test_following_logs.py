"""`logs --follow` goes on until Ctrl-C, which ends it with 130 and without a traceback."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.unit.cli.served_cluster import served_cluster
from tests.unit.cli.test_interrupting import STARTED


@pytest.mark.parametrize("name", ["shop-0", "shop"])
async def test_ctrl_c_ends_logs_that_are_followed(tmp_path: Path, name: str) -> None:
    """Of a PE, and of a job, whose other PE has no pod."""
    async with served_cluster(tmp_path) as kubeconfig:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", STARTED, "logs", name, "--follow"),
            *("--kubeconfig", str(kubeconfig)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert b"a line" in await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert await process.communicate() == (b"", b"")
        assert process.returncode == 130
