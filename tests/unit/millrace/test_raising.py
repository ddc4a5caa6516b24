"""A function that raises ends its PE, wherever the tuple comes from."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from millrace.errors import OperatorFailed
from millrace.runtime.barriers import Origin
from millrace.runtime.connections import Inlets
from tests.patience import patient


class _Raising:
    """A node whose function raises, with the policy `fail`."""

    async def take(self, items: Any) -> None:
        """Raises OperatorFailed."""
        raise OperatorFailed("counted", items[0], ValueError("no"))


async def test_a_function_that_raises_for_a_tuple_of_another_pe_ends_its_own_pe() -> None:
    """The connection alone would close, and the sender would send the tuple for ever."""
    origin = Origin(1, 0, 0)
    inlets = Inlets({0: _Raising()}, {origin})  # type: ignore[dict-item]
    running = asyncio.create_task(inlets.run(()))
    with pytest.raises(OperatorFailed):
        await inlets.deliver(origin, ["a"])
    with pytest.raises(OperatorFailed, match="operator counted failed on 'a': ValueError: no"):
        await asyncio.wait_for(running, patient(5))
