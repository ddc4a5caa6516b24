"""What `include` adds to a bundle: data files, folders and patterns of them, modules, packages.

A file has the same place in the bundle as in the project, below the folder that the application's
modules are imported from. Modules and packages of Python may also be elsewhere: they come to the
top. What is a link is packed as the file that it leads to, if that is in the project.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path

from millrace.errors import PackError
from millrace.modules import package_files, require_own_name

LEFT_OUT = ("__pycache__",)


def included(paths: Iterable[str | Path], root: Path) -> dict[str, Path]:
    """Files by their places below the root of a project. Raises PackError."""
    found: dict[str, Path] = {}
    for path in (each for given in paths for each in _matching(Path(given))):
        for place, file in _files_of(path, root.resolve()):
            if found.setdefault(place, file).resolve() != file.resolve():
                raise PackError(f"{found[place]} and {file} would both be {place} in the bundle")
    return found


def _matching(given: Path) -> list[Path]:
    if given.exists() or given.is_symlink():
        return [given]
    if not glob.has_magic(str(given)):
        raise _refused(given, f"there is no such file or folder (from {Path.cwd()})")
    found = sorted(map(Path, glob.glob(str(given), recursive=True)))
    if not found:
        raise _refused(given, f"nothing matches it (from {Path.cwd()})")
    return found


def _files_of(path: Path, root: Path) -> Iterator[tuple[str, Path]]:
    if path.suffix == ".whl":
        raise _refused(path, "it is a wheel: use --wheel")
    here = path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
    if here.is_relative_to(root):
        for file in _within(path, here, root):
            yield file.relative_to(root).as_posix(), file
    elif path.suffix == ".py" and path.is_file():
        require_own_name(path.stem, path.parent)
        yield path.name, path
    elif found := package_files(path):
        require_own_name(here.name, here.parent)
        yield from ((f"{here.name}/{each.relative_to(path).as_posix()}", each) for each in found)
    else:
        raise _refused(
            path,
            f"it is outside of the project {root}, where a function could not find it. Put it "
            "there; only modules and packages of Python may be elsewhere",
        )


def _within(path: Path, here: Path, root: Path) -> list[Path]:
    """The files of something in the project."""
    _check_link(here, root)
    if here.is_file():
        found = [here]
    else:
        found = sorted(each for each in here.rglob("*") if not _is_left_out(each, here))
        for each in found:
            _check_link(each, root)
            if each.is_symlink() and each.is_dir():
                raise _refused(each, "it is a link to a folder: include the folder itself")
        found = [each for each in found if each.is_file()]
    if not found:
        raise _refused(path, "it has no files")
    for file in found:
        _check_name(file, root)
    return found


def _check_link(path: Path, root: Path) -> None:
    if not path.exists():
        raise _refused(path, "it is a link to nothing")
    if not path.resolve().is_relative_to(root):
        raise _refused(path, f"it is a link to {path.resolve()}, outside of the project {root}")


def _check_name(file: Path, root: Path) -> None:
    place = file.relative_to(root)
    if place.parts[0] == "wheels" and file.suffix == ".whl":
        raise _refused(file, "it is a wheel: use --wheel")
    top = root / place.parts[0]
    if file.suffix == ".py" and (top == file or (top / "__init__.py").is_file()):
        require_own_name(top.stem, root)


def _is_left_out(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return path.suffix == ".sab" or any(each.startswith(".") or each in LEFT_OUT for each in parts)


def _refused(path: Path, why: str) -> PackError:
    return PackError(f"{path} cannot be included: {why}")
