"""Mutants of the completion of names, and of Ctrl-C in a log that is followed."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_COMPLETING = ("tests/unit/cli/test_completing.py",)

MUTANTS = (
    Mutant(
        "completion offers the jobs of another namespace",
        "cli/completing.py",
        "_offered",
        "str(namespace) or namespace_of(config)",
        '"default"',
        _COMPLETING,
    ),
    Mutant(
        "completion waits for a server that never answers",
        "cli/completing.py",
        "_offered",
        "asyncio.timeout(WAIT_S)",
        "asyncio.timeout(9 * WAIT_S)",
        _COMPLETING,
    ),
    Mutant(
        "completion shows why it knows no names",
        "cli/completing.py",
        "_offered",
        "except Exception:  # noqa: BLE001 - a message would stand in the line that is typed",
        "except ZeroDivisionError:",
        _COMPLETING,
    ),
    Mutant(
        "Ctrl-C in a log that is followed is no interruption",
        "cli/ending.py",
        "run",
        "raise typer.Exit(130) from None",
        "raise typer.Exit(0) from None",
        ("tests/unit/cli/test_following_logs.py",),
    ),
)
