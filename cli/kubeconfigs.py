"""The kubeconfig that `millrace up` writes: when it may, and the bundle root in it.

The bundle root is an extension of the cluster. The extension also tells a kubeconfig of `up` from
one that a person needs: only the former is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from cli.failing import Misused
from cli.ports import LOOPBACK, taken

Json = dict[str, Any]
EXTENSION: Final = "millrace.dev/up"
_ELSE: Final = "Say another --kubeconfig."


@contextmanager
def read_as_kubeconfig(path: Path) -> Iterator[None]:
    """While a file is read as a kubeconfig: raises Misused where it turns out to be none."""
    try:
        yield
    except KeyError as missing:
        raise Misused(f"{path} is not a kubeconfig: it has no {missing.args[0]}") from missing
    except (TypeError, AttributeError) as problem:
        what = "its values are not those of a kubeconfig"
        raise Misused(f"{path} is not a kubeconfig: {what}") from problem
    except (yaml.YAMLError, ValueError) as problem:  # a UnicodeDecodeError is a ValueError
        raise Misused(f"{path} is not a kubeconfig: {problem}") from problem


def bundle_root_of(kubeconfig: Path) -> Path | None:
    """The bundle root that `millrace up` wrote into a kubeconfig. Raises Misused."""
    with read_as_kubeconfig(kubeconfig):
        for cluster in _clusters(yaml.safe_load(kubeconfig.read_text()) or {}):
            for extension in cluster.get("extensions") or ():
                if extension["name"] == EXTENSION:
                    return Path(extension["extension"]["bundleRoot"])
    return None


def with_bundle_root(config: Json, root: Path) -> Json:
    """A kubeconfig whose clusters name the bundle root."""
    named = {"name": EXTENSION, "extension": {"bundleRoot": str(root)}}
    clusters = []
    for each in config["clusters"]:
        kept = [other for other in each["cluster"].get("extensions") or () if not _is_ours(other)]
        clusters.append(each | {"cluster": each["cluster"] | {"extensions": [*kept, named]}})
    return config | {"clusters": clusters}


def refuse_to_overwrite(target: Path) -> None:
    """Raise Misused if a file is not a kubeconfig of `up`, or that of an `up` that still runs."""
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise Misused(f"{target} is a link, a folder or a device: it would be lost. {_ELSE}")
    if not target.exists() or not target.stat().st_size:
        return
    try:
        clusters = [*_clusters(yaml.safe_load(target.read_text()))]
        ours = [any(map(_is_ours, each.get("extensions") or ())) for each in clusters]
        servers = [str(each.get("server", "")) for each in clusters]
        running = [each for each in servers if _runs_here(each)]
    except OSError as problem:
        raise Misused(f"{target} cannot be read: {problem.strerror}. {_ELSE}") from None
    except (LookupError, TypeError, AttributeError, ValueError, yaml.YAMLError):
        ours, running = [], []
    if not ours or not all(ours):
        raise Misused(
            f"{target} exists, and `millrace up` did not write it: it would be lost. {_ELSE}"
        )
    if running:
        raise Misused(
            f"{target} is the kubeconfig of the system at {running[0]}, which runs: it would be "
            f"lost. {_ELSE}"
        )


def _clusters(config: Mapping[str, Any]) -> Iterator[Json]:
    for each in config.get("clusters") or ():
        yield each["cluster"]


def _is_ours(extension: Mapping[str, Any]) -> bool:
    return extension.get("name") == EXTENSION


def _runs_here(server: str) -> bool:
    """Whether an embedded cluster answers there: on a real one, any number of `up` have a file."""
    parts = urlsplit(server)
    return parts.scheme == "http" and parts.hostname == LOOPBACK and taken(parts.port or 0)
