"""The planner's part of `make bench`: time and memory by shape, scheme and size, against lxml.

Each measurement runs in a process of its own, so that the peak of memory is that of reading and
planning, without the imported program. Times are CPU seconds on one core. The unit is the time that
lxml needs to parse the expanded ADL of the same application in the same process. Growth is the
ratio of times over the ratio of sizes (operators plus connections), from one size to the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from lxml import etree

from cli.showing import answer, answer_lines
from contracts.bundle_format import Bundle
from loadtest.applications import SHAPES, Application, wide_connection
from planner import planning
from planner.application.adl import read_application
from planner.description.aadl import render as render_aadl
from planner.description.meaning import PeMeaning
from planner.numbering.records import Fusion
from planner.requesting import PlanLimits, PlanRequest
from services.chassis.process.collecting import collector_paused

SIZES: Sequence[int] = (1_000, 10_000, 100_000)
SCHEMES = {
    "legacy": Fusion.legacy(),
    "automatic": Fusion.automatic(
        8, allocatable_mcpu=64_000, largest_node_mcpu=8_000, request_mcpu=1_000
    ),
}
"""Automatic: for a cluster of eight nodes with eight CPUs each."""
GROWTH_MAX = 1.3
"""The threshold. The aims are reported, not asserted."""
AIMED_RATIO = 10.0
AIMED_BYTES_PER_OPERATOR = 6 * 1024
WIDE = (1_000, 1_000)
AIMED_WIDE_BYTES = 256 * 1024 * 1024
WITHOUT_A_CONFIG_MAP = PlanLimits(aadl_bytes_max=1 << 40)
"""A source of 100,000 channels fits no ConfigMap, but its planning can be measured."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One plan, in seconds of CPU; `peak_bytes` is without the imported program."""

    shape: str
    scheme: str
    operators: int
    connections: int
    pes: int
    parse_s: float
    read_s: float
    plan_s: float
    render_s: float
    text_bytes: int
    peak_bytes: int

    @property
    def parts(self) -> int:
        """Operators and connections."""
        return self.operators + self.connections

    @property
    def bytes_per_operator(self) -> float:
        """The peak of memory for each operator."""
        return self.peak_bytes / self.operators

    def best_of(self, other: Measured) -> Measured:
        """The faster one of two measurements."""
        return min(self, other, key=lambda each: each.plan_s + each.render_s)


# --------------------------------------------------------------------------- one measurement


class _Stopwatch:
    """Wraps the renderer: adds up its time and bytes."""

    def __init__(self, render: Callable[[PeMeaning], bytes]) -> None:
        self._render = render
        self.seconds = 0.0
        self.bytes = 0

    def __call__(self, meaning: PeMeaning) -> bytes:
        start = time.process_time()
        text = self._render(meaning)
        self.seconds += time.process_time() - start
        self.bytes += len(text)
        return text


@collector_paused()
def measure(shape: str, scheme: str, size: int) -> Measured:
    """Read and plan one application in this process; the peak covers both."""
    with TemporaryDirectory() as folder:
        written = _written(shape, size, Path(folder))
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
        started = _memory("VmRSS")
        start = time.process_time()
        read = read_application(_bundle(written.logical.read_bytes()))
        read_s = time.process_time() - start
        watch = _Stopwatch(render_aadl)
        request = PlanRequest(
            application=read,
            bundle_digest="digest",
            job_name="load",
            job_id=1,
            fusion=SCHEMES[scheme],
            limits=WITHOUT_A_CONFIG_MAP,
        )
        with patch.object(planning, "render", watch):
            start = time.process_time()
            result = planning.plan(request)
            planned_s = time.process_time() - start
        peak = _memory("VmHWM") - started
        pes = len(result.record.pes)
        del result, read, request
        return Measured(
            shape=shape,
            scheme=scheme,
            operators=written.operators,
            connections=written.connections,
            pes=pes,
            parse_s=_parsed_s(written.expanded.read_bytes()),
            read_s=read_s,
            plan_s=planned_s - watch.seconds,
            render_s=watch.seconds,
            text_bytes=watch.bytes,
            peak_bytes=peak,
        )


@dataclass(frozen=True, slots=True)
class _Written:
    """An application in files, written by another process: its texts must not count here."""

    logical: Path
    expanded: Path
    operators: int
    connections: int


