"""The namespaces that the node lives in, its link to the machine, and its cgroups.

1. `unshare` makes a PID, a mount and a network namespace, with the pause program as first process.
2. Some folders are empty there, because the programs write to them whatever their options are, and
   settings of the kernel are files: nothing of the machine is changed.
3. A pair of interfaces joins both networks; it ends with the node's.
4. Programs of the node are started through `nsenter`.

When the first process is killed, the kernel kills all others in the namespace, also those of pods.
Cgroups alone outlive them: `remove_cgroups`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from cli.failing import Failure
from tools.real.node.parts import ENVIRONMENT, KERNEL_SETTINGS, kernel_file, node_folder
from tools.real.node.plan import NodePlan
from tools.real.processes import ProcessId, identify, stat_of

NODE = "node"
"""The part that holds the namespaces."""
EMPTY_FOLDERS = ("/run", "/var/lib", "/var/log")
LINK = "eth0"
SETUP_TIMEOUT_S = 30.0
CHILD_TIMEOUT_S = 10.0
CGROUPS_GRACE_S = 10.0
POLL_S = 0.02
CPUSET_FILES = ("cpuset.cpus", "cpuset.mems")
_UNSHARE = ("/usr/bin/unshare", "--mount", "--net", "--pid", "--fork", "--kill-child")


def holding_command(node: NodePlan) -> tuple[str, ...]:
    """Makes the namespaces and holds them until it is killed."""
    return (*_UNSHARE, "--mount-proc", "--", str(Path(node.build) / "bin" / "pause"))


def entering(first: ProcessId) -> tuple[str, ...]:
    """What stands before a command line to run it in the namespaces."""
    return ("/usr/bin/nsenter", f"--target={first.pid}", "--mount", "--net", "--pid", "--")


async def child_of(parent: ProcessId) -> ProcessId:
    """The only child of `unshare` or `nsenter`: the program itself. Raises Failure."""
    end_s = time.monotonic() + CHILD_TIMEOUT_S
    while time.monotonic() < end_s:
        children = children_of(parent)
        if children:
            return children[0]
        if identify(parent.pid) != parent:
            break
        await asyncio.sleep(POLL_S)
    raise Failure("the namespaces of the node could not be made or entered")


def children_of(parent: ProcessId) -> list[ProcessId]:
    """The running children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            stat = stat_of(int(entry.name))
            if stat is not None and stat.parent == parent.pid:
                found.append(identify(int(entry.name)))
    return [child for child in found if child is not None]


async def furnish_namespaces(node: NodePlan, folder: Path, first: ProcessId) -> None:
    """Mounts, settings and the link, right after the namespaces were made. Raises Failure."""
    await asyncio.to_thread(make_cgroups, node)
    for command in setup_commands(node, folder, first):
        await _run(command)


def setup_commands(node: NodePlan, folder: Path, first: ProcessId) -> list[tuple[str, ...]]:
    """The commands that furnish the namespaces, in order."""
    enter = entering(first)
    mounts: list[tuple[str, ...]] = [
        (*enter, "mount", "-t", "tmpfs", "tmpfs", path) for path in EMPTY_FOLDERS
    ]
    own = node_folder(folder)
    for name in filter(lambda name: Path("/proc/sys", name).exists(), KERNEL_SETTINGS):
        file = str(kernel_file(own, name))
        mounts.append((*enter, "mount", "--bind", file, f"/proc/sys/{name}"))
    name, inside = node.interface, (*enter, "ip")
    link: list[tuple[str, ...]] = [
        (*inside, "link", "set", "lo", "up"),
        ("ip", "link", "add", name, "type", "veth", "peer", "name", LINK, "netns", str(first.pid)),
        ("ip", "address", "add", f"{node.host_ip}/30", "dev", name),
        ("ip", "link", "set", name, "up"),
        (*inside, "address", "add", f"{node.node_ip}/30", "dev", LINK),
        (*inside, "link", "set", LINK, "up"),
        (*inside, "route", "add", "default", "via", node.host_ip),
        (*enter, "sysctl", "-qw", "net.ipv4.ip_forward=1"),
        ("ip", "route", "add", node.pod_network, "via", node.node_ip),
    ]
    return [*mounts, *link]


async def _run(command: Sequence[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=ENVIRONMENT,
    )
    try:
        async with asyncio.timeout(SETUP_TIMEOUT_S):
            printed, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Failure(f"`{' '.join(command)}` did not end in {SETUP_TIMEOUT_S:g} s") from None
    if process.returncode:
        raise Failure(f"`{' '.join(command)}` failed: {printed.decode(errors='replace').strip()}")


def hierarchies(mounts: str) -> list[Path]:
    """Where cgroups are mounted, by the text of /proc/mounts; several places with version 1."""
    rows = [line.split() for line in mounts.splitlines()]
    return [Path(where) for _what, where, kind, *_ in rows if kind in ("cgroup", "cgroup2")]


def make_cgroups(node: NodePlan) -> None:
    """Make the cgroup below which the kubelet keeps its pods, in every hierarchy."""
    for hierarchy in hierarchies(Path("/proc/mounts").read_text()):
        own = hierarchy / node.cgroup
        own.mkdir(exist_ok=True)
        for name in CPUSET_FILES:  # a new cpuset of version 1 is empty, and takes no process
            file = own / name
            if file.exists() and not file.read_text().strip():
                file.write_text((hierarchy / name).read_text())


def remove_cgroups(node: NodePlan) -> None:
    """Remove the node's cgroups, when its processes have ended. Blocks. Raises Failure."""
    end_s = time.monotonic() + CGROUPS_GRACE_S
    while True:
        left = [
            path
            for hierarchy in hierarchies(Path("/proc/mounts").read_text())
            if (path := hierarchy / node.cgroup).is_dir() and not _removed(path)
        ]
        if not left:
            return
        if time.monotonic() > end_s:
            raise Failure(
                f"cgroups of the real node cannot be removed: {', '.join(map(str, left))}"
            )
        time.sleep(POLL_S)


def _removed(path: Path) -> bool:
    """Whether a cgroup and all below it could be removed; the kernel frees them in its own time."""
    for folder, _folders, _files in os.walk(path, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    return not path.is_dir()
