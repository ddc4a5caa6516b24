"""kubectl in front of a cluster: what a script is, how it is typed, and what is masked of it.

`$ns` in a command or a file stands for the namespace of the script; so do nodes of a script get
names of their own. What both sides printed is compared in test_kubectl.py.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from tests.patience import patient
from tests.real.differential.objects import Obj
from tools.real.building import cache_folder
from tools.real.pins import read_pins

COMMAND_S_MAX = patient(90.0)  # guards against hanging, also on a machine that does much else
STREAM_S_MAX = patient(60.0)
WAIT = f"--timeout={patient(30.0):.0f}s"
"""An option of `kubectl wait` for what comes; where nothing comes, a script says so by `1s`."""
_LOG_REQUESTS = "-v=6"
_WATCH = b"watch=true"
_ASSIGNMENT = re.compile(r"[A-Z_]+=.*", re.DOTALL)
_MASKS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d [0-9:.]{18} [+-]\d{4}"), "<time>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [0-9:]{8} [+-]\d{4}"), "<time>"),
    (re.compile(r"((resourceVersion\"?|Resource Version): *)\"?\d+\"?"), r"\1<version>"),
    (re.compile(r"(resource version to be \d+, was) \d+"), r"\1 <version>"),
    (re.compile(r"^[IWE]\d{4} \d\d:\d\d:\d\d.*\n", re.MULTILINE), ""),  # kubectl's own log
    (re.compile(r"(?<![\w.-])(\d+[smh])+(?![\w.-])"), "<age>"),
    (re.compile(r"(https?://)?127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"^(\S+ +)?(configmap/)?kube-root-ca\.crt.*\n", re.MULTILINE), ""),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b"), "<address>"),
    (re.compile(r"/\S*/(LIVE|MERGED)-\d+"), r"<folder>/\1"),
    (re.compile(r" +"), " "),
    (re.compile(r" $", re.MULTILINE), ""),
)
_OF_THE_SERVER = (  # what it words: only the kind of a refusal is compared
    (re.compile(r"(Error from server(?: \(\w+\))?)\b.*(?:\n(?!\S+:|Error|The ).*)*"), r"\1"),
    (re.compile(r"(.* is invalid):.*(?:\n(?!\S+:|Error|The ).*)*"), r"\1"),
    (re.compile(r"^Warning: .*\n", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Stream:
    """A command that goes on beside those after it, from when its watch has begun.

    Ended when it has printed so many lines; with 0 it ends by itself.
    """

    line: str
    lines: int


@dataclass(frozen=True)
class Script:
    """Commands in their order. `-f -` reads `given`; `files` lie where the commands run."""

    name: str
    commands: tuple[str | Stream, ...]
    given: tuple[Obj, ...] = ()
    files: Mapping[str, tuple[Obj, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Seat:
    """Who types where: a kubeconfig, and folders for kubectl's cache and for the files."""

    kubeconfig: Path
    cache: Path
    folder: Path


@dataclass(frozen=True)
class Printed:
    """What a command left: exit code, output, complaints; masked."""

    code: int
    out: str
    complaints: str

    @property
    def lines(self) -> list[str]:
        """All of it as lines, so that two can be compared."""
        complaints = [f"stderr: {line}" for line in self.complaints.splitlines()]
        return [f"exit code {self.code}", *self.out.splitlines(), *complaints]


def kubectl() -> str:
    """The kubectl that was built beside the API server; MILLRACE_KUBECTL names another one."""
    built = cache_folder() / read_pins().digest / "bin" / "kubectl"
    found = os.environ.get("MILLRACE_KUBECTL") or (
        str(built) if built.exists() else shutil.which("kubectl")
    )
    if not found:
        pytest.skip("there is no kubectl: `make real-up` builds one")
    return found


def differences(sandbox: Printed, real: Printed) -> tuple[str, ...]:
    """Lines that only the sandbox prints (`- …`) and that only the real server does (`+ …`)."""
    compared = difflib.ndiff(sandbox.lines, real.lines)
    return tuple(line for line in compared if line.startswith(("- ", "+ ")))


async def typed(script: Script, namespace: str, seat: Seat) -> list[Printed]:
    """What each command of a script printed, typed one after the other."""
    seat.folder.mkdir(parents=True)
    for name, objects in script.files.items():
        (seat.folder / name).write_bytes(_documents(objects, namespace))
    given = _documents(script.given, namespace)
    tasks: list[asyncio.Task[Printed]] = []
    try:
        for command in script.commands:
            if isinstance(command, Stream):
                tasks.append(await _stream(command, namespace, seat))
            else:
                tasks.append(asyncio.create_task(_run(command, namespace, seat, given)))
                await tasks[-1]
        return [await task for task in tasks]
    finally:
        for task in tasks:
            task.cancel()


async def _run(line: str, namespace: str, seat: Seat, given: bytes) -> Printed:
    process = await _started(line, namespace, seat)
    try:
        async with asyncio.timeout(COMMAND_S_MAX):
            out, complaints = await process.communicate(given)
    finally:
        if process.returncode is None:
            process.kill()
    if "--raw" in line:
        out = _indented(out)
    said = _masked(complaints, namespace)
    for pattern, word in _OF_THE_SERVER:
        said = pattern.sub(word, said)
    return Printed(process.returncode or 0, _masked(out, namespace), said)


async def _stream(command: Stream, namespace: str, seat: Seat) -> asyncio.Task[Printed]:
    """The rest of a command whose watch has begun, which only its log tells."""
    process = await _started(f"{command.line} {_LOG_REQUESTS}", namespace, seat)
    assert process.stderr is not None
    async with asyncio.timeout(STREAM_S_MAX):
        while (said := await process.stderr.readline()) and _WATCH not in said:
            pass
    return asyncio.create_task(_streamed(process, command.lines, namespace))


async def _streamed(process: asyncio.subprocess.Process, lines: int, namespace: str) -> Printed:
    assert process.stdout is not None
    out = b""
    try:
        async with asyncio.timeout(STREAM_S_MAX):
            while (not lines or out.count(b"\n") < lines) and (
                said := await process.stdout.readline()
            ):
                out += said
            if not lines:
                await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    code = 0 if lines else process.returncode or 0
    return Printed(code, _masked(out, namespace), "")


async def _started(line: str, namespace: str, seat: Seat) -> asyncio.subprocess.Process:
    words = shlex.split(line.replace("$ns", namespace))
    assigned = dict(word.split("=", 1) for word in words if _ASSIGNMENT.fullmatch(word))
    return await asyncio.create_subprocess_exec(
        kubectl(),
        f"--kubeconfig={seat.kubeconfig}",
        f"--cache-dir={seat.cache}",
        f"--namespace={namespace}",
        *(word for word in words if not _ASSIGNMENT.fullmatch(word)),
        cwd=seat.folder,
        env=os.environ | assigned,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


def _documents(objects: Sequence[Obj], namespace: str) -> bytes:
    """A file that kubectl reads: one object after the other."""
    return b"\n".join(orjson.dumps(each) for each in objects).replace(b"$ns", namespace.encode())


def _indented(text: bytes) -> bytes:
    """JSON without the order of its fields, one line each; what is no JSON as it is."""
    try:
        shown = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def _masked(text: bytes, namespace: str) -> str:
    shown = text.decode().replace(namespace, "<ns>")
    for pattern, word in _MASKS:
        shown = pattern.sub(word, shown)
    return shown
