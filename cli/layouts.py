"""Where everything of one `millrace up` lives: its options, folders, ports, commands.

Nothing starts here: `running.py` starts the children that are defined here.
"""

from __future__ import annotations

import os
import random
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cli.children import ChildSpec
from cli.contexts import context_of_up, new_info, read_checked
from cli.controlling import SOCKET
from cli.failing import Misused
from cli.folders import refuse_missing
from cli.grounds import PREFIX_SETTING, Ground
from cli.kubeconfigs import read_as_kubeconfig
from cli.ports import LOOPBACK, free_ports, taken
from cli.private import PID_FILE, TEMPORARY_FILE, private_folder, private_state
from cli.resources import CRDS
from contracts.runtime_image import BOOTSTRAP
from contracts.topics import DEFAULT_PREFIX
from services.chassis.kube.kubeconfig_files import access_of, read_kubeconfig
from services.chassis.process.settings import variable_of
from services.roster import BY_NAME, NAMES, SERVICES

SANDBOX_NEEDS = ("cel", "h11", "httptools", "jsonpatch", "jsonschema_rs", "starlette", "uvicorn")
"""The modules of the extra `sandbox`."""
SANDBOX = "sandbox"
INNER_KUBECONFIG = "admin.kubeconfig"
"""The kubeconfig of the embedded cluster itself."""
LOG = "log.sqlite"
PODS = "run"
"""The folder of the files of pods that are processes."""
RUNTIME_IMAGES = "millrace/runtime*"
"""The repositories of images whose pods are processes on the sandbox."""
STATE_PATTERNS = (
    "logs",
    "bundles",
    "store",
    "accounts",
    PODS,
    SOCKET,
    PID_FILE,
    TEMPORARY_FILE,
    INNER_KUBECONFIG,
    f".{INNER_KUBECONFIG}.*",
    "kubeconfig",  # of an earlier release, or a --kubeconfig in this folder
    ".kubeconfig.*",
    f"{LOG}*",
)
"""Patterns of the files in a state folder, with SQLite's side files and kubeconfig drafts."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The options of `millrace up`; port 0 means a free one.

    `create`: a bundle root that does not exist is created.
    `real`: on Apache Kafka and a real control plane; `pair` is the folder of that pair. Only then a
    service may have several `instances`: a log in a file serves one of each.
    """

    kubeconfig: Path
    nodes: int = 4
    bundles: Path | None = None
    create: bool = False
    api_port: int = 0
    state: Path | None = None
    services: tuple[str, ...] = NAMES
    real: bool = False
    pair: Path | None = None
    instances: int = 1

    def __post_init__(self) -> None:
        if self.instances > 1 and not self.real:
            raise Misused(
                "--instances needs --real: a log in a file serves one instance of each service"
            )
        if self.pair is not None and not self.real:
            raise Misused(f"--pair {self.pair} needs --real")
        if self.api_port and self.real:
            raise Misused(
                f"--api-port {self.api_port} is for the embedded API server; with --real the API "
                "server is that of the pair"
            )


def child_name(service: str, number: int = 1) -> str:
    """The name of an instance of a service; the first one has no number."""
    return service if number == 1 else f"{service}-{number}"


