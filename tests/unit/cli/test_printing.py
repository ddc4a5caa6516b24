"""What is on standard output is the answer, and nothing else."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import ctypes
from cli.printing import print_answers_only, print_json

c = ctypes.CDLL(None)
print_answers_only()
c.printf(b"a library's own note\\n")
print_json({"pes": 1})
"""


def test_what_a_c_library_prints_is_not_behind_the_json() -> None:
    """METIS prints there when a part gets nothing; its buffer is written at the end."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == '{\n  "pes": 1\n}\n'
