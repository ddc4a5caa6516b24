"""The variables by which a run of CI, or of `make everything`, speaks to each pytest in it."""

from __future__ import annotations

import os

SHARE = "MILLRACE_SHARE"
"""A file that says which pieces are played."""
DURATIONS = "MILLRACE_DURATIONS"
"""A file for what each test took."""
TRIES = "MILLRACE_TRIES"
"""A file for each try of a test of a running system."""


def without_a_run() -> dict[str, str]:
    """The environment for a pytest that is no part of the run: it plays all that it is given."""
    return {
        name: value for name, value in os.environ.items() if name not in (SHARE, DURATIONS, TRIES)
    }
