"""`make bench-runtime`: the speed of real PE processes, beside bare loops and Bytewax.

Tuples a second are those of a second of CPU of the busiest process, which is what a PE with a core
of its own does; seconds of a clock depend on what else the machine does. Each pair of figures is
of the same run, in turns, and the best of each counts. Results are compared. Aims are reported,
not asserted.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from cli.showing import answer_lines, print_lines
from loadtest.pes import MIB, Flow
from loadtest.recording import PAGE, record

TUPLES: Final = 1_000_000
TURNS: Final = 3
LINES: Final = 100_000
HALF_LOAD: Final = 100_000
HALF_LOAD_S: Final = 10
IDLE_S: Final = 5.0
SETTLED_S: Final = 0.5
"""After all PEs are connected: what a start costs is not measured."""
BYTEWAX: Final = Path(".bench")
"""Where `make bench-runtime` installs Bytewax."""
WORDS: Final = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "streams", "flow")
Result = dict[str, Any]


@dataclass
class Report:
    """Lines of the report."""

    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Print a line and keep it."""
        answer_lines(text)
        self.lines.append(text)


def _core() -> set[int]:
    return {max(os.sched_getaffinity(0))}


def _pinned() -> None:
    os.sched_setaffinity(0, _core())


def _process(*words: str, path: str = "", pin: bool = False) -> Result:
    """What a process prints, as JSON."""
    environment = {**os.environ, "PYTHONPATH": path} if path else None
    command = [sys.executable, "-m", *words]
    run = subprocess.run(
        command,
        env=environment,
        check=True,
        capture_output=True,
        timeout=600,
        preexec_fn=_pinned if pin else None,
    )
    return dict(json.loads(run.stdout))


async def _flow(name: str, *, together: bool, pin: bool = False, **values: object) -> Result:
    """What the sink of a flow saw. `busiest`: seconds of CPU of the PE that needed most."""
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        if "path" in values:  # a PE reads below its own root, or from its folder of data
            values["path"] = _from_data(values["path"], Path(folder))
        flow = Flow(
            name,
            Path(folder),
            values=values,
            together=together,
            cores=_core() if pin else None,
        )
        async with flow:
            await flow.until_connected()
            await asyncio.sleep(SETTLED_S)
            before = {pe: each.cpu_s for pe, each in flow.pes.items()}
            flow.go()
            result = await flow.result()
            spent = [each.cpu_s - before[pe] for pe, each in flow.pes.items()]
    return result | {"busiest": max(result["cpu"], *spent) if len(spent) > 1 else result["cpu"]}


def _from_data(path: object, folder: Path) -> str:
    return os.path.relpath(str(path), folder / "pe-0/data")


def _same(*results: Result) -> None:
    """Raises AssertionError if runs did not do the same."""
    found = {(each["count"], each["checked"], json.dumps(each["words"])) for each in results}
    assert len(found) == 1, found


async def _beside(
    name: str, *, tuples: int, turns: int, together: bool, words: str = "", pin: bool = False
) -> tuple[list[Result], list[Result]]:
    """A flow and its bare loop, in turns."""
    values: dict[str, object] = {"path": words} if words else {"count": tuples}
    flows, bares = [], []
    for _ in range(turns):
        bare = await asyncio.to_thread(_process, "loadtest.bare", name, words or str(tuples))
        flows.append(await _flow(name, together=together, pin=pin, **values))
        bares.append(bare | {"busiest": max(bare["cpu"], bare.get("sender_cpu", 0.0))})
    _same(*flows, *bares)
    return flows, bares


def _best(results: Sequence[Result], key: str = "busiest") -> float:
    return min(float(each[key]) for each in results)


def _ratio(tuples: int, ours: Sequence[Result], theirs: Sequence[Result]) -> str:
    one, other = tuples / _best(ours), tuples / _best(theirs)
    return f"{one:,.0f} tuples/s, a bare loop {other:,.0f}: ratio {one / other:.2f}"


async def _chain(report: Report, tuples: int, turns: int) -> None:
    ours, bare = await _beside("chain", tuples=tuples, turns=turns, together=True)
    report.add(f"five operators in one PE: {_ratio(tuples, ours, bare)} (aim: 0.5)")


