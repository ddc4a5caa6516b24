"""Large buffers go back to the system when they are free."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, re
from services.chassis.process.buffers import give_back_buffers
fixed = {fixed}
if fixed:
    assert give_back_buffers()
resident = lambda: int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1])
for _ in range(2):
    large = bytearray(b"x" * (16 * 2**20))  # its end would raise the limit
    del large
before = resident()
pages, kept = [], []
for _ in range(8):
    pages.append(bytearray(b"x" * 2**20))
    kept.append(bytearray(b"x" * 4096))
del pages
print(resident() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc alone has the limit")
def test_pages_leave_no_holes_in_the_heap() -> None:
    """Something small that stays after each page would keep the memory of all of them."""
    assert _left_kib(fixed=True) < 1024 < 4096 < _left_kib(fixed=False)


def _left_kib(*, fixed: bool) -> int:
    program = PROGRAM.format(fixed=fixed)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    return int(done.stdout)
