"""Runs fusion-backend: settings → adapters → chassis."""

from __future__ import annotations

import sys

from services.chassis.running.hosting import run_service
from services.fusion_backend.service import ROW

if __name__ == "__main__":
    sys.exit(run_service(ROW))
