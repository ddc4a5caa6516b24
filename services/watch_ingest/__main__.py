"""Runs watch-ingest: settings → adapters → chassis."""

from __future__ import annotations

import sys

from services.chassis.process.settings import read_settings
from services.chassis.running.hosting import run_service
from services.watch_ingest.adapters.leading import ingest_main
from services.watch_ingest.core.recording import SERVICE
from services.watch_ingest.settings import WatchIngestSettings


def main() -> int:
    """Run until a signal; returns the exit code."""
    settings = read_settings(WatchIngestSettings)
    return run_service(SERVICE, ingest_main(settings), settings)


if __name__ == "__main__":
    sys.exit(main())
