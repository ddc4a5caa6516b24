"""Reads the projections of facts as the frozen values that decisions look at.

One function for each kind; which entries make a snapshot is intake's business.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts import labels
from contracts.resources.host_pool import MembershipMode
from contracts.scheduling.nodes import node_of
from services.chassis.table.entries import Entry, is_deleting
from services.node_tainter.core.marking import marks_of
from services.node_tainter.core.snapshot import Marks, Pool


def carried_by(entry: Entry) -> Marks:
    """What a node carries of ours."""
    return marks_of(node_of(entry.name, entry.data))


def pool_of(entry: Entry) -> Pool:
    """A host pool."""
    meta, spec = entry.data["metadata"], entry.data["spec"]
    mode = (spec.get("hostpool") or {}).get("membershipMode")
    return Pool(
        namespace=entry.namespace,
        name=entry.name,
        uid=entry.uid,
        created=str(meta["creationTimestamp"] or ""),
        is_exclusive=mode == MembershipMode.EXCLUSIVE,
        labels_members=bool(spec.get("labelsMembers")),
        is_deleting=is_deleting(entry),
        has_finalizer=labels.NODE_CLAIMS_FINALIZER in meta["finalizers"],
    )


def members_of(entry: Entry) -> Sequence[str]:
    """The members of a host pool in their order; empty where a place has none."""
    members: Sequence[str] = entry.data["status"].get("members") or ()
    return members
