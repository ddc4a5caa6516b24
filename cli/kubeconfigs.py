"""What a kubeconfig says: its form, its current context, and the `millrace up` of a context.

`up` adds a context of its own to the kubeconfig of a person (`contexts.py`). The cluster of that
context has an extension, which other clients ignore: it names the bundle root for `millrace
submit`, the state folder of `up`, and the context that was the current one before.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.failing import Misused
from cli.private import holder_of, is_locked
from contracts.names import NAME_RULE, is_name
from services.chassis.kube import kubeconfig_files
from services.chassis.kube.client_config import namespace_of_pod, runs_in_pod
from services.chassis.kube.kubeconfig_files import Json, Kubeconfig, read_kubeconfig
from services.chassis.process.errors import Misconfigured

EXTENSION: Final = "millrace.dev/up"
NAMESPACE: Final = "default"
"""Where neither an option nor the context names one."""
TOO_DEEP: Final = "it is nested too deeply"


class NoKubeconfig(Misused):
    """None of the files of the kubeconfig exists, and this is no pod with an account."""


@dataclass(frozen=True, slots=True)
class UpInfo:
    """The extension of a cluster: the `up` that wrote the context, and what it left to restore.

    `previous` are names of contexts: the current one before this `up`, and those that an `up` that
    ran then would restore. `created`: the file did not exist before. `bus` is where its log is, as
    MILLRACE_BUS says it, and `topic_prefix` what its topics begin with; empty of a release that did
    not write them.
    """

    bundle_root: Path
    state: Path | None
    host: str
    pid: int
    previous: tuple[str, ...] = ()
    created: bool = False
    bus: str = ""
    topic_prefix: str = ""

    def as_extension(self) -> Json:
        """The extension in the form of the file."""
        document: Json = {
            "bundleRoot": str(self.bundle_root),
            "state": str(self.state),
            "host": self.host,
            "pid": self.pid,
            "previousContexts": list(self.previous),
            "created": self.created,
            "bus": self.bus,
            "topicPrefix": self.topic_prefix,
        }
        return {"name": EXTENSION, "extension": document}

    def has_ended(self) -> bool:
        """Whether that `up` runs no more; False if it is one of another machine."""
        if self.state is None:  # an earlier release did not write it
            return True
        if self.host != socket.gethostname():
            return False
        # Another `up` may run in that folder since: then the lock is not that of this one.
        return not is_locked(self.state / "logs") or holder_of(self.state) not in (
            "",
            str(self.pid),
        )


def default_kubeconfig() -> Path:
    """The file that kubectl and kind change: the first of $KUBECONFIG that exists, or its last.

    Without $KUBECONFIG it is ~/.kube/config.
    """
    named = _default_files()
    return next((each for each in named if each.exists()), named[-1])


def _default_files() -> list[Path]:
    """The files that kubectl reads as one, where no --kubeconfig names another."""
    named = [Path(each) for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    return named or [Path.home() / ".kube" / "config"]


def find_kubeconfig(given: Kubeconfig | Path | None) -> Kubeconfig:
    """The kubeconfig to use: one that is given, else those of $KUBECONFIG, else ~/.kube/config.

    In a pod where none of them exists, its service account. Raises Misused, NoKubeconfig.
    """
    if isinstance(given, Kubeconfig):
        return given
    files = _default_files() if given is None else [given]
    if any(map(os.path.exists, files)):
        with read_as_kubeconfig():
            return read_kubeconfig(*files)
    if given is None and runs_in_pod():
        return Kubeconfig()
    raise NoKubeconfig(
        f"there is no kubeconfig at {os.pathsep.join(map(str, files))}. Say --kubeconfig FILE, or "
        "set KUBECONFIG. (`millrace up` writes one for its own cluster.)"
    )


def namespace_of(kubeconfig: Kubeconfig) -> str:
    """The namespace of the current context, else `default`. Raises Misused if it cannot be one."""
    if not kubeconfig.files:
        return namespace_of_pod() or NAMESPACE
    context = kubeconfig.found("contexts", kubeconfig.current)
    found = context.value.get("namespace") if context else None
    if not context or not found:
        return NAMESPACE
    if not isinstance(found, str) or not is_name(found):
        problem = f"cannot be a namespace: a name has {NAME_RULE}"
        raise Misused(str(context.refused("namespace", problem)))
    return found


def namespace_in(given: str, kubeconfig: Path | None) -> str:
    """The namespace of a command that may need no cluster: without a kubeconfig it is `default`."""
    if given:
        return given
    try:
        return namespace_of(find_kubeconfig(kubeconfig))
    except NoKubeconfig:
        return NAMESPACE


@contextmanager
def read_as_kubeconfig() -> Iterator[None]:
    """While kubeconfigs are read or used: raises Misused where they cannot be."""
    try:
        yield
    except Misconfigured as problem:
        raise Misused(str(problem)) from problem


def up_of(kubeconfig: Kubeconfig | Path) -> UpInfo | None:
    """The `up` that the current context is of; None for another cluster. Raises Misused."""
    kubeconfig = find_kubeconfig(kubeconfig)
    context = kubeconfig.found("contexts", kubeconfig.current)
    cluster = context and kubeconfig.found("clusters", context.value.get("cluster"))
    if not cluster:
        return None
    if problem := _problem_of_extensions(cluster.value):
        raise Misused(f"{cluster.file} is not a kubeconfig: {cluster.place}{problem}")
    return info_of(cluster.value)


def info_of(cluster: Mapping[str, Any]) -> UpInfo | None:
    """The extension of `up` in a cluster; None if it has none."""
    for each in cluster.get("extensions") or ():
        if each["name"] == EXTENSION:
            extension = each["extension"]
            return UpInfo(
                Path(extension["bundleRoot"]),
                Path(extension["state"]) if extension.get("state") else None,
                str(extension.get("host", socket.gethostname())),
                int(extension.get("pid", 0)),
                tuple(map(str, extension.get("previousContexts") or ())),
                bool(extension.get("created")),
                str(extension.get("bus", "")),
                str(extension.get("topicPrefix", "")),
            )
    return None


def problem_of(config: object) -> str:
    """The first field that is not that of a kubeconfig, and why; "" if every field is."""
    if problem := kubeconfig_files.problem_of(config):
        return problem
    clusters = config.get("clusters") if isinstance(config, dict) else None
    for number, item in enumerate(clusters or ()):
        if problem := _problem_of_extensions(item.get("cluster") or {}):
            return f"clusters[{number}].cluster{problem}"
    return ""


def _problem_of_extensions(cluster: Json) -> str:
    for number, each in enumerate(cluster.get("extensions") or ()):
        if each["name"] == EXTENSION and not _is_extension(each.get("extension")):
            return f".extensions[{number}]: {EXTENSION} is not what `up` writes"
    return ""


def _is_extension(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("bundleRoot"), str)
        and isinstance(value.get("state"), str | None)
        and isinstance(value.get("pid", 0), int)
        and isinstance(value.get("previousContexts"), list | None)
    )
