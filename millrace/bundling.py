"""From an application to its bundle: the ADL, the author's modules, data files and wheels.

<output>/<name>.adl
<output>/python/app.py …            modules of the author, imported again in each PE
<output>/python/data/zones.csv …    data files, at their places in the project
<output>/python/wheels/NAME.whl …   libraries; without them they have to be in the image
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from millrace.code import Code
from millrace.errors import PackError
from millrace.including import included
from millrace.libraries import missing
from millrace.modules import local_modules, package_files
from millrace.runtime.unpacking import LIMITS
from millrace.sab import PYTHON_FOLDER, WHEELS_FOLDER, Contents, packed
from millrace.wheel_files import read_wheels


@dataclass(frozen=True, slots=True)
class Packed:
    """A bundle, what is in it in a few words, and what it lacks as sentences."""

    data: bytes
    content: str
    lacks: tuple[str, ...]


def bundle_of(
    adl: bytes,
    code: Code,
    name: str,
    *,
    include: Iterable[str | Path] = (),
    wheels: Iterable[str | Path] = (),
) -> Packed:
    """The bundle of an ADL and the code that it names. Raises PackError."""
    read = read_wheels(wheels)
    files = {**_modules_of(code), **included(include, code.root)}
    lacks = missing(files, read, code.root)
    places = {f"{PYTHON_FOLDER}/{place}": file for place, file in files.items()}
    places |= {f"{WHEELS_FOLDER}/{each.path.name}": each.path for each in read}
    _check_size(places)
    contents = Contents(
        name=name.replace("::", "."),
        adl=adl,
        output_directory="output",
        application_directory=".",
        files={place: _read(file) for place, file in places.items()},
    )
    return Packed(packed(contents), _counted(contents.files), tuple(lacks))


def write_bundle(data: bytes, path: str | Path) -> Path:
    """Write a bundle to a file, whose folder is made; returns its path. Raises PackError."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as problem:
        raise PackError(f"{target} cannot be written: {problem.strerror}") from None
    return target


def _modules_of(code: Code) -> dict[str, Path]:
    found: list[Path] = []
    for module, path in local_modules(code.module, code.root).items():
        is_package = path.name == "__init__.py" and "." not in module
        found += package_files(path.parent) if is_package else [path]
    return {path.relative_to(code.root).as_posix(): path for path in found}


def _check_size(files: Mapping[str, Path]) -> None:
    """Refuse what no bundle may hold, before it is read into memory."""
    total = 0
    for place, file in files.items():
        size = _size_of(file)
        total += size
        if size > LIMITS.member_bytes_max:
            raise PackError(
                f"{file} has {_in_bytes(size)}; a file of a bundle may have "
                f"{_in_bytes(LIMITS.member_bytes_max)}. Read it from a volume"
            )
        if len(place) > LIMITS.path_chars_max:
            raise PackError(f"{file}: its path is longer than {LIMITS.path_chars_max} characters")
    if total > LIMITS.expanded_bytes_max or len(files) > LIMITS.members_max:
        raise PackError(
            f"the bundle would have {len(files)} files and {_in_bytes(total)}; it may have "
            f"{LIMITS.members_max} and {_in_bytes(LIMITS.expanded_bytes_max)}"
        )


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as problem:
        raise PackError(f"{path} cannot be read: {problem.strerror}") from None


def _counted(files: Mapping[str, bytes]) -> str:
    """What is in a bundle: `2 modules (3 kB), 1 data file (20 MB)`."""
    kinds: dict[str, list[int]] = {"module": [], "data file": [], "wheel": []}
    for place, data in files.items():
        is_wheel = place.startswith(f"{WHEELS_FOLDER}/") and place.endswith(".whl")
        kind = "wheel" if is_wheel else "module" if place.endswith(".py") else "data file"
        kinds[kind].append(len(data))
    return ", ".join(
        f"{len(sizes)} {kind}{'' if len(sizes) == 1 else 's'} ({_in_bytes(sum(sizes))})"
        for kind, sizes in kinds.items()
        if sizes
    )


def _in_bytes(size: int) -> str:
    for unit, one in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= one:
            return f"{size / one:.1f} {unit}"
    return f"{size} bytes"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise PackError(f"{path} cannot be read: {problem.strerror}") from None
