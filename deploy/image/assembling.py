"""Assembles the root directory of a runtime stage: programs, and what they load, nothing else.

    python3 -m deploy.image.assembling libraries ROOT [--image NAME] [--above LOWER]
    python3 -m deploy.image.assembling programs ROOT [--without PACKAGE …] [--above LOWER]

runs in the build stages of the Dockerfile, on nothing but the standard library. `libraries`, for an
image that `contents.py` describes:

1. The environment /opt/millrace is copied, without what the image does not use.
2. So are the interpreter, its standard library, the programs and libraries that the image names,
   and every shared library that these or a wheel load from the system, at their own paths; links
   stay links.

`programs` installs the wheels of millrace, but not the packages that `--without` names. Then both:

3. All modules are compiled. The code is compared with no source (`UNCHECKED_HASH`): a root that
   cannot be written has no newer source, and times of files differ between builds.
4. With `--above`, what LOWER has in the same form is left out: the stage begins with that image.
5. Every time of a file becomes SOURCE_DATE_EPOCH, so that equal contents make equal layers.

Folders that the image's user may write are made in `/owned`.
"""

from __future__ import annotations

import argparse
import compileall
import filecmp
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from deploy.image.contents import CONTENTS, Contents

ENVIRONMENT = Path("/opt/millrace")
WHEELS = Path("/wheel")
SYSTEM_FILES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/ld.so.cache")
OWNED = Path("/owned")
"""What the user of the image may write, as far as nothing is mounted over it."""
ELF = b"\x7fELF"
UNUSED_STDLIB = (
    "config-*",
    "ensurepip*",
    "idlelib*",
    "lib2to3*",
    "pydoc_data*",
    "test*",
    "tkinter*",
    "turtledemo*",
    "**/__pycache__",
)
"""Debian has some of them in packages of their own, and the official image has all."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Assemble one root; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("libraries", "programs"))
    parser.add_argument("root", type=Path)
    parser.add_argument("--image", choices=tuple(CONTENTS), default="services")
    parser.add_argument("--without", nargs="*", default=[], metavar="PACKAGE")
    parser.add_argument("--above", type=Path, metavar="LOWER")
    options = parser.parse_args(arguments)
    root: Path = options.root
    if options.what == "libraries":
        contents = CONTENTS[options.image]
        _copy_environment(root, contents)
        _copy_interpreter(root, contents)
        _make_folders(root, contents)
    else:
        _install_programs(root, options.without)
    _compile(root)
    if options.above is not None:
        _leave_out_equal(root, options.above)
    for each in filter(Path.exists, (root, OWNED)):
        _set_times(each, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    return 0


def _install_programs(root: Path, without: Sequence[str]) -> None:
    """Install our wheels into a root that has nothing else."""
    pip = ("/opt/tools/bin/pip", "install", "--quiet", "--no-compile", "--no-deps", "--no-index")
    (packages,) = (ENVIRONMENT / "lib").glob("python3.*/site-packages")
    target = root / packages.relative_to("/")
    wheels = sorted(map(str, WHEELS.glob("*.whl")))
    subprocess.run([*pip, "--target", str(target), *wheels], check=True)
    shutil.rmtree(target / "bin", ignore_errors=True)  # a wheel without scripts makes none
    remove(target, without)
    for record in target.glob("*.dist-info/RECORD"):
        _keep_existing(record)


def _make_folders(root: Path, contents: Contents) -> None:
    for name, text in contents.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
        (root / name).chmod(0o755 if text.startswith("#!") else 0o644)
    for folder in ("proc", "sys", "dev", "run", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in contents.owned:
        (OWNED / name).mkdir(parents=True, exist_ok=True)


# --------------------------------------------------------------------------- what is copied


def _copy_environment(root: Path, contents: Contents) -> None:
    target = root / ENVIRONMENT.relative_to("/")
    shutil.copytree(ENVIRONMENT, target, symlinks=True)
    for program in (target / "bin").iterdir():
        if not program.name.startswith("python"):
            program.unlink()  # scripts, which begin with a shell or are for people
    (packages,) = target.glob("lib/python3.*/site-packages")
    remove(packages, contents.unused)
    for description in (packages / "botocore" / "data").glob("*"):
        if description.is_dir() and description.name not in contents.aws_services:
            shutil.rmtree(description)
    for record in packages.glob("*.dist-info/RECORD"):
        _keep_existing(record)


def remove(folder: Path, patterns: Sequence[str]) -> None:
    """Remove what matches. Raises ValueError if nothing matches a pattern that names one thing."""
    for pattern in patterns:
        found = list(folder.glob(pattern))
        if not found and "*" not in pattern:
            raise ValueError(f"{folder} has no {pattern}: take it out of the list")
        for each in found:
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink(missing_ok=True)


def _keep_existing(record: Path) -> None:
    """Take the files that were removed out of the list of what a distribution installed."""
    packages = record.parents[1]
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if (packages / line.rsplit(",", 2)[0].strip('"')).exists()]
    record.write_text("".join(kept), encoding="utf-8")


def _copy_interpreter(root: Path, contents: Contents) -> None:
    python = Path(os.path.realpath(ENVIRONMENT / "bin" / "python"))
    _copy_with_links(ENVIRONMENT / "bin" / "python", root)
    stdlib = Path(sysconfig.get_path("stdlib"))
    target = root / stdlib.relative_to("/")
    shutil.copytree(stdlib, target, symlinks=True, ignore=shutil.ignore_patterns("*-packages"))
    remove(target, UNUSED_STDLIB)
    for system_file in SYSTEM_FILES:
        _copy_with_links(Path(system_file), root)
    programs = [_program(name) for name in contents.programs]
    named = _system_libraries(contents.libraries)
    # A wheel brings some of the libraries itself.
    loaded = named | _libraries_of({python, *programs, *named, *_shared_objects(root)})
    libraries = [each for each in sorted(loaded) if not each.is_relative_to(root)]
    for file in (*programs, *libraries):
        _copy_with_links(file, root)
    _note_packages(root, [python, *programs, *libraries])


def _program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise ValueError(f"a program is missing in the base: {name}")
    return Path(found)


def _system_libraries(names: frozenset[str]) -> set[Path]:
    """Where the base has these libraries. Raises ValueError for one that it lacks."""
    if not names:
        return set()
    found: dict[str, Path] = {}
    for line in _answer_of("/sbin/ldconfig", "--print-cache").splitlines():
        name, _, path = line.strip().partition(" (")
        if name in names:
            found.setdefault(name, Path(path.rpartition(" => ")[2]))
    if missing := sorted(names - found.keys()):
        raise ValueError(f"libraries are missing in the base: {', '.join(missing)}")
    return set(found.values())


def _shared_objects(root: Path) -> Iterator[Path]:
    for path in root.rglob("*.so*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(len(ELF)) == ELF:
                    yield path


def _libraries_of(objects: set[Path]) -> set[Path]:
    """The system's libraries that these load, with all that those load, as ldd tells."""
    ended = subprocess.run(
        ["ldd", *map(str, sorted(objects))], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise ValueError(f"ldd ended with {ended.returncode}: {ended.stderr}")
    found, carried = set(), {path.name for path in objects}
    for line in ended.stdout.splitlines():
        words = line.split()
        if "not found" in line:
            if words[0] in carried:
                continue  # by a wheel, in which another library finds it for this one
            raise ValueError(f"a library is missing in the base: {line.strip()}")
        paths = [word for word in words if word.startswith("/") and not word.endswith(":")]
        found |= {Path(path) for path in paths}
    return found


def _note_packages(root: Path, files: Sequence[Path]) -> None:
    """Leave the descriptions of the Debian packages that these files are of, for scanners.

    A file that no package has (the interpreter of the official image) has no description here.
    """
    known = root / "var/lib/dpkg/status.d"
    known.mkdir(parents=True)
    for file in files:
        real = os.path.realpath(file)
        for name in (real, real.removeprefix("/usr")):  # as the package says, before /lib moved
            owner = _answer_of("dpkg-query", "--search", name).partition(":")[0]
            if owner and not (known / owner).exists():
                (known / owner).write_text(_answer_of("dpkg-query", "--status", owner))


def _answer_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _copy_with_links(path: Path, root: Path) -> None:
    """Copy a file to the same path below `root`, with every link on the way to it."""
    at = Path("/")
    for part in path.parts[1:]:
        at = at / part
        copy = root / at.relative_to("/")
        if at.is_symlink():
            if not copy.is_symlink():
                copy.symlink_to(os.readlink(at))
            there = Path(os.path.normpath(at.parent / os.readlink(at)))
            _copy_with_links(there.joinpath(*path.parts[len(at.parts) :]), root)
            return
        if at.is_dir():
            copy.mkdir(exist_ok=True)
        elif not copy.exists():
            shutil.copy2(at, copy)


# --------------------------------------------------------------------------- what is made of it


def _compile(root: Path) -> None:
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    folders = (ENVIRONMENT / "lib", Path(sysconfig.get_path("stdlib")))
    for folder in (root / each.relative_to("/") for each in folders):
        # One process: what the marshaller shares between constants depends on what it saw before.
        if folder.exists() and not compileall.compile_dir(
            str(folder), stripdir=str(root), quiet=1, workers=1, invalidation_mode=mode
        ):
            raise ValueError(f"not every module of {folder} could be compiled")


def _leave_out_equal(root: Path, lower: Path) -> None:
    """Remove what the image below has: the same file at the same path, with the same mode."""
    for path in sorted(root.rglob("*"), reverse=True):
        other = lower / path.relative_to(root)
        if path.is_symlink():
            if other.is_symlink() and os.readlink(other) == os.readlink(path):
                path.unlink()
        elif path.is_dir():
            if other.is_dir() and not any(path.iterdir()):
                path.rmdir()
        elif other.is_file() and filecmp.cmp(path, other, shallow=False):
            path.unlink()


def _set_times(root: Path, epoch_s: int) -> None:
    for path in (*root.rglob("*"), root):
        os.utime(path, (epoch_s, epoch_s), follow_symlinks=False)


if __name__ == "__main__":
    sys.exit(main())
