"""Builds the pinned programs once, into a cache outside the tree.

1. The digest of the pins names the folder; if it is there, it is whole, and nothing is done.
2. Otherwise Go, Maven and Java report their versions, before anything is downloaded.
3. Everything is built in a folder with another name, which is renamed as the last step: a build
   that was interrupted is never used, and is removed by the next one.

The ordinary clients (`go`, `mvn`) reach their registries as they are configured.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.failing import Failure, Misused
from tools.real.pins import PINNED, Pins
from tools.real.progress import Progress
from tools.real.state import locked

JAVA_MAJOR_MIN = 17
ASK_TIMEOUT_S = 120.0  # `go` may fetch the toolchain that go.mod asks for
BUILD_TIMEOUT_S = 3600.0
LINE_BYTES_MAX = 1 << 20
OUTPUT_LINES = 20
TOOLS: Mapping[str, str] = {
    "server": "go.etcd.io/etcd/server/v3",  # etcd's, as its folder is called
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
"""The programs of every pair: name → package, a tool of go.mod."""
PROGRAMS = tuple(TOOLS)


@dataclass(frozen=True, slots=True)
class Build:
    """A whole build: a folder of programs and one of jars."""

    folder: Path
    java: str

    @property
    def programs(self) -> Path:
        """The folder of the programs that Go built."""
        return self.folder / "bin"

    @property
    def jars(self) -> Path:
        """The folder of Kafka's jars."""
        return self.folder / "libs"

    @property
    def kubectl(self) -> Path:
        """The kubectl of the same version as the API server."""
        return self.programs / "kubectl"


