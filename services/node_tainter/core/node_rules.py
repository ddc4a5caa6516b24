"""The rules of a node: which marks of ours it gets and loses.

The first rule that holds decides (services/chassis/running/rules.py). Which marks the node should
carry is claiming.py.

Properties: what a node carries already is not written; marks of a pool that lives, or that no fact
shows, go only after a GET.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule, always
from services.node_tainter.core.claiming import Wanted, is_claim, wanted_marks
from services.node_tainter.core.effects import SetMarks
from services.node_tainter.core.snapshot import Marks, NodeSnapshot, PoolKey


class NodeObservation(Enum):
    """What a node and its pools show; a rule has one each."""

    NODE_GONE = "the node does not exist"
    UNCLAIMED = "no pool may have marks on the node, and it carries none"
    MARKS_LEFT = "no pool may have marks on the node, and it carries some"
    MARKS_DIFFER = "the node does not carry exactly what it should"
    FINALIZER_AWAITED = "it carries what it should, and a pool that claims it lacks its finalizer"
    MARKED = "it carries what it should"


@dataclass(frozen=True)
class NodeSituation:
    """A node, its pools, and the marks that it should carry."""

    snapshot: NodeSnapshot

    @cached_property
    def wanted(self) -> Wanted:
        """The marks that the node should carry."""
        return wanted_marks(self.snapshot)

    @property
    def carried(self) -> Marks:
        """The marks of ours that it carries; none without a node."""
        return Marks() if self.snapshot.node is None else self.snapshot.node.carried

    @property
    def is_unclaimed(self) -> bool:
        """Whether the node is to carry nothing of ours, and nothing is to come."""
        if self.wanted.marks.owners:
            return False
        return bool(self.carried.owners) or not self.wanted.awaits_finalizer


NodeAction = Callable[[NodeSituation], SetMarks | None]


def leave_marks(_at: NodeSituation) -> None:
    """Leave the node as it is."""


def set_marks(at: NodeSituation) -> SetMarks:
    """Give the node exactly the marks that it should carry, in one patch."""
    node = at.snapshot.node
    assert node is not None, "a node that is gone has a rule of its own"
    going = node.carried.owners - at.wanted.marks.owners
    known = {each.pool.uid: each for each in at.snapshot.listings}
    left = (
        PoolKey(each.pool.namespace, each.pool.name)
        for uid, each in known.items()
        # A deletion cannot be taken back, and who lost to another owner did not leave.
        if uid in going and not each.pool.is_deleting and not is_claim(each)
    )
    return SetMarks(
        name=node.name,
        node_uid=node.uid,
        marks=at.wanted.marks,
        believed_gone=tuple(sorted(going - known.keys())),
        believed_left=tuple(sorted(left, key=str)),
    )


_O = NodeObservation
NODE_RULES: Final[tuple[Rule[NodeSituation, NodeAction], ...]] = (
    Rule(
        _O.NODE_GONE,
        lambda at: at.snapshot.node is None,
        leave_marks,
        Reason.NOTHING_TO_CHANGE,
    ),
    Rule(
        _O.UNCLAIMED,
        lambda at: at.is_unclaimed and not at.carried.owners,
        leave_marks,
        Reason.NOTHING_TO_CHANGE,
    ),
    Rule(_O.MARKS_LEFT, lambda at: at.is_unclaimed, set_marks, Reason.NODE_RELEASED),
    Rule(
        _O.MARKS_DIFFER,
        lambda at: at.wanted.marks != at.carried,
        set_marks,
        Reason.NODE_CLAIMED,
    ),
    Rule(
        _O.FINALIZER_AWAITED,
        lambda at: at.wanted.awaits_finalizer,
        leave_marks,
        Reason.WAITING,
    ),
    Rule(_O.MARKED, always, leave_marks, Reason.NOTHING_TO_CHANGE),
)
