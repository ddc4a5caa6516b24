"""The rules of a host pool: when it gets our finalizer, and when it loses it.

The first rule that holds decides (services/chassis/running/rules.py).

Property: the finalizer is there before the first mark on a node, and until the last one is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule, always
from services.node_tainter.core.effects import AddFinalizer, RemoveFinalizer
from services.node_tainter.core.snapshot import Pool, PoolSnapshot


class PoolObservation(Enum):
    """What a host pool and the nodes that carry its uid show; a rule has one each."""

    POOL_GONE = "the pool does not exist"
    DELETING_CARRIED = "it is being deleted, and nodes still carry its uid"
    DELETING_HELD = "it is being deleted, no node carries its uid, and it has our finalizer"
    DELETING = "it is being deleted, and our finalizer is gone"
    UNSECURED = "its members are to be marked, and it lacks our finalizer"
    SECURED = "it has our finalizer, or marks no member"


PoolAction = Callable[[Pool], AddFinalizer | RemoveFinalizer | None]


def leave_finalizer(_pool: Pool) -> None:
    """Leave the pool as it is."""


def add_finalizer(pool: Pool) -> AddFinalizer:
    """Put our finalizer on the pool."""
    return AddFinalizer(pool.name, pool.uid)


def remove_finalizer(pool: Pool) -> RemoveFinalizer:
    """Take our finalizer off the pool."""
    return RemoveFinalizer(pool.name, pool.uid)


def _is_deleting(at: PoolSnapshot) -> bool:
    return at.pool is not None and at.pool.is_deleting


_O = PoolObservation
POOL_RULES: Final[tuple[Rule[PoolSnapshot, PoolAction], ...]] = (
    Rule(_O.POOL_GONE, lambda at: at.pool is None, leave_finalizer, Reason.NOTHING_TO_CHANGE),
    Rule(
        _O.DELETING_CARRIED,
        lambda at: _is_deleting(at) and at.is_carried,
        leave_finalizer,
        Reason.WAITING,
    ),
    Rule(
        _O.DELETING_HELD,
        lambda at: _is_deleting(at) and at.pool is not None and at.pool.has_finalizer,
        remove_finalizer,
        Reason.POOL_RELEASED,
    ),
    Rule(_O.DELETING, _is_deleting, leave_finalizer, Reason.NOTHING_TO_CHANGE),
    Rule(
        _O.UNSECURED,
        lambda at: at.pool is not None and at.pool.is_marking and not at.pool.has_finalizer,
        add_finalizer,
        Reason.POOL_SECURED,
    ),
    Rule(_O.SECURED, always, leave_finalizer, Reason.NOTHING_TO_CHANGE),
)
