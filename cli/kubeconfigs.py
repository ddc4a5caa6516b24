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

import yaml

from cli.failing import Misused
from cli.private import is_locked
from services.chassis.process.errors import Misconfigured

Json = dict[str, Any]
EXTENSION: Final = "millrace.dev/up"
SECTIONS: Final = {"clusters": "cluster", "contexts": "context", "users": "user"}
"""The lists of a kubeconfig, and the key of what each item of them names."""
TOO_DEEP: Final = "it is nested too deeply"


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
        return self.host == socket.gethostname() and not is_locked(self.state / "logs")


def default_kubeconfig() -> Path:
    """The file that kubectl and kind change: the first of $KUBECONFIG that exists, or its last.

    Without $KUBECONFIG it is ~/.kube/config.
    """
    named = [Path(each) for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    if not named:
        return Path.home() / ".kube" / "config"
    return next((each for each in named if each.exists()), named[-1])


@contextmanager
def read_as_kubeconfig(path: Path) -> Iterator[None]:
    """While a file is read as a kubeconfig: raises Misused where it turns out to be none."""
    try:
        yield
    except Misconfigured as problem:
        raise Misused(str(problem)) from problem
    except KeyError as missing:
        raise Misused(f"{path} is not a kubeconfig: it has no {missing.args[0]}") from missing
    except (TypeError, AttributeError) as problem:
        what = "its values are not those of a kubeconfig"
        raise Misused(f"{path} is not a kubeconfig: {what}") from problem
    except RecursionError:
        raise Misused(f"{path} is not a kubeconfig: {TOO_DEEP}") from None
    except (yaml.YAMLError, ValueError) as problem:  # a UnicodeDecodeError is a ValueError
        raise Misused(f"{path} is not a kubeconfig: {problem}") from problem


def up_of(kubeconfig: Path) -> UpInfo | None:
    """The `up` that the current context is of; None for another cluster. Raises Misused."""
    with read_as_kubeconfig(kubeconfig):
        config: Json = yaml.safe_load(kubeconfig.read_text(encoding="utf-8")) or {}
        contexts = {each["name"]: each["context"] for each in config.get("contexts") or ()}
        clusters = {each["name"]: each["cluster"] for each in config.get("clusters") or ()}
        current = contexts.get(config.get("current-context")) or {}
        return info_of(clusters.get(current.get("cluster")) or {})


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
    """The first field that is not that of a kubeconfig, and its value; "" if every field is."""
    if config is None:
        return ""
    if not isinstance(config, dict):
        return "it is not a mapping"
    for section, key in SECTIONS.items():
        items = config.get(section)
        if items is not None and not isinstance(items, list):
            return f"{section}: it must be a list, and is {_kind(items)}"
        for number, item in enumerate(items or ()):
            if problem := _problem_of_item(item, key):
                return f"{section}[{number}]{problem}"
    current = config.get("current-context")
    if not isinstance(current, str | None):
        return f"current-context: it must be text, and is {_kind(current)}"
    return ""


def _problem_of_item(item: object, key: str) -> str:
    if not isinstance(item, dict):
        return f": it must be a mapping, and is {_kind(item)}"
    if not isinstance(item.get("name"), str):
        return f".name: it must be text, and is {_kind(item.get('name'))}"
    if not isinstance(item.get(key), dict | None):
        return f".{key}: it must be a mapping, and is {_kind(item[key])}"
    cluster = (item.get(key) or {}).get("cluster") if key == "context" else None
    if not isinstance(cluster, str | None):
        return f".context.cluster: it must be text, and is {_kind(cluster)}"
    extensions = (item.get(key) or {}).get("extensions") if key == "cluster" else None
    if not isinstance(extensions, list | None):
        return f".cluster.extensions: it must be a list, and is {_kind(extensions)}"
    for number, each in enumerate(extensions or ()):
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            return f".cluster.extensions[{number}]: it must be a mapping with a name"
        if each["name"] == EXTENSION and not _is_extension(each.get("extension")):
            return f".cluster.extensions[{number}]: {EXTENSION} is not what `up` writes"
    return ""


def _is_extension(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("bundleRoot"), str)
        and isinstance(value.get("state"), str | None)
        and isinstance(value.get("pid", 0), int)
        and isinstance(value.get("previousContexts"), list | None)
    )


def _kind(value: object) -> str:
    match value:
        case None:
            return "missing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text {value}"
        case _:
            return f"the value {value}"
