"""The service as a coroutine, with its planning workers around the stage."""

from __future__ import annotations

import asyncio

from services.chassis.running.hosting import Main, stage_main
from services.chassis.running.wiring import Runtime
from services.fusion_backend.adapters.bundles.incoming import sweep
from services.fusion_backend.adapters.planning_worker import WorkerLimits, WorkerPlanner
from services.fusion_backend.adapters.stage import stage_maker
from services.fusion_backend.settings import FusionBackendSettings


def main_of(settings: FusionBackendSettings) -> Main:
    """The main of the service."""

    async def run(runtime: Runtime) -> None:
        await asyncio.to_thread(sweep, settings.bundle_store)
        limits = WorkerLimits(
            memory_bytes_max=settings.planner_memory_bytes_max,
            cpu_s_max=settings.planner_cpu_s_max,
            answer_s_max=settings.planner_answer_s_max,
        )
        async with WorkerPlanner(workers=settings.planner_workers, limits=limits) as planner:
            make_stage = stage_maker(settings, planner=planner)
            await stage_main(make_stage, settings)(runtime)

    return run
