"""A pair with a real node, for the tests of this folder; what it may not leave behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.real.node.plan import NodePlan
from tools.real.pair import Pair, PairOptions, pair_down, pair_up
from tools.real.progress import Progress
from tools.real.state import PairFolder

SERVICES_IMAGE_SETTING = "MILLRACE_NODE_SERVICES_IMAGE"
RUNTIME_IMAGE_SETTING = "MILLRACE_NODE_RUNTIME_IMAGE"
KAFKA_IMAGE_SETTING = "MILLRACE_NODE_KAFKA_IMAGE"
"""Files that `docker save` would write; `make test-node` sets them."""
SETTINGS = (SERVICES_IMAGE_SETTING, RUNTIME_IMAGE_SETTING, KAFKA_IMAGE_SETTING)
PES_NODES = 4
Machine = dict[str, set[str]]
"""What of the machine a node could leave changed, by kind."""
HIDDEN = ("/run", "/var/lib", "/var/log")


@dataclass(frozen=True, slots=True)
class Ground:
    """A pair that is up, with one real node; it took `took_s` with its images."""

    pair: Pair
    options: PairOptions
    node: NodePlan
    before: Machine
    took_s: float

    @property
    def folder(self) -> PairFolder:
        """Where everything of the pair is."""
        return self.options.folder

    @property
    def api_server_port(self) -> int:
        """The port of the API server."""
        plan = self.folder.plan()
        assert plan is not None
        return plan.ports["kube-apiserver"]


@contextmanager
def ground(state: Path) -> Iterator[Ground]:
    """Bring a pair with a real node up; it is down at the end, come what may."""
    images = tuple(map(image_of, SETTINGS))
    options = PairOptions(state, 1, PES_NODES, True, images)
    before, began_s = machine(), time.monotonic()
    with Progress() as progress:
        try:
            pair = asyncio.run(pair_up(options, progress))
            plan = options.folder.plan()
            assert plan is not None
            assert plan.node is not None
            yield Ground(pair, options, plan.node, before, time.monotonic() - began_s)
        finally:
            asyncio.run(pair_down(options, progress))


def image_of(setting: str) -> Path:
    """The file of an image that `make test-node` built."""
    return Path(os.environ[setting])


def machine() -> Machine:
    """It as it is now."""
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


def left_behind(before: Machine, after: Machine) -> dict[str, list[str]]:
    """What there is after and was not before, or the other way round; other pairs excepted."""
    found = {kind: sorted(before[kind] ^ after[kind]) for kind in before}
    return {kind: lines for kind, lines in found.items() if lines}


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
