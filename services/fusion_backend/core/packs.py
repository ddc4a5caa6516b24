"""The ConfigMaps that hold AADLs: packs, and those of one PE that a release without packs made.

The plan record says which AADL is where (`planner/numbering/packing.py`). A key of a pack has one
content for good. A pack that has to be made again, or is made by a later plan than it was meant
for, holds what the newest plan names of it: the other AADLs are of no use to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts import labels
from planner.numbering.records import PeRecord
from services.chassis.table.entries import Entry, annotation
from services.fusion_backend.core.children import Body, metadata
from services.fusion_backend.core.pods_seen import pod_phase_of
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import JobSeen, Snapshot

_ENDED = ("Succeeded", "Failed")


def config_map(
    job: JobSeen, generation: int, members: Sequence[PeRecord], texts: Mapping[str, str]
) -> Body:
    """The immutable ConfigMap with the AADLs of these PEs; `texts` are by content id.

    Facts of ConfigMaps carry metadata only, so annotations say what it holds.
    """
    first = members[0]
    if first.key:
        meta = metadata(job, first.config_map, generation)
        meta["annotations"] = {labels.CONTENT_IDS: " ".join(map(_mark, members))}
    else:
        meta = metadata(job, first.config_map, generation, pe=first.id)
        meta["annotations"] = {labels.CONTENT_ID: first.content_id}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "immutable": True,
        "data": {pe.key or labels.AADL_KEY: texts[pe.content_id] for pe in members},
    }


def holds(entry: Entry, members: Sequence[PeRecord]) -> bool:
    """Whether a ConfigMap has the AADLs of these PEs, as far as it says so."""
    if not members[0].key:
        return True
    marks = annotation(entry, labels.CONTENT_IDS).split()
    return all(_mark(pe) in marks for pe in members)


def _mark(pe: PeRecord) -> str:
    return f"{pe.key}={pe.content_id[: labels.CONTENT_ID_IN_NAME_CHARS]}"


def names_in_use(snapshot: Snapshot) -> frozenset[str]:
    """The ConfigMaps that PEs name or pods mount; a pod that has ended mounts nothing."""
    named = {_named_by(PeSeen(entry)) for entry in snapshot.of("ProcessingElement").values()}
    mounted = {
        _mounted_by(snapshot.name, pe, pod)
        for pe, pods in snapshot.pods.items()
        for pod in pods
        if pod_phase_of(pod) not in _ENDED
    }
    return frozenset(named | mounted)


def _named_by(pe: PeSeen) -> str:
    if pe.entry.unreadable:
        return ""
    own = f"{pe.name}-{(pe.content_id or '')[: labels.CONTENT_ID_IN_NAME_CHARS]}"
    return str(pe.pack.get("name") or own)


def _mounted_by(job: str, pe: int, pod: Entry) -> str:
    own = labels.pe_config_map_name(job, pe, annotation(pod, labels.CONTENT_ID))
    return annotation(pod, labels.PACK) or own
