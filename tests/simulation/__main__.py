"""Runs every scenario under every plan of faults, and counts.

    python -m tests.simulation                      every plan
    python -m tests.simulation --scenario resize-up --plan crash-before:17 --seed 0

Sets and dicts of the interpreter are made to have one order, so that a run is the same each time.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])
    from tests.simulation.command import main

    sys.exit(main(sys.argv[1:]))
