"""What keeps a file from being a kubeconfig that can be used here, in a sentence for people."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from services.chassis.process.errors import Misconfigured

_NO_PROGRAM: Final = "a kubeconfig with the token of a service account needs no program"


def check_kubeconfig(path: str) -> None:
    """Raises Misconfigured unless the file can be read, is a mapping, and its program is here."""
    content = _read(path)
    if not isinstance(content, dict):
        raise Misconfigured(f"{path} is not a kubeconfig: it has no clusters, users and contexts")
    program = _program_of(content)
    if program and shutil.which(program, path=os.environ.get("PATH", os.defpath)) is None:
        raise Misconfigured(
            f"the kubeconfig {path} calls the program {program!r}, which is not here: {_NO_PROGRAM}"
        )


def _read(path: str) -> Any:
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Misconfigured(f"there is no kubeconfig at {path}") from None
    except IsADirectoryError:
        raise Misconfigured(f"{path} is a folder, and has to be a kubeconfig") from None
    except OSError as problem:
        user = os.geteuid()
        raise Misconfigured(
            f"the kubeconfig {path} cannot be read by user {user}: {problem.strerror}"
        ) from None
    except RecursionError:
        raise Misconfigured(f"{path} is not a kubeconfig: it nests too deep") from None
    except (yaml.YAMLError, ValueError) as problem:
        sentence = " ".join(str(problem).split())
        raise Misconfigured(f"{path} is not a kubeconfig: {sentence}") from None


def _program_of(content: Mapping[str, Any]) -> str:
    """The program that gives the current context's user a token, or nothing."""
    try:
        contexts = {each["name"]: each["context"] for each in content["contexts"]}
        users = {each["name"]: each["user"] for each in content["users"]}
        return str(users[contexts[content["current-context"]]["user"]]["exec"]["command"])
    except (KeyError, TypeError):
        return ""
