"""The stable structure of `get -o json|yaml`: one job as plain data (docs/cli.md lists the fields).

Pure. A field that is not known is null, a list may be empty; fields may be added, none is renamed.
"""

from __future__ import annotations

from typing import Any

from cli.connecting import PES, PLACEMENTS, POOLS, REGIONS
from cli.inspecting import JobObjects
from cli.noting import skipped_by, waits_at
from contracts.unreadable import is_whole
from services.chassis.kube.port import Json

Document = dict[str, Any]


def document_of(objects: JobObjects, now_s: float) -> Document:
    """A job with its regions, PEs, pools and Placement at `now_s` (unix seconds)."""
    job, view = objects.job, objects.view
    spec, status = (job["spec"], job.get("status") or {}) if is_whole(job) else ({}, {})
    placements = [_placement(each) for each in objects.of(PLACEMENTS) if is_whole(each)]
    return {
        **_named(job),
        "phase": view.phase or None,
        "reason": view.reason or None,
        "message": view.message or None,
        "generation": view.generation,
        "observedGeneration": status.get("observedGeneration"),
        "bundle": (spec.get("bundle") or {}).get("name"),
        "conditions": status.get("conditions") or [],
        "losses": status.get("losses"),
        "withoutEffect": list(objects.warnings),
        "regions": [_region(each) for each in objects.of(REGIONS) if is_whole(each)],
        "processingElements": _pes(objects, now_s),
        "hostPools": [_pool(each) for each in objects.of(POOLS) if is_whole(each)],
        "placement": placements[0] if placements else None,
    }


def _named(obj: Json) -> Document:
    meta = obj["metadata"]
    return {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "uid": meta["uid"],
        "createdAt": meta.get("creationTimestamp"),
    }


def _region(region: Json) -> Document:
    spec, status = region["spec"], region.get("status") or {}
    return {
        **_named(region),
        "alias": spec["alias"],
        "requestedWidth": spec["width"],
        "widthInForce": status.get("width"),
        "reason": status.get("reason"),
        "message": status.get("message"),
    }


def _pes(objects: JobObjects, now_s: float) -> list[Document]:
    view = objects.view
    by_id = {each["spec"]["id"]: each for each in objects.of(PES) if is_whole(each)}
    found = []
    for pe_id, pe in sorted(view.pes.items()):
        status = by_id[pe_id].get("status") or {}
        found.append(
            {
                **_named(by_id[pe_id]),
                "id": pe_id,
                "phase": pe.phase,
                "reason": status.get("reason"),
                "message": status.get("message"),
                "launches": pe.launch,
                "restarts": pe.restarts,
                "pod": pe.pod_name or None,
                "node": pe.node or None,
                "operators": list(pe.operators),
                "waitsAt": waits_at(pe, now_s) or None,
                "skippedTuples": skipped_by(pe),
            }
        )
    return found


def _pool(pool: Json) -> Document:
    spec, status = pool["spec"], pool.get("status") or {}
    return {
        **_named(pool),
        "alias": (spec.get("hostpool") or {}).get("name"),
        "members": [str(each) for each in status.get("members") or ()],
        "reason": status.get("reason"),
        "message": status.get("message"),
    }


def _placement(placement: Json) -> Document:
    status = placement.get("status") or {}
    return {
        **_named(placement),
        "phase": status.get("phase"),
        "generation": status.get("generation"),
        "reason": status.get("reason"),
        "message": status.get("message"),
    }
