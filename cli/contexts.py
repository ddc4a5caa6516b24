"""The context of `millrace up` in the kubeconfig of a person: added, made current, taken out.

As kind and minikube do. What else the file says stays (`editing.py`). Each change is made
under the lock file of kubectl, and the file is replaced as a whole, with its modes.

1. Entries of an `up` that has ended, such as by SIGKILL, are taken out first.
2. The new entries get a name that is free, so that several `up` may share a file. The context
   becomes the current one.
3. At the end the entries are taken out. If the context is still the current one, the one before is
   current again: the first of `UpInfo.previous` that still exists.
4. A file that did not exist before is removed if nothing else was added to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from cli import editing
from cli.editing import NotEditable
from cli.failing import Failure, Misused
from cli.kubeconfigs import (
    EXTENSION,
    NAMESPACE,
    TOO_DEEP,
    UpInfo,
    info_of,
    problem_of,
)
from cli.private import FILE_MODE, FOLDER_MODE
from services.chassis.kube.kubeconfig_files import SECTIONS, Access, Json, place_of

NAME: Final = "millrace"
LOCK_S_MAX = 10.0
LOCK_POLL_S = 0.05
_ELSE: Final = "It is left as it is. Repair it, or say another --kubeconfig."


# --------------------------------------------------------------------------- text to text


def with_context(text: str, access: Access, info: UpInfo) -> tuple[str, str]:
    """The text with a context of `up` that is the current one, and its name."""
    config = yaml.safe_load(text) or {}
    taken = {each["name"] for section in SECTIONS for each in config.get(section) or ()}
    number = 1
    while (name := NAME if number == 1 else f"{NAME}-{number}") in taken:
        number += 1
    current = config.get("current-context") or ""
    clusters = {each["name"]: each.get("cluster") or {} for each in config.get("clusters") or ()}
    contexts = {each["name"]: each.get("context") or {} for each in config.get("contexts") or ()}
    before = info_of(clusters.get(contexts.get(current, {}).get("cluster")) or {})
    info = replace(info, previous=(current, *(before.previous if before else ())))
    others = [each for each in access.cluster.get("extensions") or () if each["name"] != EXTENSION]
    cluster = access.cluster | {"extensions": [*others, info.as_extension()]}
    context = {"cluster": name, "user": name, "namespace": access.namespace or NAMESPACE}
    text = editing.with_item(text, "clusters", {"name": name, "cluster": cluster})
    text = editing.with_item(text, "contexts", {"name": name, "context": context})
    text = editing.with_item(text, "users", {"name": name, "user": access.user})
    return editing.with_scalar(text, "current-context", name), name


def without_context(text: str, name: str, info: UpInfo) -> str:
    """The text without the entries of an `up`; the context before is current again."""
    for section in SECTIONS:
        names = [each["name"] for each in (yaml.safe_load(text) or {}).get(section) or ()]
        if name in names:
            text = editing.without_item(text, section, names.index(name))
    config = yaml.safe_load(text) or {}
    if config.get("current-context") != name:
        return text
    left = {each["name"] for each in config.get("contexts") or ()}
    current = next((each for each in info.previous if each in left), "")
    return editing.with_scalar(text, "current-context", current)


def contexts_of_up(text: str) -> dict[str, UpInfo]:
    """The entries that `up` wrote, by their name."""
    found = {}
    for each in (yaml.safe_load(text) or {}).get("clusters") or ():
        if info := info_of(each.get("cluster") or {}):
            found[each["name"]] = info
    return found


def _is_new(text: str) -> bool:
    """Whether a text holds nothing but what `up` adds to a file that did not exist."""
    bare: Json = {"apiVersion": "v1", "kind": "Config", "current-context": ""}
    return "#" not in text and yaml.safe_load(text) == bare | {each: [] for each in SECTIONS}


# --------------------------------------------------------------------------- files


@asynccontextmanager
async def context_of_up(
    kubeconfig: Path, access: Access, info: UpInfo, say: Callable[[str], None]
) -> AsyncIterator[str]:
    """A context for the cluster inside of the block; its name. Raises Misused, Failure."""
    async with _locked(kubeconfig):
        name = _put_in(kubeconfig, access, info)
    try:
        yield name
    finally:
        try:
            async with _locked(kubeconfig):
                say(_take_out(kubeconfig, name, info))
        except Failure as problem:  # everything else has to end, too
            say(f"context {name} is still in {kubeconfig}: {problem}")


def _put_in(kubeconfig: Path, access: Access, info: UpInfo) -> str:
    """Add the context to the file; returns its name."""
    text = read_checked(kubeconfig)
    created = not kubeconfig.exists()
    with _changed(kubeconfig):
        for name, left in contexts_of_up(text).items():
            if left.has_ended():
                text = without_context(text, name, left)
                created = created or left.created
        info = replace(info, created=created)
        text, name = with_context(text if text.strip() else editing.NEW, access, info)
        _write(kubeconfig, text)
    return name


def _take_out(kubeconfig: Path, name: str, info: UpInfo) -> str:
    """Take our entries out of the file, unless another program did; returns a sentence."""
    text = read_checked(kubeconfig)
    found = contexts_of_up(text).get(name)
    if found is None or (found.pid, found.state) != (info.pid, info.state):
        return f"context {name} was taken out of {kubeconfig} by another program"
    with _changed(kubeconfig):
        text = without_context(text, name, found)
        if found.created and _is_new(text):
            kubeconfig.resolve().unlink()
            return f"{kubeconfig} is removed: nothing else was in it"
        _write(kubeconfig, text)
    current = yaml.safe_load(text).get("current-context") or "none"
    return f"context {name} is taken out of {kubeconfig}; the current context is {current}"


def read_checked(kubeconfig: Path) -> str:
    """The text of a kubeconfig that may be changed, "" if it does not exist. Raises Misused."""
    try:
        found = kubeconfig.stat()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Misused(f"{kubeconfig} cannot be read: {error.strerror}. {_ELSE}") from None
    if not stat.S_ISREG(found.st_mode):
        raise Misused(f"{kubeconfig} is a folder or a device, not a kubeconfig. {_ELSE}")
    if found.st_uid != os.geteuid():
        raise Misused(f"{kubeconfig} belongs to another user (uid {found.st_uid}). {_ELSE}")
    try:
        text = kubeconfig.read_bytes().decode("utf-8")
        problem = problem_of(yaml.safe_load(text))
    except OSError as error:
        raise Misused(f"{kubeconfig} cannot be read: {error.strerror}. {_ELSE}") from None
    except UnicodeDecodeError:
        raise _no_kubeconfig(kubeconfig, "it is not text in UTF-8") from None
    except yaml.YAMLError as error:
        raise _no_kubeconfig(kubeconfig, place_of(error)) from None
    except RecursionError:
        raise _no_kubeconfig(kubeconfig, TOO_DEEP) from None
    except ValueError as error:  # such as the 30th of February
        raise _no_kubeconfig(kubeconfig, f"a value cannot be read: {error}") from None
    if problem:
        raise _no_kubeconfig(kubeconfig, problem)
    return text


def _no_kubeconfig(kubeconfig: Path, problem: str) -> Misused:
    return Misused(f"{kubeconfig} is not a kubeconfig: {problem}. {_ELSE}")


@contextlib.contextmanager
def _changed(kubeconfig: Path) -> Iterator[None]:
    """While a file is changed: raises Misused if it cannot be."""
    try:
        yield
    except NotEditable as problem:
        raise Misused(f"{kubeconfig} cannot be changed: {problem}. {_ELSE}") from None
    except OSError as problem:
        raise Misused(f"{kubeconfig} cannot be written: {problem.strerror}") from None


def _write(kubeconfig: Path, text: str) -> None:
    """Replace the file behind all links as a whole; it keeps its modes and its group."""
    target = kubeconfig.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if target.exists():
                found = target.stat()
                if found.st_gid != os.fstat(file.fileno()).st_gid:
                    os.fchown(file.fileno(), -1, found.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(found.st_mode))
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@asynccontextmanager
async def _locked(kubeconfig: Path) -> AsyncIterator[None]:
    """Hold the lock file of kubectl, beside the file and beside what a link points to."""
    with contextlib.ExitStack() as stack:
        for path in _lock_files(kubeconfig):
            with _changed(kubeconfig):
                path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
                await _take_lock(path)
            stack.callback(path.unlink, missing_ok=True)
        yield


def _lock_files(kubeconfig: Path) -> dict[Path, None]:
    places = (kubeconfig.absolute(), kubeconfig.resolve())
    return dict.fromkeys(each.with_name(f"{each.name}.lock") for each in places)


async def _take_lock(path: Path) -> None:
    end_s = asyncio.get_running_loop().time() + LOCK_S_MAX
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0))
        except FileExistsError:
            if asyncio.get_running_loop().time() > end_s:
                raise Failure(
                    f"another program changes the kubeconfig: {path} has existed for "
                    f"{LOCK_S_MAX:g} s. If no program does, remove that file."
                ) from None
            await asyncio.sleep(LOCK_POLL_S)
        else:
            return


def new_info(bundle_root: Path, state: Path, bus: str = "", prefix: str = "") -> UpInfo:
    """The extension of an `up` in this process; `prefix` is that of its topics."""
    host = socket.gethostname()
    return UpInfo(bundle_root, state, host, os.getpid(), bus=bus, topic_prefix=prefix)