async def _pair(report: Report, tuples: int, turns: int) -> None:
    ours, bare = await _beside("pair", tuples=tuples, turns=turns, together=False)
    seconds = f"{tuples / _best(ours, 'seconds'):,.0f} in a second of the clock"
    report.add(
        f"two PEs over TCP: {_ratio(tuples, ours, bare)}; {seconds}, a bare loop "
        f"{tuples / _best(bare, 'seconds'):,.0f} (aim: 200,000)"
    )
    found = [
        await _flow("pair", together=False, count=HALF_LOAD * HALF_LOAD_S, rate=HALF_LOAD)
        for _ in range(turns)
    ]
    best = min(found, key=lambda each: float(each["p99"]))
    report.add(
        f"latency over TCP at {best['count'] / best['seconds']:,.0f} tuples/s: p50 "
        f"{best['p50'] * 1000:.1f} ms, p99 {best['p99'] * 1000:.1f} ms (aim: 10 ms)"
    )


async def _keyed(report: Report, tuples: int, turns: int) -> None:
    ours, bare = await _beside("keyed", tuples=tuples, turns=turns, together=True)
    report.add(f"keyed state in three channels, one PE: {_ratio(tuples, ours, bare)}")
    ours = [await _flow("keyed", together=False, count=tuples) for _ in range(turns)]
    _same(*ours, *bare)
    report.add(f"the same in PEs of their own, the busiest PE: {_ratio(tuples, ours, bare)}")


async def _words(report: Report, lines: int, turns: int) -> None:
    with tempfile.TemporaryDirectory(prefix="millrace-words-") as folder:
        path = Path(folder) / "words.txt"
        path.write_text("".join(f"{_line(number)}\n" for number in range(lines)))
        ours, bare = await _beside(
            "words", tuples=0, turns=turns, together=True, words=str(path), pin=True
        )
        count = int(ours[0]["count"])
        report.add(f"word count on one core: {_ratio(count, ours, bare)}")
        if not BYTEWAX.is_dir():
            report.add(f"Bytewax is not installed in {BYTEWAX}: it is left out")
            return
        for kind in ("running", "final"):
            theirs = []
            for _ in range(turns):
                words = ("loadtest.bytewax_words", str(path), kind)
                theirs.append(_process(*words, path=str(BYTEWAX.resolve()), pin=True))
                assert theirs[-1]["words"] == ours[0]["words"], "counts differ"
            other = count / _best(theirs, "cpu")
            ratio = count / _best(ours) / other
            report.add(f"Bytewax, {_SETTINGS[kind]}: {other:,.0f} words/s, ratio {ratio:.2f}")
        report.add(
            "both read the same file on one core; Bytewax with one worker, FileSource of 1,000 "
            "lines; millrace with one PE, typed tuples (aim: 0.8)"
        )


_SETTINGS: Final = {
    "running": "each word gives its count (stateful_map)",
    "final": "counts at the end only (count_final)",
}


def _line(number: int) -> str:
    return " ".join(WORDS[(number * each) % len(WORDS)] for each in range(1, 11))


async def _start(report: Report, turns: int) -> None:
    connected, spent, idle = [], [], []
    for _ in range(turns):
        with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
            async with Flow("pair", Path(folder), values={"count": 2**40, "rate": 1}) as flow:
                await flow.until_connected()
                spent += [each.cpu_s for each in flow.pes.values()]
                connected += [each.connected_s or 0.0 for each in flow.pes.values()]
                await asyncio.sleep(IDLE_S)
                idle += [each.resident_bytes / MIB for each in flow.pes.values()]
    report.add(
        f"start of a PE to connected: {median(connected):.2f} s, at best {min(connected):.2f} s "
        f"(aim: 1 s), {min(spent):.2f} s of CPU; idle it has {median(idle):.0f} MiB (aim: 60 MB)"
    )


def main(words: Sequence[str]) -> int:
    """Measure all, or those that are named; the exit code."""
    options = {each for each in words if each.startswith("--")}
    numbers = [int(each) for each in words if each.isdigit()]
    tuples, turns = (*numbers, *(TUPLES, TURNS)[len(numbers) :])[:2]
    cases: dict[str, Callable[[Report], Any]] = {
        "start": lambda report: _start(report, turns),
        "chain": lambda report: _chain(report, tuples, turns),
        "pair": lambda report: _pair(report, tuples, turns),
        "keyed": lambda report: _keyed(report, tuples, turns),
        "words": lambda report: _words(report, min(LINES, tuples), turns),
    }
    named = [each for each in words if each in cases] or list(cases)
    report = Report()
    for name in named:
        begun = time.monotonic()
        asyncio.run(cases[name](report))
        print_lines(f"({name} took {time.monotonic() - begun:.0f} s)")
    if "--record" in options:
        record(PAGE, "make bench-runtime", "\n".join(report.lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
