"""Runs hostpool-manager: settings → adapters → chassis."""

from __future__ import annotations

import sys

from services.chassis.process.settings import read_settings
from services.chassis.running.hosting import run_service
from services.hostpool_manager.adapters.stage import SERVICE, manager_main
from services.hostpool_manager.settings import HostpoolManagerSettings


def main() -> int:
    """Run until a signal; returns the exit code."""
    settings = read_settings(HostpoolManagerSettings)
    return run_service(SERVICE, manager_main(settings), settings)


if __name__ == "__main__":
    sys.exit(main())
