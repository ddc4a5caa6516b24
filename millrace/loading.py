"""Imports the module of an application: for packing, and again in each processing element (PE)."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace.app import App
from millrace.errors import LoadError
from millrace.modules import local_modules


def load_file(file: Path, variable: str | None = None) -> App:
    """The application in a file such as `app.py`. Without a variable it has to hold exactly one.

    The module is executed again if it was imported before. Raises LoadError.
    """
    file = file.resolve()
    if not file.is_file():
        raise LoadError(f"there is no file {file}")
    if file.suffix != ".py":
        raise LoadError(f"{file} is no Python file")
    root, module = file.parent, file.stem
    while (root / "__init__.py").is_file():
        module, root = f"{root.name}.{module}", root.parent
    module = module.removesuffix(".__init__")
    _forget(local_modules(module, root))
    return _app_in(_imported(module, root), variable)


@contextmanager
def importable(wheels: Iterable[Path]) -> Iterator[None]:
    """Make libraries importable from wheels, as they are in a PE, and forget them afterwards.

    They win over what is installed, and over what was imported before. Raises PackError if one is
    no wheel, and WheelRefused if one is for another Python or platform.
    """
    from millrace.runtime.wheels import add_wheels  # a PE has them from its bundle
    from millrace.wheel_files import read_wheels

    read = read_wheels(wheels)
    tops = frozenset[str]().union(*(each.modules for each in read)) - {"millrace", "msgspec"}
    path, modules = list(sys.path), dict(sys.modules)
    with tempfile.TemporaryDirectory(prefix="millrace-") as folder:
        add_wheels([each.path for each in read], Path(folder))
        try:
            _forget(name for name in modules if name.partition(".")[0] in tops)
            yield
        finally:
            _forget([name for name in sys.modules if name.partition(".")[0] in tops])
            sys.modules.update((n, m) for n, m in modules.items() if n.partition(".")[0] in tops)
            sys.path[:] = path
            importlib.invalidate_caches()


def _forget(names: Iterable[str]) -> None:
    for name in names:
        sys.modules.pop(name, None)


def load_module(root: Path, module: str, variable: str, digest: str) -> App:
    """The application of a bundle that is unpacked at `root`, in a PE.

    Raises LoadError if the module cannot be imported, or builds another graph than the one with
    this digest, which the control plane planned.
    """
    app = _app_in(_imported(module, root), variable)
    found = app.graph.digest
    if found != digest:
        raise LoadError(
            f"module {module} builds another graph than the plan of this job has "
            f"({found[:12]} instead of {digest[:12]}): an application's graph has to be the same "
            "each time, so it must not depend on the time, the host or the environment"
        )
    return app


def _imported(module: str, root: Path) -> object:
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise LoadError(
            f"module {module} cannot be imported: {problem}; its libraries have to be installed "
            "here, or be wheels in the bundle (bundle pack --wheel)"
        ) from problem
    finally:
        sys.path.remove(str(root))


def _app_in(module: object, variable: str | None) -> App:
    name = getattr(module, "__name__", "?")
    found = {key: value for key, value in vars(module).items() if isinstance(value, App)}
    if variable is not None:
        if variable not in found:
            known = f"it has {', '.join(found)}" if found else "it has no application"
            raise LoadError(f"module {name} has no application {variable}: {known}")
        return found[variable]
    if len({id(each) for each in found.values()}) != 1:
        what = "no application" if not found else f"several applications: {', '.join(found)}"
        raise LoadError(f"module {name} has {what}; name one, as in {name}.py:app")
    return next(iter(found.values()))
