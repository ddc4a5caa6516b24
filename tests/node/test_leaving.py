"""A pair with a real node leaves nothing on the machine, also when all of it was killed.

It is the last test on the pair.
"""

from __future__ import annotations

import asyncio
import signal
import time

import pytest

from tests.node.grounds import Ground, Machine, left_behind, machine
from tests.node.steps import Steps
from tests.patience import patient
from tools.real.pair import pair_down, pair_status
from tools.real.processes import marked, send
from tools.real.progress import Progress

pytestmark = [pytest.mark.node, pytest.mark.timeout(patient(400))]
SETTLED_S_MAX = patient(15.0)
POLL_S = 0.5


async def test_nothing_of_a_killed_pair_is_left_on_the_machine(up: Ground, steps: Steps) -> None:
    """Processes, mounts, cgroups, namespaces, interfaces, routes, chains, settings, files."""
    state = up.folder.path
    _, parts = await pair_status(up.options)
    assert {"node", "containerd", "kubelet", "kube-proxy"} <= {part.name for part in parts}
    assert not [part for part in parts if part.problem]
    during = await asyncio.to_thread(machine)
    assert any(up.node.interface in line for line in during["links"])
    assert during["settings"] == up.before["settings"]
    assert during["chains"] == up.before["chains"]
    with steps.step("the pair is killed, and what it left is removed"), Progress() as progress:
        for process in marked(str(state)):
            send(process, signal.SIGKILL)
        await pair_down(up.options, progress)
    assert not marked(str(state))
    assert not state.exists()
    assert await asyncio.to_thread(_left_at_last, up.before) == {}


def _left_at_last(before: Machine) -> dict[str, list[str]]:
    """What is left; the kernel takes a network namespace back in its own time."""
    end_s = time.monotonic() + SETTLED_S_MAX
    while True:
        left = left_behind(before, machine())
        if not left or time.monotonic() > end_s:
            return left
        time.sleep(POLL_S)