def _written(shape: str, size: int, folder: Path) -> _Written:
    command = [sys.executable, "-m", "loadtest.planner", "write", shape, str(size), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    operators, connections = map(int, done.stdout.split())
    return _Written(folder / "logical", folder / "expanded", operators, connections)


def _write(shape: str, size: int, folder: Path) -> None:
    application = _application(shape, size)
    (folder / "logical").write_text(application.logical)
    (folder / "expanded").write_text(application.expanded)
    answer(f"{application.operators} {application.connections}")


def _application(shape: str, size: int) -> Application:
    if shape == "wide":
        return wide_connection(*WIDE)
    return next(each for each in SHAPES if each.name == shape).made(size)


def _bundle(adl: bytes) -> Bundle:
    return Bundle(
        digest="digest",
        build_id="build",
        adl_file="load.Main.adl",
        adl_path="output/load.Main.adl",
        adl=adl,
        application_directory=".",
        output_directory="output",
    )


def _parsed_s(data: bytes) -> float:
    """Seconds that lxml needs for the text; 0 if it is empty."""
    if not data:
        return 0.0
    found = []
    for _ in range(2):
        start = time.process_time()
        etree.fromstring(data)
        found.append(time.process_time() - start)
    return min(found)


def _memory(what: str) -> int:
    """The bytes of one line of /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == what:
            return int(value.split()[0]) * 1024
    raise AssertionError(f"/proc/self/status has no {what}")


# --------------------------------------------------------------------------- all of them


def measure_all(sizes: Sequence[int], runs: int, report: Callable[[str], None]) -> list[Measured]:
    """Measure every shape, scheme and size, each in its own process; then the wide connection.

    Takes the best of the runs. Every size has the same number of runs, or growth would be biased.
    """
    found: list[Measured] = []
    for shape in SHAPES:
        for scheme in SCHEMES:
            for size in sizes:
                report(f"planner: {shape.name}, {scheme}, {size} operators")
                best = _in_a_process(shape.name, scheme, size)
                for _ in range(runs - 1):
                    best = best.best_of(_in_a_process(shape.name, scheme, size))
                found.append(best)
    for scheme in SCHEMES:
        report(f"planner: a connection of {WIDE[0]} × {WIDE[1]} channels, {scheme}")
        found.append(_in_a_process("wide", scheme, sum(WIDE)))
    return found


def _in_a_process(shape: str, scheme: str, size: int) -> Measured:
    command = [sys.executable, "-m", "loadtest.planner", shape, scheme, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return Measured(**json.loads(done.stdout))


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth from one size to the next: ratio of times over ratio of sizes."""

    before: Measured
    after: Measured

    @property
    def planning(self) -> float:
        """The growth of planning time."""
        return self._of(self.before.plan_s, self.after.plan_s)

    @property
    def rendering(self) -> float:
        """The growth of rendering time."""
        return self._of(self.before.render_s, self.after.render_s)

    def _of(self, before_s: float, after_s: float) -> float:
        return (after_s / before_s) / (self.after.parts / self.before.parts)


def growths(rows: Iterable[Measured]) -> Iterator[Growth]:
    """The growth of each shape and scheme, from each size to the next."""
    last: dict[tuple[str, str], Measured] = {}
    for row in rows:
        before = last.get((row.shape, row.scheme))
        if before is not None:
            yield Growth(before, row)
        last[row.shape, row.scheme] = row


def exceeded(rows: Sequence[Measured]) -> list[str]:
    """A message for each growth above GROWTH_MAX."""
    return [
        f"{growth.after.shape}, {growth.after.scheme}, {growth.after.operators} operators:"
        f" {what} grew {figure:.2f} times as fast as the application, at most {GROWTH_MAX}"
        for growth in growths(rows)
        for what, figure in (("planning", growth.planning), ("rendering", growth.rendering))
        if figure > GROWTH_MAX
    ]


def render(rows: Sequence[Measured]) -> str:
    """The table, in Markdown."""
    grown = {id(growth.after): growth for growth in growths(rows)}
    lines = [
        "| shape | scheme | operators | connections | PEs | lxml s | reading s | planning s "
        "| / lxml | growth | rendering s | / lxml | growth | AADL MiB | KiB an operator |",
        "|---" * 15 + "|",
    ]
    for row in rows:
        growth = grown.get(id(row))
        lines.append(
            f"| {_shown(row)} | {row.scheme} | {row.operators} | {row.connections} | {row.pes} "
            f"| {row.parse_s:.3f} | {row.read_s:.2f} "
            f"| {row.plan_s:.2f} | {_ratio(row.plan_s, row.parse_s)} "
            f"| {'' if growth is None else f'{growth.planning:.2f}'} "
            f"| {row.render_s:.2f} | {_ratio(row.render_s, row.parse_s)} "
            f"| {'' if growth is None else f'{growth.rendering:.2f}'} "
            f"| {row.text_bytes / 2**20:.1f} | {row.bytes_per_operator / 1024:.1f} |"
        )
    lines += [
        f"\nAims: planning in {AIMED_RATIO:.0f} times lxml's time,"
        f" {AIMED_BYTES_PER_OPERATOR // 1024} KiB an operator."
    ]
    lines += [
        f"\nA connection of {WIDE[0]} × {WIDE[1]} channels, {row.scheme}: peak"
        f" {row.peak_bytes / 2**20:.0f} MiB (aim: {AIMED_WIDE_BYTES / 2**20:.0f}),"
        f" {row.plan_s + row.render_s:.1f} s, {row.text_bytes / 2**20:.0f} MiB of AADL."
        for row in rows
        if row.shape == "wide"
    ]
    return "\n".join(lines)


def _shown(row: Measured) -> str:
    return f"{WIDE[0]} × {WIDE[1]}" if row.shape == "wide" else row.shape


def _ratio(seconds: float, parse_s: float) -> str:
    return f"{seconds / parse_s:.1f}" if parse_s else ""


def to_json(rows: Iterable[Measured]) -> list[dict[str, Any]]:
    """The rows as JSON."""
    return [asdict(row) for row in rows]


if __name__ == "__main__":
    if sys.argv[1] == "write":
        _write(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        _, of_shape, of_scheme, of_size = sys.argv
        answer_lines(json.dumps(asdict(measure(of_shape, of_scheme, int(of_size)))))
