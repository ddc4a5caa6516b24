"""Job ids while several processes ask a slow API server at once."""

from __future__ import annotations

import asyncio
import random

import pytest

from sandbox.http.in_process import Fault
from services.fusion_backend.adapters.job_ids import JobIds
from tests.sandboxed import Sandboxed
from tests.virtual_time import run_virtually

TAKERS = 6


@pytest.mark.parametrize("seed", range(5))
def test_takers_who_read_the_same_counter_and_write_it_in_turn_share_no_id(seed: int) -> None:
    """Each request takes a time of its own, so what was read is old when it is written."""

    async def test() -> None:
        sandboxed, dice = Sandboxed(), random.Random(seed)
        await JobIds(sandboxed.client()).take("default", "uid-first")
        sandboxed.faults = lambda _method, _path: Fault(delay_s=dice.random())
        takers = [JobIds(sandboxed.client()) for _ in range(TAKERS)]
        taken = await asyncio.gather(
            *(taker.take("default", f"uid-{n}") for n, taker in enumerate(takers))
        )
        assert sorted(taken) == [*range(1, TAKERS + 1)]

    run_virtually(test())
