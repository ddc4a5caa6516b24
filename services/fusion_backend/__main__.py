"""Runs fusion-backend: settings → adapters → chassis."""

from __future__ import annotations

import asyncio
import sys

from services.chassis.process.settings import read_settings
from services.chassis.running.hosting import Main, run_service, stage_main
from services.chassis.running.wiring import Runtime
from services.fusion_backend.adapters.bundles.incoming import sweep
from services.fusion_backend.adapters.planning_worker import WorkerLimits, WorkerPlanner
from services.fusion_backend.adapters.stage import SERVICE, stage_maker
from services.fusion_backend.settings import FusionBackendSettings


def service_main(settings: FusionBackendSettings) -> Main:
    """The service as a coroutine, with its planning workers around it."""

    async def run(runtime: Runtime) -> None:
        await asyncio.to_thread(sweep, settings.bundle_store)
        limits = WorkerLimits(
            memory_bytes_max=settings.planner_memory_bytes_max,
            cpu_s_max=settings.planner_cpu_s_max,
            answer_s_max=settings.planner_answer_s_max,
        )
        async with WorkerPlanner(workers=settings.planner_workers, limits=limits) as planner:
            make_stage = stage_maker(settings, planner=planner)
            await stage_main(make_stage, settings=settings.recorded())(runtime)

    return run


def main() -> int:
    """Run until a signal; returns the exit code."""
    settings = read_settings(FusionBackendSettings)
    return run_service(SERVICE, service_main(settings), settings)


if __name__ == "__main__":
    sys.exit(main())
