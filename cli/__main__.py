"""The entry point of the `millrace` command.

Imports take some tenths of a second. Ctrl-C during that time ends the command at once with 130,
without a traceback (`interrupting.py`), so nothing else is imported before.
"""

from __future__ import annotations

from cli.interrupting import ctrl_c_ends_at_once


def main() -> None:
    """Run the command that the arguments name."""
    ctrl_c_ends_at_once()
    from cli.commands import run

    try:
        run()
    finally:
        ctrl_c_ends_at_once()


if __name__ == "__main__":
    main()
