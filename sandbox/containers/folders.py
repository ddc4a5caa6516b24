"""The folders of pods that run: volumes, the roots of containers, folders of nodes and of claims.

    FOLDER/pods/UID/volumes/NAME        a volume of a pod; files are replaced as the kubelet does
    FOLDER/pods/UID/roots/CONTAINER/N   the root of the nth run of a container; volumes are links
    FOLDER/pods/UID/logs/CONTAINER      its logs (log_files.py)
    FOLDER/nodes/NODE                   what a node has at its absolute paths
    FOLDER/claims/NAMESPACE/NAME        what a claim holds, on every node

What is in a volume is decided in volumes.py.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.containers.runs import Mount
from sandbox.containers.volumes import Claim, EmptyDir, Files, HostPath, Source

OWN = ("tmp", "run", "var/tmp")
"""Folders that every container has for itself below its root."""
_DATA = "..data"


class NotMountable(Exception):
    """A volume cannot be made, or a mount leads out of its root; the message says which."""


class Folders:
    """All folders below one, which `remove_all` removes."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._written: dict[str, dict[str, Files]] = {}  # by uid and volume

    def logs(self, uid: str, container: str) -> Path:
        """The folder of a container's logs; it may not exist."""
        return self._pod(uid) / "logs" / container

    def root(self, uid: str, container: str, number: int) -> Path:
        """The root of a run; it exists after `make_root`."""
        return self._pod(uid) / "roots" / container / str(number)

    def make_volumes(self, uid: str, sources: Mapping[str, Source]) -> None:
        """Make the volumes of a pod, or bring their files up to date. Raises NotMountable."""
        for name, source in sources.items():
            path = self._pod(uid) / "volumes" / _checked(name)
            if isinstance(source, Files):
                written = self._written.setdefault(uid, {})
                if written.get(name) != source:
                    write_files(path, source)
                    written[name] = source
            elif isinstance(source, EmptyDir):
                path.mkdir(parents=True, exist_ok=True)
            elif not path.is_symlink():
                target = self._shared(source)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(target)

    def make_root(self, uid: str, container: str, number: int, mounts: Iterable[Mount]) -> Path:
        """The root of a run, with nothing of an earlier one but the volumes.

        Raises NotMountable.
        """
        root = self.root(uid, container, number)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(root.parent)
        for name in OWN:
            (root / name).mkdir(parents=True)
        for mount in mounts:
            self._mount(uid, root, mount)
        return root

    def forget(self, uid: str) -> None:
        """The pod is over: its volumes will be removed."""
        self._written.pop(uid, None)

    def remove_volumes(self, uid: str) -> None:
        """Remove everything of a pod but its logs; may take long, and any thread may do it."""
        for name in ("roots", "volumes"):
            shutil.rmtree(self._pod(uid) / name, ignore_errors=True)

    def remove_pod(self, uid: str) -> None:
        """Remove everything of a pod; may take long, and any thread may do it."""
        shutil.rmtree(self._pod(uid), ignore_errors=True)

    def remove_all(self) -> None:
        """Remove everything; the folder itself stays."""
        for name in ("pods", "nodes", "claims"):
            shutil.rmtree(self.base / name, ignore_errors=True)

    def _pod(self, uid: str) -> Path:
        return self.base / "pods" / _checked(uid)

    def _shared(self, source: HostPath | Claim) -> Path:
        if isinstance(source, Claim):
            path = self.base / "claims" / _checked(source.namespace) / _checked(source.name)
            path.mkdir(parents=True, exist_ok=True)
            return path
        path = _below(self.base / "nodes" / _checked(source.node), source.path)
        is_file = source.kind in {"File", "FileOrCreate"}
        if (
            source.kind in {"File", "Directory"}
            and not (path.is_file if is_file else path.is_dir)()
        ):
            kind = "file" if is_file else "directory"
            raise NotMountable(f"hostPath type check failed: {source.path} is not a {kind}")
        if is_file:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        else:
            path.mkdir(parents=True, exist_ok=True)
        return path

    def _mount(self, uid: str, root: Path, mount: Mount) -> None:
        volume = self._pod(uid) / "volumes" / _checked(mount.volume)
        if not volume.exists():
            raise NotMountable(f'no volume "{mount.volume}"')
        source = _below(volume, mount.sub_path) if mount.sub_path else volume
        if not source.exists():
            source.mkdir(parents=True)
        place = _below(root, mount.path)
        if place == root:
            raise NotMountable("a volume cannot be mounted at /")
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
            place.rmdir()  # one of the folders that every container has
        if not place.is_symlink() or place.readlink() != source:
            place.unlink(missing_ok=True)
            place.symlink_to(source)


def read_only_folders(root: Path, mounts: Iterable[Mount]) -> tuple[str, ...]:
    """The real paths of what a container may only read, where it mounts nothing of it to write."""
    real: dict[bool, set[str]] = {True: set(), False: set()}
    for mount in mounts:
        real[mount.is_read_only].add(os.path.realpath(_below(root, mount.path)))
    return tuple(sorted(real[True] - real[False]))


def write_files(folder: Path, files: Files) -> None:
    """Put files in place of those that are there, all at once for who reads below `..data`.

    A folder of its own has the files, `..data` leads to it, and each name leads below `..data`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / _DATA
    old = folder / os.readlink(data) if data.is_symlink() else None
    new = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    new.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    for name, file in files.by_path.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)
    draft = folder / f"{_DATA}_tmp"
    draft.symlink_to(new.name)
    draft.replace(data)
    names = {name.split("/", 1)[0] for name in files.by_path}
    for name in names:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"{_DATA}/{name}")
    for link in folder.iterdir():
        is_ours = link.is_symlink() and os.readlink(link) == f"{_DATA}/{link.name}"
        if is_ours and link.name not in names:
            link.unlink()
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _checked(name: str) -> str:
    """A name that is one part of a path."""
    if not name or "/" in name or name in {".", ".."}:
        raise NotMountable(f"{name!r} is no name of a folder")
    return name


def _below(base: Path, path: str) -> Path:
    """An absolute or relative path of a container, below `base`."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise NotMountable(f"{path} must not contain '..'")
    return base.joinpath(*parts)
