"""Finds what a machine lacks to run a real node, as one sentence with the way to get it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from cli.failing import Misused

CNI_FOLDER = Path("/usr/lib/cni")
CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
# The programs that the node needs, and Debian's packages of them.
PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "ip": "iproute2",
    "sysctl": "procps",
    "mount": "mount",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
SEARCHED = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian's programs only: a containerd starts the first shim of the PATH, and another version's
does not answer it."""
# One try tells more than any list of a kernel's options: namespaces, a bridge, veth, iptables.
TRIAL = (
    "ip link add trial-bridge type bridge && ip link add trial-a type veth peer name trial-b"
    " && iptables -t nat -S >/dev/null"
)
TRIAL_TIMEOUT_S = 20.0
CONTROLLERS = ("cpu", "memory", "pids")


async def checked_containerd() -> str:
    """The version of containerd on a machine that can run a node. Raises Misused."""
    if os.geteuid() != 0:
        raise Misused(
            "--node needs root, for namespaces, mounts and cgroups: run the command as root, or "
            "leave --node out."
        )
    lacking = missing_packages(_found, _plugins())
    if lacking:
        raise Misused(
            f"--node needs packages that are missing: apt-get install -y --no-install-recommends "
            f"{' '.join(lacking)}"
        )
    problem = missing_controllers(_controllers()) or await _refused_trial()
    if problem:
        raise Misused(
            f"--node needs a kernel and rights that this machine does not give: {problem}. Run it "
            "in a virtual machine, or leave --node out."
        )
    code, printed = await _output([_program("containerd"), "--version"])
    found = re.search(r"(\d+\.\d+\.\d+)", printed)
    if code or found is None:
        raise Misused(f"--node needs containerd, and `containerd --version` says: {printed[:200]}")
    return found[1]


def missing_packages(found: Callable[[str], bool], plugins: Sequence[str]) -> list[str]:
    """Debian's packages of the programs and CNI plugins that are missing."""
    lacking = {package for program, package in PACKAGES.items() if not found(program)}
    if set(CNI_PLUGINS) - set(plugins):
        lacking.add("containernetworking-plugins")
    return sorted(lacking)


def missing_controllers(table: str) -> str:
    """What of /proc/cgroups a kubelet cannot do without."""
    rows = [line.split() for line in table.splitlines() if line and not line.startswith("#")]
    enabled = {name for name, _hierarchy, _cgroups, is_enabled in rows if is_enabled == "1"}
    missing = [name for name in CONTROLLERS if name not in enabled]
    return f"no cgroup controller {', '.join(missing)}" if missing else ""


async def _refused_trial() -> str:
    command = [_program("unshare"), "--mount", "--net", "--pid", "--fork", "--mount-proc"]
    code, printed = await _output([*command, "--", "/bin/sh", "-c", TRIAL])
    return "" if not code else (printed.strip().splitlines() or [f"exit code {code}"])[-1]


async def _output(command: Sequence[str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": SEARCHED},
    )
    try:
        async with asyncio.timeout(TRIAL_TIMEOUT_S):
            printed, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return 1, f"`{' '.join(command[:2])}` did not end in {TRIAL_TIMEOUT_S:g} s"
    return process.returncode or 0, printed.decode(errors="replace")


def _program(name: str) -> str:
    found = shutil.which(name, path=SEARCHED)
    assert found is not None, "checked before"
    return found


def _found(name: str) -> bool:
    return shutil.which(name, path=SEARCHED) is not None


def _controllers() -> str:
    return Path("/proc/cgroups").read_text()


def _plugins() -> list[str]:
    return [file.name for file in CNI_FOLDER.iterdir()] if CNI_FOLDER.is_dir() else []
