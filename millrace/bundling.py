"""From an application to its bundle: the ADL, the author's modules and, if wanted, wheels.

<output>/<name>.adl
<output>/python/app.py …            modules of the author, imported again in each PE
<output>/python/wheels/NAME.whl …   libraries; without them they have to be in the image
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from millrace.code import Code
from millrace.errors import PackError
from millrace.modules import local_modules, package_files, require_own_name
from millrace.sab import PYTHON_FOLDER, WHEELS_FOLDER, Contents, packed


def bundle_of(
    adl: bytes,
    code: Code,
    name: str,
    *,
    include: Iterable[str | Path] = (),
    wheels: Iterable[str | Path] = (),
) -> bytes:
    """The bundle of an ADL and the code that it names. Raises PackError."""
    files: dict[str, Path] = {}
    for module, path in local_modules(code.module, code.root).items():
        if path.name == "__init__.py" and "." not in module:
            files |= {_below(code.root, each): each for each in package_files(path.parent)}
        else:
            files[_below(code.root, path)] = path
    for each in map(Path, include):
        files |= _included(each)
    for each in map(Path, wheels):
        if each.suffix != ".whl" or not each.is_file():
            raise PackError(f"{each} is no wheel: name a .whl file")
        files[f"{WHEELS_FOLDER}/{each.name}"] = each
    contents = Contents(
        name=name.replace("::", "."),
        adl=adl,
        output_directory="output",
        application_directory=".",
        files={path: _read(file) for path, file in files.items()},
    )
    return packed(contents)


def write_bundle(data: bytes, path: str | Path) -> Path:
    """Write a bundle to a file, whose folder is made; returns its path. Raises PackError."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as problem:
        raise PackError(f"{target} cannot be written: {problem.strerror}") from None
    return target


def _below(root: Path, path: Path) -> str:
    return f"{PYTHON_FOLDER}/{path.relative_to(root).as_posix()}"


def _included(path: Path) -> dict[str, Path]:
    if path.is_file():
        if path.suffix == ".py":
            require_own_name(path.stem, path.parent)
        return {f"{PYTHON_FOLDER}/{path.name}": path}
    found = package_files(path)
    if not found:
        raise PackError(f"{path} cannot be included: it is neither a file nor a package")
    require_own_name(path.name, path.parent)
    return {_below(path.parent, each): each for each in found}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise PackError(f"{path} cannot be read: {problem.strerror}") from None
