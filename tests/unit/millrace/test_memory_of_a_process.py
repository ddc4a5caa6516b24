"""A process with large tuples stays small, whatever is slow in it."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import patient

PROGRAM = """
import asyncio, os, resource, sys
from collections.abc import Iterator
from dataclasses import dataclass
from millrace import App

@dataclass
class B:
    i: int
    b: bytes

count = 0

def src() -> Iterator[B]:
    global count
    for i in range(300):
        count += 1
        yield B(i, os.urandom(2_000_000))

async def slow(b: B) -> None:
    before = -1
    while b.i % 100 == 0 and before != count:
        before = count
        await asyncio.sleep(0.1)

app = App("memory::App")
app.source(src).sink(slow)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
app.run()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_process_with_large_tuples_and_a_slow_sink_stays_small() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=True,
    )
    assert int(done.stdout) < 60  # MiB; 300 tuples have 572
