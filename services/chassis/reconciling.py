"""Runs a stage: facts → table → snapshot → decide → effects → decision record.

    await StageRunner(make_stage, runtime).run()

returns when `runtime.stopping` is set and the effects in flight are done.
"""

from __future__ import annotations

from services.chassis.wiring import MakeStage, Runtime


class StageRunner:
    """One stage in one event loop; several may share a loop, a log and a transport."""

    def __init__(
        self, make_stage: MakeStage, runtime: Runtime, *, effects_in_flight_max: int = 32
    ) -> None:
        raise NotImplementedError

    @property
    def is_live(self) -> bool:
        """Whether the restore is complete, so that decisions are taken."""
        raise NotImplementedError

    async def run(self) -> None:
        """Run until `runtime.stopping` is set."""
        raise NotImplementedError
