"""Libraries and data files that an application needs and that its bundle lacks: they are named.

The image of PEs has what `millrace-streams` needs with its extras. All else has to be a module of
the author or in a wheel of the bundle, unless the job names an image that has it.
"""

from __future__ import annotations

import posixpath
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from millrace.imports import imports_of, reads_of
from millrace.wheel_files import Wheel, normal

IN_THE_IMAGE: Final[Mapping[str, tuple[str, ...]]] = {
    "aiohappyeyeballs": ("aiohappyeyeballs",),
    "aiohttp": ("aiohttp",),
    "aiokafka": ("aiokafka",),
    "aiosignal": ("aiosignal",),
    "async-timeout": ("async_timeout",),
    "attrs": ("attr", "attrs"),
    "frozenlist": ("frozenlist",),
    "h11": ("h11",),
    "idna": ("idna",),
    "millrace-streams": ("millrace",),
    "msgspec": ("msgspec",),
    "multidict": ("multidict",),
    "packaging": ("packaging",),
    "prometheus-client": ("prometheus_client",),
    "propcache": ("propcache",),
    "redis": ("redis",),
    "typing-extensions": ("typing_extensions",),
    "uvloop": ("uvloop",),
    "yarl": ("yarl",),
}
"""The distributions in the image `millrace/runtime`, and the modules that each brings."""
_REMEDY: Final = "Add its wheel (--wheel), or run the job in an image that has it"


def missing(files: Mapping[str, Path], wheels: Iterable[Wheel], root: Path) -> list[str]:
    """A sentence for each that is missing. `files`: by their places in the bundle.

    `root`: of the project. Raises PackError if a module cannot be read.
    """
    wheels = tuple(wheels)
    modules = {place: path for place, path in files.items() if place.endswith(".py")}
    return [*_of_modules(files, wheels), *_of_wheels(wheels), *_of_files(modules, files, root)]


def _of_files(modules: Mapping[str, Path], files: Mapping[str, Path], root: Path) -> Iterator[str]:
    here = Path.cwd()
    for module, path in sorted(modules.items()):
        for each in reads_of(path):
            place = posixpath.normpath(each.place)
            is_there = any(known == place or known.startswith(f"{place}/") for known in files)
            if not is_there and not place.startswith(("/", "..")) and (root / place).exists():
                file = root / place
                shown = file.relative_to(here) if file.is_relative_to(here) else file
                yield (
                    f"{module}:{each.line} reads {place}, which is not in this bundle. Add it "
                    f"with --include {shlex.quote(str(shown))}"
                )


def _of_modules(files: Mapping[str, Path], wheels: tuple[Wheel, ...]) -> Iterator[str]:
    modules = [each for each in sorted(files) if each.endswith((".py", ".so"))]
    known = {each.split("/")[0].split(".")[0] for each in modules}
    known |= sys.stdlib_module_names
    known.update(*IN_THE_IMAGE.values(), *(each.modules for each in wheels))
    for place in (each for each in modules if each.endswith(".py")):
        for each in imports_of(files[place]):
            if each.top not in known and not each.is_optional:
                known.add(each.top)  # once is enough
                yield (
                    f"{place}:{each.line} imports {each.top}, which is no module in this "
                    "bundle, none of Python's, and not in the image of processing elements. "
                    f"{_REMEDY}. If it is your own, use --include"
                )


def _of_wheels(wheels: tuple[Wheel, ...]) -> Iterator[str]:
    try:
        from packaging.requirements import InvalidRequirement, Requirement
    except ImportError:  # millrace-streams without its extras: a PE says what it cannot import
        return
    known = {*IN_THE_IMAGE, *(each.distribution for each in wheels)}
    for wheel in wheels:
        for text in wheel.requires:
            try:
                found = Requirement(text)
            except InvalidRequirement:
                continue
            if found.marker is not None and not found.marker.evaluate({"extra": ""}):
                continue
            if (name := normal(found.name)) not in known:
                known.add(name)
                yield f"{wheel.path.name} needs {name}, which this bundle does not have. {_REMEDY}"
