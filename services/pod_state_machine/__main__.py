"""Runs pod-state-machine: settings → adapters → chassis."""

from __future__ import annotations

import sys

from services.chassis.process.settings import read_settings
from services.chassis.running.hosting import run_service, stage_main
from services.pod_state_machine.adapters.stage import SERVICE, stage_maker
from services.pod_state_machine.settings import PodStateMachineSettings


def main() -> int:
    """Run until a signal; returns the exit code."""
    settings = read_settings(PodStateMachineSettings)
    coroutine = stage_main(stage_maker(settings), settings=settings.recorded())
    return run_service(SERVICE, coroutine, settings)


if __name__ == "__main__":
    sys.exit(main())
