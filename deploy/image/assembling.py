"""Assembles the root directory of a runtime stage: programs, and what they load, nothing else.

    python3 -m deploy.image.assembling ROOT [--without PACKAGE …] [--above LOWER]

runs in a build stage of the Dockerfile, under the interpreter that the image will have.

1. The environment /opt/millrace is copied, without what `UNUSED` and `--without` leave out.
2. So are the interpreter, its standard library, and every shared library that these or a wheel load
   from the system, at their own paths; links stay links.
3. All modules are compiled. The code is checked against nothing (`UNCHECKED_HASH`), because a
   root that cannot be written has no newer source, and times of files differ between builds.
4. Every time of a file becomes SOURCE_DATE_EPOCH, so that equal contents make equal layers.

With `--above`, what LOWER has in the same form is left out: the stage begins with that image.
Folders that the image's user may write are made beside ROOT, in `/owned-by-services`.
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

ENVIRONMENT = Path("/opt/millrace")
OWNED = Path("/owned-by-services")
"""What the user of the image may write, as far as nothing is mounted over it."""
OWNED_FOLDERS = ("var/lib/millrace/bundles", "var/lib/millrace/store", "run/millrace")
SYSTEM_FILES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/ld.so.cache")
USER = 65532
ELF = b"\x7fELF"
UNUSED = (
    # Clients of Kubernetes that services/chassis/kube/client_config.py keeps from being imported.
    "kubernetes_asyncio/client/api",
    "kubernetes_asyncio/client/models",
    # Tests, headers and build tools of wheels.
    "**/tests",
    "**/*.pyi",
    "**/*.pxd",
    "**/*.pyx",
    "numpy/_core/include",
    "numpy/_core/lib",
    "lxml/includes",
    # Of scipy, `placement/` uses the integer programs of scipy.optimize.
    "scipy/datasets",
    "scipy/io",
    "scipy/ndimage",
    "scipy/signal",
    "scipy/stats",
)
AWS_SERVICES = frozenset({"signin", "sso", "sso-oidc", "sts"})
"""The descriptions of AWS services that botocore reads to find credentials. It signs our requests
(`services/fusion_backend/adapters/bundles/root_urls.py`), and makes none to another service."""
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
FILES = {
    "etc/passwd": f"root:x:0:0::/root:/nologin\nmillrace:x:{USER}:{USER}::/tmp:/nologin\n",
    "etc/group": f"root:x:0:\nmillrace:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Assemble one root; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("root", type=Path)
    parser.add_argument("--without", nargs="*", default=[], metavar="PACKAGE")
    parser.add_argument("--above", type=Path, metavar="LOWER")
    options = parser.parse_args(arguments)
    root: Path = options.root
    _copy_environment(root, options.without)
    _copy_interpreter(root)
    _compile(root)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for folder in ("proc", "sys", "dev", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in OWNED_FOLDERS:
        (OWNED / name).mkdir(parents=True, exist_ok=True)
    if options.above is not None:
        _leave_out_equal(root, options.above)
    for each in (root, OWNED):
        _set_times(each, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    return 0


# --------------------------------------------------------------------------- what is copied


def _copy_environment(root: Path, without: Sequence[str]) -> None:
    target = root / ENVIRONMENT.relative_to("/")
    shutil.copytree(ENVIRONMENT, target, symlinks=True)
    for program in (target / "bin").iterdir():
        if not program.name.startswith("python"):
            program.unlink()  # scripts, which begin with a shell or are for people
    (packages,) = target.glob("lib/python3.*/site-packages")
    remove(packages, (*UNUSED, *without))
    for description in (packages / "botocore" / "data").iterdir():
        if description.is_dir() and description.name not in AWS_SERVICES:
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


def _copy_interpreter(root: Path) -> None:
    python = Path(os.path.realpath(ENVIRONMENT / "bin" / "python"))
    _copy_with_links(ENVIRONMENT / "bin" / "python", root)
    stdlib = Path(sysconfig.get_path("stdlib"))
    target = root / stdlib.relative_to("/")
    shutil.copytree(stdlib, target, symlinks=True, ignore=shutil.ignore_patterns("*-packages"))
    remove(target, UNUSED_STDLIB)
    for file in SYSTEM_FILES:
        _copy_with_links(Path(file), root)
    # A wheel brings some of the libraries itself.
    loaded = _libraries_of({python, *_shared_objects(root)})
    libraries = [each for each in sorted(loaded) if not each.is_relative_to(root)]
    for library in libraries:
        _copy_with_links(library, root)
    _note_packages(root, [python, *libraries])


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
    stdlib = Path(sysconfig.get_path("stdlib"))
    for folder in (ENVIRONMENT / "lib", stdlib):
        here = root / folder.relative_to("/")
        # One process: what the marshaller shares between constants depends on what it saw before.
        is_whole = compileall.compile_dir(
            str(here), stripdir=str(root), quiet=1, workers=1, invalidation_mode=mode
        )
        if not is_whole:
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
