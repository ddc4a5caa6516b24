"""A pair with a real node leaves nothing on the machine, also when all of it was killed."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import pytest

from cli.real.pair import PairOptions, pair_status
from cli.real.processes import marked, send
from tests.node.grounds import ground, left_behind, machine

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
SETTLED_S_MAX = 15.0
POLL_S = 0.5


async def test_nothing_of_a_killed_pair_is_left_on_the_machine(tmp_path: Path) -> None:
    """Processes, mounts, cgroups, namespaces, interfaces, routes, chains, settings, files."""
    before = await asyncio.to_thread(machine)
    state = tmp_path / "pair"
    async with ground(state) as up:
        _, parts = await pair_status(PairOptions(state))
        assert {"node", "containerd", "kubelet", "kube-proxy"} <= {part.name for part in parts}
        assert not [part for part in parts if part.problem]
        during = await asyncio.to_thread(machine)
        assert any(up.node.interface in line for line in during["links"])
        assert during["settings"] == before["settings"]
        assert during["chains"] == before["chains"]
        for process in marked(str(up.folder.path)):
            send(process, signal.SIGKILL)
    assert not marked(str(state))
    assert not state.exists()
    assert await asyncio.to_thread(_left_at_last, before) == {}


def _left_at_last(before: dict[str, set[str]]) -> dict[str, list[str]]:
    """What is left; the kernel takes a network namespace back in its own time."""
    end_s = time.monotonic() + SETTLED_S_MAX
    while True:
        left = left_behind(before, machine())
        if not left or time.monotonic() > end_s:
            return left
        time.sleep(POLL_S)
