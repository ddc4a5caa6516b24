"""The release of the code that runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

DISTRIBUTION: Final = "millrace-control-plane"


def release() -> str:
    """The version of the installed distribution; empty in a checkout that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return ""
