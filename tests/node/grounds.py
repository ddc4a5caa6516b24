"""A pair with a real node, for the tests of this folder; what it may not leave behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.real.node.plan import NodePlan
from cli.real.pair import Pair, PairOptions, pair_down, pair_up
from cli.real.progress import Progress
from cli.real.state import PairFolder

SERVICES_IMAGE_SETTING = "MILLRACE_NODE_SERVICES_IMAGE"
KAFKA_IMAGE_SETTING = "MILLRACE_NODE_KAFKA_IMAGE"
"""Files that `docker save` would write; `make test-node` sets them."""
SETTINGS = (SERVICES_IMAGE_SETTING, KAFKA_IMAGE_SETTING)
PES_NODES = 4
HIDDEN = ("/run", "/var/lib", "/var/log")


@dataclass(frozen=True, slots=True)
class Ground:
    """A pair that is up, with one real node."""

    pair: Pair
    folder: PairFolder
    node: NodePlan

    @property
    def api_server_port(self) -> int:
        """The port of the API server."""
        plan = self.folder.plan()
        assert plan is not None
        return plan.ports["kube-apiserver"]


@asynccontextmanager
async def ground(state: Path, *images: Path) -> AsyncIterator[Ground]:
    """Bring a pair with a real node up; it is down at the end, come what may."""
    options = PairOptions(state, 1, PES_NODES, True, images)
    with Progress() as progress:
        try:
            pair = await pair_up(options, progress)
            plan = options.folder.plan()
            assert plan is not None
            assert plan.node is not None
            yield Ground(pair, options.folder, plan.node)
        finally:
            await pair_down(options, progress)


def image_of(setting: str) -> Path:
    """The file of an image that `make test-node` built."""
    return Path(os.environ[setting])


def machine() -> dict[str, set[str]]:
    """What of the machine a node could leave changed, by kind."""
    return {
        "links": set(_lines("ip", "-o", "link", "show")),
        "routes": set(_lines("ip", "route", "show")),
        "chains": {
            line
            for table in ("filter", "nat", "mangle")
            for line in _lines("iptables", "-t", table, "-S")
        },
        "mounts": set(Path("/proc/mounts").read_text().splitlines()),
        "namespaces": set(_lines("lsns", "--noheadings", "--output", "NS,TYPE")),
        "cgroups": {
            str(path) for path in Path("/sys/fs/cgroup").rglob("*millrace-node-*") if path.is_dir()
        },
        "settings": set(
            _lines(
                "sysctl",
                "kernel.panic",
                "kernel.panic_on_oops",
                "vm.overcommit_memory",
                "net.ipv4.ip_forward",
            )
        ),
        "files": {str(path) for folder in HIDDEN for path in Path(folder).iterdir()},
    }


def left_behind(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, list[str]]:
    """What there is after and was not before, or the other way round; other pairs excepted."""
    found = {kind: sorted(before[kind] ^ after[kind]) for kind in before}
    return {kind: lines for kind, lines in found.items() if lines}


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
