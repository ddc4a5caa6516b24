"""The effects of this service: frozen values, carried out by one `match` in adapters/carry_out.py.

A failed effect backs off under its own value, so a value has exactly what makes it worth a new
try. The versions under which they are written are those of the snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.node_tainter.core.snapshot import Marks, PoolKey


@dataclass(frozen=True, slots=True)
class SetMarks:
    """Have a node carry these marks of ours and no others, in one patch under its version.

    `believed_gone` are uids whose marks go though no fact shows their pools, `believed_left` pools
    that live and seem not to claim the node any more: both are looked at before the patch.
    """

    name: str
    node_uid: str
    marks: Marks
    believed_gone: tuple[str, ...] = ()
    believed_left: tuple[PoolKey, ...] = ()


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Put our finalizer on a host pool, so that its deletion waits for the release of its nodes."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Let a deleted host pool go; that no node carries its uid is looked at before."""

    name: str
    uid: str


Effect = SetMarks | AddFinalizer | RemoveFinalizer
