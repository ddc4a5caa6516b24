"""Which modules of its author an application consists of: found by their imports.

Nothing is executed. A module is the author's if it lies below the folder that the application's
module is imported from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from millrace.errors import PackError
from millrace.imports import imports_of

INSTALLED: Final = ("site-packages", "dist-packages")


def local_modules(module: str, root: Path) -> dict[str, Path]:
    """The modules of the author that a module imports, itself among them, by their names.

    A package has all of its modules. What is imported by a computed name is not found: name it
    with `include`. Raises PackError if a module cannot be read, or has a name of Python's.
    """
    found: dict[str, Path] = {}
    due, known = [module], set[str]()
    while due:
        top = due.pop().split(".")[0]
        if top in known:  # a package is read once, and not for each import of it
            continue
        known.add(top)
        for name, path in _of_top(top, root):
            require_own_name(top, root)
            found[name] = path
            if not any(part in INSTALLED for part in root.parts):
                due += [each.name for each in imports_of(path)]
    return found


def require_own_name(top: str, folder: Path) -> None:
    """Raise PackError if a module or package of an author has a name of the standard library.

    A PE has imported Python's before, or imports the author's in its place for every library.
    """
    if top in sys.stdlib_module_names:
        path = folder / top if (folder / top).is_dir() else folder / f"{top}.py"
        raise PackError(
            f"{path} has the name of Python's module {top}, and a processing element would import "
            f"one in the place of the other. Rename it, as to my_{top}, and what imports it"
        )


def _of_top(top: str, root: Path) -> Iterator[tuple[str, Path]]:
    """The modules of a top-level name: one file, or all of a package."""
    if (root / f"{top}.py").is_file():
        yield top, root / f"{top}.py"
        return
    for path in package_files(root / top) or _namespace_files(root / top):
        if path.suffix == ".py":
            parts = path.relative_to(root).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def package_files(folder: Path) -> list[Path]:
    """The files of a package, without caches and hidden files; [] if it is no package."""
    if not (folder / "__init__.py").is_file():
        return []
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(
            part == "__pycache__" or part.startswith(".") for part in path.relative_to(folder).parts
        )
    ]


def _namespace_files(folder: Path) -> list[Path]:
    """The modules of a folder without `__init__.py`, where Python finds no other of that name."""
    if not folder.is_dir():
        return []
    found = PathFinder.find_spec(folder.name)
    if found is not None and found.origin is not None:
        return []  # a folder never wins over a module or a package
    return [
        path
        for path in sorted(folder.rglob("*.py"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