def cache_folder() -> Path:
    """Where builds are kept: ~/.cache/millrace, or below XDG_CACHE_HOME."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "millrace"


async def build_of(pins: Pins, progress: Progress) -> Build:
    """The build of these pins, made now if it does not exist. Raises Misused, Failure."""
    java = await checked_java()
    folder = cache_folder() / pins.digest
    if folder.is_dir():
        return Build(folder, java)
    async with locked(folder, progress.say):
        if not folder.is_dir():  # somebody else may have built it while we waited
            await _build(folder, pins, progress)
    return Build(folder, java)


async def _build(folder: Path, pins: Pins, progress: Progress) -> None:
    await check_go(pins.versions["go"])
    await _check_maven()
    draft = folder.with_name(f"{folder.name}.building")
    shutil.rmtree(draft, ignore_errors=True)
    for part in ("bin", "libs"):
        (draft / part).mkdir(parents=True)
    try:
        await _copy_jars(draft / "libs", progress)
        await _build_programs(draft / "bin", pins, progress)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


async def _copy_jars(folder: Path, progress: Progress) -> None:
    """Maven writes beside the pom it reads, so it reads a copy."""
    pom = Path(shutil.copy(PINNED / "pom.xml", folder.parent / "pom.xml"))
    with progress.step("Apache Kafka: jars", total=None):
        goal = "dependency:copy-dependencies"
        options = [f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        command = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), goal, *options]
        await run_client(command, {}, lambda _line: None)


async def _build_programs(folder: Path, pins: Pins, progress: Progress) -> None:
    flags = linker_flags(pins.versions["kubernetes"])
    await build_programs(folder, TOOLS, flags, "Kubernetes, etcd, kwok", progress)


async def build_programs(
    folder: Path,
    packages: Mapping[str, str],
    flags: str,
    what: str,
    progress: Progress,
    *,
    module: Path = PINNED,
) -> None:
    """Build packages of a pinned module into a folder: name of the program → package."""
    compiled: list[str] = []
    wanted = list(packages.values())
    with progress.step(f"{what}: modules", total=None):
        listing = ["go", "list", "-deps", *wanted]
        await run_client(listing, go_environment(), compiled.append, folder=module)
    with progress.step(f"{what}: build", total=len(compiled)) as step:
        # -v names every package when it is compiled; one that Go's own cache has is not named.
        command = ["go", "build", "-v", "-trimpath", "-buildvcs=false", "-o", f"{folder}/"]
        command += ["-ldflags", flags, *wanted]
        await run_client(command, go_environment(), lambda _line: step.advance(), folder=module)
    missing = [name for name in packages if not (folder / name).is_file()]
    if missing:
        raise Failure(f"`go build` made no {', '.join(missing)} of {module}/go.mod")


def linker_flags(version: str) -> str:
    """Without these, kubectl and the API server call themselves v0.0.0."""
    major, minor, _ = version.split(".", 2)
    values = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    flags = [f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items()]
    return " ".join(["-s", "-w", *flags])


def go_environment() -> Mapping[str, str]:
    """What `go` is run with."""
    # Without cgo no C compiler is needed; a go.work further up must not add modules.
    return {"CGO_ENABLED": "0", "GOWORK": "off"}


async def check_go(wanted: str, what: str = "the real pair's control plane") -> None:
    """Raises Misused where `go` is missing or older; `what` is to be built with it."""
    sentence = f"Go {wanted} or newer is needed to build {what}"
    install = "install it from https://go.dev/dl and put `go` on the PATH."
    if shutil.which("go") is None:
        raise Misused(f"{sentence}, and `go` was not found: {install}")
    printed: list[str] = []
    try:
        await run_client(["go", "env", "GOVERSION"], {}, printed.append, timeout_s=ASK_TIMEOUT_S)
    except Failure:  # an older one with GOTOOLCHAIN=local refuses our go.mod
        raise Misused(f"{sentence}, and `go` is older: {install}") from None
    found = printed[-1].strip() if printed else ""
    if _numbers(found) < _numbers(wanted):
        raise Misused(f"{sentence}, and `go` is {found or 'another'}: {install}")


async def _check_maven() -> None:
    if shutil.which("mvn") is None:
        raise Misused(
            "Maven is needed to fetch Apache Kafka, and `mvn` was not found: install it "
            "(package `maven` on Debian and Fedora) and put it on the PATH."
        )


async def checked_java() -> str:
    """The `java` to run Kafka with. Raises Misused where it is missing or too old."""
    sentence = f"Java {JAVA_MAJOR_MIN} or newer is needed to run Apache Kafka"
    install = f"install it (package `openjdk-{JAVA_MAJOR_MIN}-jre-headless` on Debian)."
    java = shutil.which("java")
    if java is None:
        raise Misused(f"{sentence}, and `java` was not found: {install}")
    printed: list[str] = []
    await run_client([java, "-version"], {}, printed.append, timeout_s=ASK_TIMEOUT_S)
    found = re.search(r'version "(\d+)', "\n".join(printed))
    if found is None or int(found[1]) < JAVA_MAJOR_MIN:
        raise Misused(f"{sentence}, and `java` is {found[1] if found else 'another'}: {install}")
    return java


def _numbers(version: str) -> tuple[int, ...]:
    """`go1.26.8` and `1.26.0` as numbers, for comparing."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


async def run_client(
    command: Sequence[str],
    environment: Mapping[str, str],
    on_line: Callable[[str], None],
    *,
    folder: Path = PINNED,
    timeout_s: float = BUILD_TIMEOUT_S,
) -> None:
    """Run a client to its end in a folder of pins; raises Failure with its last lines."""
    last: list[str] = []
    try:
        async with asyncio.timeout(timeout_s), _started(command, environment, folder) as process:
            assert process.stdout is not None
            async for line in process.stdout:
                text = line.decode(errors="replace").rstrip()
                last = [*last[-OUTPUT_LINES:], text]
                on_line(text)
            code = await process.wait()
    except TimeoutError:
        raise Failure(f"`{command[0]}` did not end in {timeout_s:g} s") from None
    if code:
        words = " ".join(command[:2])
        raise Failure(f"`{words} …` ended with code {code}:", *last)


@contextlib.asynccontextmanager
async def _started(
    command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process, in a session of its own, so that compilers end with it when we are ended."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=dict(os.environ) | dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=LINE_BYTES_MAX,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
