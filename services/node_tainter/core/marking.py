"""What a node carries of ours, read from its labels and taints, and the patch that changes it.

Everything under our keys is ours: the taint `streams.ibm.com/exclusive` whatever its value and
effect, and every label `member.streams.ibm.com/…`. Taints are an atomic list, which is patched
whole: foreign ones are taken over as they stand and in their order, a taint of ours that stands
keeps its place, and a new one comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contracts import labels as keys
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import taint_of
from services.node_tainter.core.snapshot import Marks

Json = Mapping[str, Any]


def marks_of(node: Node) -> Marks:
    """What a node carries of ours."""
    return Marks(taints=node.exclusive_taints, places=tuple(sorted(node.places.items())))


def marking_patch(labels: Mapping[str, str], taints: Sequence[Json], wanted: Marks) -> Json:
    """The merge patch after which a node carries what is wanted; it says what differs only."""
    patch: dict[str, Any] = {}
    changed = _changed_labels(keys.member_places(labels), dict(wanted.places))
    if changed:
        patch["metadata"] = {"labels": changed}
    marked = _marked(taints, wanted)
    if marked != list(taints):
        patch["spec"] = {"taints": marked or None}
    return patch


def _changed_labels(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    return {
        keys.member_label(owner): after.get(owner)
        for owner in sorted(before.keys() | after.keys())
        if before.get(owner) != after.get(owner)
    }


def _marked(taints: Sequence[Json], wanted: Marks) -> list[Json]:
    missing = list(wanted.taints)
    kept: list[Json] = []
    for each in taints:
        if not _is_ours(each):
            kept.append(each)
        elif taint_of(each) in missing:
            missing.remove(taint_of(each))
            kept.append(each)
    return kept + [each.manifest() for each in missing]


def _is_ours(taint: Json) -> bool:
    return taint.get("key") == keys.EXCLUSIVE_TAINT
