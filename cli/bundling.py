"""`millrace bundle pack`: makes a bundle of an ADL, a folder with one, or an application in Python.

The format is defined in `contracts/bundle_format.py`; `millrace/bundling.py` packs applications.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from glob import has_magic
from pathlib import Path
from typing import Final

from cli.failing import Failure, Misused
from cli.recognizing import beginning_of, kind_of
from cli.showing import print_lines
from contracts.bundle_format import BundleInvalid, BundleLimits, BundleTooLarge, open_bundle, pack

APPLICATION: Final = re.compile(r"(?P<file>.+\.py)(?::(?P<variable>\w+))?")


def pack_source(
    source: Path,
    output: Path | None,
    *,
    force: bool = False,
    include: Sequence[Path] = (),
    wheels: Sequence[Path] = (),
) -> Path:
    """Pack an ADL, the folder of an application, or `app.py[:app]`; returns its path.

    `force`: a bundle with another content is replaced. `include` and `wheels` are further code
    of an application in Python. Raises Misused if the source is none of these, Failure if it cannot
    be packed.
    """
    if (named := APPLICATION.fullmatch(str(source))) and not source.is_dir():
        file, variable = Path(named["file"]), named["variable"]
        _require_files(file, *wheels, *(each for each in include if not has_magic(str(each))))
        return _pack_application(file, variable, output, force, include, wheels)
    if include or wheels:
        raise Misused("--include and --wheel are for applications in Python (app.py)")
    if source.is_dir():
        return pack_folder(source, output, force=force)
    if source.suffix != ".adl" or not source.is_file():
        raise Misused(
            f"{source} is neither an application (.py), an .adl file nor a folder with one"
        )
    return _packed(source, {}, output, force=force)


def _require_files(*named: Path) -> None:
    """Raises Misused: a file that is not there is a wrong argument, not a bad application."""
    for each in named:
        if not each.exists() and not each.is_symlink():
            raise Misused(f"there is no file {each} (from {Path.cwd()})")


def _pack_application(
    file: Path,
    variable: str | None,
    output: Path | None,
    force: bool,
    include: Sequence[Path],
    wheels: Sequence[Path],
) -> Path:
    """Import an application and pack it: its module is executed here, as in each PE."""
    from millrace.bundling import bundle_of
    from millrace.errors import MillraceError
    from millrace.installed import warn_of_another
    from millrace.loading import importable, load_file

    warn_of_another()
    try:
        with importable(wheels):
            app = load_file(file, variable)
            made = bundle_of(app.adl(), app.code, app.name, include=include, wheels=wheels)
        open_bundle(made.data, BundleLimits())
    except BundleTooLarge as problem:
        raise Failure(f"{file} cannot be packed: {problem} (it has {made.content})") from None
    except MillraceError as problem:
        raise Failure(f"{file} cannot be packed: {problem}") from None
    except Exception as problem:
        raise Failure(
            f"{file} cannot be packed: it raises {type(problem).__name__}: {problem}"
        ) from problem
    target = output or Path(f"{app.name.replace('::', '.')}.sab")
    _written(made.data, target, force=force)
    print_lines(*(f"millrace: warning: {sentence}" for sentence in made.lacks))
    print_lines(f"{target.name} has {len(made.data)} bytes: {made.content}")
    return target


def pack_folder(folder: Path, output: Path | None, *, force: bool = False) -> Path:
    """Pack the folder's ADL and the files below it; returns its path.

    Hidden files, .yaml, .md, .sab and the bundle itself are left out. Raises Misused unless the
    folder has exactly one .adl file, Failure if that is not an ADL or a file cannot be read or
    written.
    """
    if not folder.is_dir():
        raise Misused(f"{folder} is not a folder")
    found = sorted(folder.glob("*.adl"))
    if len(found) != 1:
        raise Misused(f"{folder} holds {len(found)} .adl files; a bundle is made of exactly one")
    (adl,) = found
    return _packed(adl, _files(folder, (adl, _target_of(adl, output))), output, force=force)


def _packed(adl: Path, files: dict[str, bytes], output: Path | None, *, force: bool) -> Path:
    target = _target_of(adl, output)
    if target.resolve() == adl.resolve():
        raise Misused(f"--output {target} is the ADL itself: name another file, such as NAME.sab")
    try:
        data = adl.read_bytes()
        if kind_of(data) != "ADL":
            raise Failure(f"{adl} cannot be packed: it is no ADL (XML): {beginning_of(data)}")
        content = pack(data, files=files)
    except BundleInvalid as problem:
        raise Failure(f"{adl} cannot be packed: {problem}") from None
    except OSError as problem:
        raise Failure(_file_problem(problem)) from None
    return _written(content, target, force=force)


def _written(content: bytes, target: Path, *, force: bool) -> Path:
    if target.is_file() and kind_of(target.read_bytes()) != "bundle":
        raise Misused(f"--output {target} exists and is no bundle: name another file")
    try:
        if target.is_file():
            if target.read_bytes() == content:
                return target
            if not force:
                raise Failure(
                    f"{target} exists and has another content: say --force to replace it, or name "
                    "another file with --output"
                )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as problem:
        raise Failure(_file_problem(problem)) from None
    return target


def _target_of(adl: Path, output: Path | None) -> Path:
    return output or Path(f"{adl.stem}.sab")


def _files(folder: Path, left_out: tuple[Path, ...]) -> dict[str, bytes]:
    others = {path.resolve() for path in left_out}
    try:
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and path.resolve() not in others
            and path.suffix not in (".yaml", ".md", ".sab")
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        }
    except OSError as problem:
        raise Failure(_file_problem(problem)) from None


def _file_problem(problem: OSError) -> str:
    return f"{problem.filename} cannot be read or written: {problem.strerror}"
