"""The kubeconfig with which clients find the embedded cluster."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import yaml

NAME = "millrace"
FILE_MODE = 0o600


def write_kubeconfig(path: Path, *, port: int, server: str = "") -> None:
    """Write it whole or not at all: a client that waits for the file never reads half of it.

    `server` is the URL for clients that do not reach the cluster at 127.0.0.1.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), FILE_MODE)
            yaml.safe_dump(_content(server or f"http://127.0.0.1:{port}"), file, sort_keys=False)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _content(server: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": server}}],
        "users": [{"name": NAME, "user": {"token": "any-token-is-accepted"}}],
        "contexts": [
            {
                "name": NAME,
                "context": {"cluster": NAME, "user": NAME, "namespace": "default"},
            }
        ],
        "current-context": NAME,
    }