def sandbox_bus(state: Path) -> str:
    """The value of MILLRACE_BUS for a system on the sandbox."""
    return f"sqlite:///{state / LOG}"


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Raise Misused, with the path and the reason, if a path cannot be written."""
    try:
        yield
    except OSError as problem:
        raise Misused(f"{path} cannot be written: {problem.strerror}") from None


class Layout:
    """Where everything of one running system lives: ports, files, commands."""

    def __init__(self, options: UpOptions, state: Path) -> None:
        self.options = options
        refuse_missing("--bundles", options.bundles, may_be_created=options.create)
        with _usable(state):
            private_state(state, STATE_PATTERNS)
        self.state = state = state.resolve()
        self.was_used = (state / LOG).exists()
        self.name = uuid.uuid4().hex[:12]  # makes MILLRACE_INSTANCE unique to this `up`
        self.logs = state / "logs"
        self.bundles = (options.bundles or state / "bundles").resolve()
        for folder in (self.logs, self.bundles, state / "store"):
            with _usable(folder):
                if folder.is_relative_to(state):
                    private_folder(folder)
                else:  # the bundle root that somebody names may be for several people
                    folder.mkdir(parents=True, exist_ok=True)
        if not options.real and options.api_port and taken(options.api_port):
            raise Misused(f"--api-port {options.api_port}: {LOOPBACK} has that port taken")
        numbers = range(1, options.instances + 1)
        children = {child_name(row.name, n): row for row in SERVICES for n in numbers}
        served = {
            name: [each for each in row.ports if not each.switch] for name, row in children.items()
        }
        wanted = 1 + len(children) + sum(map(len, served.values()))
        free = iter(free_ports(wanted, random.SystemRandom(), without=options.api_port))
        self.api_port = options.api_port or next(free)
        self.server = f"http://{LOOPBACK}:{self.api_port}"
        self.ports = {name: next(free) for name in children}
        self._served = {
            name: [(each, next(free)) for each in ports] for name, ports in served.items()
        }
        self._folders = {"bundle-root": self.bundles, "bundle-store": state / "store"}
        self.inner_kubeconfig = state / INNER_KUBECONFIG
        read_checked(options.kubeconfig)

    def sandbox_ground(self) -> Ground:
        """The sandbox, where everybody may do everything, and a log in a file."""
        return Ground(
            server=self.server,
            kubeconfig=self.inner_kubeconfig,
            bus=sandbox_bus(self.state),
        )

    def sandbox(self) -> ChildSpec:
        """The embedded cluster. Raises Misused where the extra that it needs is not installed."""
        missing = [name for name in SANDBOX_NEEDS if find_spec(name) is None]
        if missing:
            raise Misused(
                f"the embedded cluster needs {', '.join(missing)}, which this environment lacks: "
                'install millrace-control-plane with its extra `sandbox` (README.md, "Install '
                'it"), or use --real'
            )
        command = [sys.executable, "-m", "sandbox", "--port", str(self.api_port)]
        command += ["--nodes", str(self.options.nodes), "--crds", str(CRDS)]
        command += ["--kubeconfig", str(self.inner_kubeconfig), *self._running_pods()]
        return ChildSpec(SANDBOX, command, dict(os.environ), essential=True)

    def _running_pods(self) -> list[str]:
        """The options with which pods of our runtime are processes of this machine."""
        words = ["--run-image", RUNTIME_IMAGES, "--run-folder", str(self.state / PODS)]
        program = shlex.join([sys.executable, "-m", "millrace.runtime"])
        words += ["--run-program", f"{BOOTSTRAP}={program}"]
        for variable, service, url in self.given():
            if service in self.options.services:
                words += ["--run-env", f"{variable}={url}"]
        return words

    def service(self, name: str, ground: Ground, number: int = 1) -> ChildSpec:
        """An instance of a service on what it stands on; all of them share its account."""
        child = child_name(name, number)
        row, account = BY_NAME[name], ground.account_of(name)
        environment = dict(os.environ) | {
            "MILLRACE_KUBECONFIG": str(account),
            "MILLRACE_BUS": ground.bus,
            "MILLRACE_METRICS_PORT": str(self.ports[child]),
            "MILLRACE_METRICS_HOST": LOOPBACK,
            "MILLRACE_INSTANCE": f"{child}-{self.name}",
            **ground.settings,
        }
        for mount in row.mounts:
            environment[variable_of(mount.setting)] = str(self._folders[mount.name])
        for port, at in self._served[child]:
            environment[variable_of(port.setting)] = str(at)
            if port.host_setting:
                environment[variable_of(port.host_setting)] = LOOPBACK
        for setting, value in row.without_dns.items():
            environment.setdefault(variable_of(setting), value)
        command = [sys.executable, "-m", f"services.{row.folder}"]
        return ChildSpec(child, command, environment)

    def probes(self) -> dict[str, str]:
        """The address of the metrics and probes of each instance of a service, by its name."""
        numbers = range(1, self.options.instances + 1)
        names = [child_name(each, number) for each in self.options.services for number in numbers]
        return {name: f"http://{LOOPBACK}:{self.ports[name]}" for name in names}

    def given(self) -> list[tuple[str, str, str]]:
        """What pods are given of services: variable, name of the instance, and URL."""
        return [
            (port.given_as, name, f"http://{LOOPBACK}:{at}")
            for name, ports in self._served.items()
            for port, at in ports
            if port.given_as
        ]

    def context(
        self, ground: Ground, say: Callable[[str], None]
    ) -> AbstractAsyncContextManager[str]:
        """The context of this system in the user's kubeconfig, inside of a block; its name."""
        prefix = os.environ.get(PREFIX_SETTING, DEFAULT_PREFIX)
        info = new_info(self.bundles, self.state, ground.bus, prefix)
        with read_as_kubeconfig():
            access = access_of(read_kubeconfig(ground.kubeconfig))
        return context_of_up(self.options.kubeconfig, access, info, say)
