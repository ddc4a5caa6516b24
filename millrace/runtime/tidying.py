"""Removes the states of PEs that a job does not have any more: a resize took them out.

A PE removes older states of its own while it runs. Those of a PE that left are removed by the PE
with the lowest id of a later hand-over, once that one is over for `SETTLED_S`. States are kept if

* the newest hand-over names the PE, is not complete, or is not known: new owners may load them;
* PEs had not begun since an older hand-over when the newest began;
* its newest state is no seal for an older hand-over: it may have run since;
* pe-gateway knows the PE, or does not answer: it may wait for a node.

So the states of the newest hand-over are always there, and what a launch of today loads as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from millrace.protocol import HandOver
from millrace.runtime.endings import StoreFailed
from millrace.runtime.launch import Gateway, Surroundings
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import StateStore

LOG = logging.getLogger("millrace.runtime.tidying")
SETTLED_S: Final = 300.0
"""A launch that began to load states of an older hand-over has done so, or has failed."""
AT_ONCE: Final = 500
"""How many PEs one request to pe-gateway names; more are left to the next hand-over."""


def is_tidying(hand_over: HandOver | None, pe: int) -> bool:
    """Whether it is this PE that tidies up after a hand-over."""
    return hand_over is not None and pe == min(hand_over.pes, default=-1)


def superseded(hand_over: HandOver | None, newest: Mapping[int, StateName]) -> tuple[int, ...]:
    """The PEs whose states nobody loads, if the job does not have them; `newest`: of each PE."""
    if hand_over is None or not hand_over.complete or hand_over.former:
        return ()
    return tuple(
        pe
        for pe, name in sorted(newest.items())
        if pe not in hand_over.pes
        and name.kind == "handover"
        and name.number < hand_over.generation
    )


async def tidy(pe: int, around: Surroundings, newest: Callable[[], HandOver | None]) -> None:
    """Remove states of PEs that left, if this PE does, some time after a hand-over.

    `newest`: the newest hand-over that this PE sees, when it is called.
    """
    if not is_tidying(newest(), pe):
        return
    await asyncio.sleep(SETTLED_S)
    try:
        await _remove(around.store, around.gateway, newest())
    except StoreFailed as problem:
        LOG.warning("states of PEs that left stay for now: %s", problem)


async def _remove(store: StateStore, gateway: Gateway, hand_over: HandOver | None) -> None:
    found = {pe: await store.names(pe) for pe in await store.pes()}
    newest = {pe: names[-1] for pe, names in found.items() if names}
    former = superseded(hand_over, newest)[:AT_ONCE]
    left = await gateway.left(former) if former else frozenset()
    for pe in sorted(left.intersection(former)):
        await store.remove_all(pe)
        LOG.info("PE %d is not in this job any more: its states are removed", pe)
