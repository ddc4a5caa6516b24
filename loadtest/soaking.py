"""`make soak-runtime`: real PEs for minutes. ARGS names one of two runs; without it, both run.

* slow-sink: a source at full speed, and a sink that takes about 1,000 tuples a second. The memory
  of all PEs has to be flat from minute 1 on.
* paused-peer: the last of three PEs is stopped (SIGSTOP) for a minute under load and goes on. All
  tuples have to come, once and in order.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cli.showing import answer, print_lines
from loadtest.pes import MIB, Flow

MINUTES: Final = 10
SHOWN: Final = (1, 5, 10)
GROWTH_MIB_MAX: Final = 8.0
"""Allowed from minute 1 to the end, in all PEs together."""
PAUSE_S: Final = 60
PAUSED_TUPLES: Final = 2_000_000
PAUSED_RATE: Final = 20_000


def _mebibytes(flow: Flow) -> float:
    return sum(each.resident_bytes for each in flow.pes.values()) / MIB


async def slow_sink(folder: Path, minutes: int) -> bool:
    """Whether memory stays flat."""
    async with Flow("slow", folder, values={"count": 2**40, "rate": 0}) as flow:
        await flow.until_connected()
        flow.go()
        begun, found = time.monotonic(), {0: _mebibytes(flow)}
        for minute in range(1, minutes + 1):
            while time.monotonic() < begun + 60 * minute:
                await asyncio.sleep(1)
                flow.check()
            found[minute] = _mebibytes(flow)
            print_lines(f"minute {minute}: {found[minute]:.1f} MiB")
        shown = [each for each in SHOWN if each in found]
        text = ", ".join(f"{found[each]:.1f} MiB at minute {each}" for each in shown)
        answer(f"slow sink: {len(flow.pes)} PEs have {found[0]:.1f} MiB when connected, {text}")
        return found[minutes] - found[1] <= GROWTH_MIB_MAX


async def paused_peer(folder: Path, pause_s: int) -> bool:
    """Whether all tuples come, in order."""
    values = {"count": PAUSED_TUPLES, "rate": PAUSED_RATE}
    async with Flow("paused", folder, values=values) as flow:
        await flow.until_connected()
        flow.go()
        last = flow.pes[max(flow.pes)]
        await asyncio.sleep(5)
        last.process.send_signal(signal.SIGSTOP)
        print_lines(f"PE {last.pe} is stopped for {pause_s} s")
        await asyncio.sleep(pause_s)
        held = _mebibytes(flow)
        last.process.send_signal(signal.SIGCONT)
        begun = time.monotonic()
        result = await flow.result(within_s=600)
        lost, wrong = PAUSED_TUPLES - result["count"], int(result["checked"])
        answer(
            f"paused peer: {pause_s} s stopped, {result['count']:,} of {PAUSED_TUPLES:,} tuples "
            f"came, {wrong} out of order; the last one {time.monotonic() - begun:.1f} s after it "
            f"went on; all PEs had {held:.1f} MiB meanwhile"
        )
        return not lost and not wrong


RUNS: Final = {"slow-sink": (slow_sink, MINUTES), "paused-peer": (paused_peer, PAUSE_S)}
"""Each run, and its usual length: minutes of slow-sink, seconds of the pause of paused-peer."""


def main(words: Sequence[str]) -> int:
    """Run what the first word names, or both, also if the first fails; returns the exit code.

    The second word is the length. Raises ValueError if it is not a whole number.
    """
    if words and words[0] not in RUNS:
        print_lines(f"{words[0]} is not one of {', '.join(RUNS)}")
        return 2
    names = words[:1] or tuple(RUNS)
    passed = [_passes(name, words[1:]) for name in names]
    return 0 if all(passed) else 1


def _passes(name: str, length: Sequence[str]) -> bool:
    run, usual = RUNS[name]
    with tempfile.TemporaryDirectory(prefix="millrace-soak-") as folder:
        return asyncio.run(run(Path(folder), int(length[0]) if length else usual))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
