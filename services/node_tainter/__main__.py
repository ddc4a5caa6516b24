"""Runs node-tainter: settings → adapters → chassis."""

from __future__ import annotations

import sys

from services.chassis.process.settings import read_settings
from services.chassis.running.hosting import run_service, stage_main
from services.node_tainter.adapters.stage import SERVICE, stage_maker
from services.node_tainter.settings import NodeTainterSettings


def main() -> int:
    """Run until a signal; returns the exit code."""
    settings = read_settings(NodeTainterSettings)
    coroutine = stage_main(stage_maker(), settings=settings.recorded())
    return run_service(SERVICE, coroutine, settings)


if __name__ == "__main__":
    sys.exit(main())
