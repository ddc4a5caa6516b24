"""The service host: one task group, signals, drain, exit codes, health and metrics on a port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from services.chassis.settings import ServiceSettings
from services.chassis.wiring import MakeStage, Runtime

Main = Callable[[Runtime], Awaitable[None]]
"""A service as a coroutine: returns after `runtime.stopping` is set; an exception is a crash."""


def run_service(service: str, main: Main, settings: ServiceSettings) -> int:
    """Run a service until SIGTERM or SIGINT; returns the exit code (0 drained, 1 crashed).

    A service's __main__:  sys.exit(run_service("node-tainter", stage_main(make_stage),
    read_settings(NodeTainterSettings)))
    """
    raise NotImplementedError


def stage_main(make_stage: MakeStage) -> Main:
    """The coroutine of a service that is one stage."""
    raise NotImplementedError
