"""What a PE of our runtime is answered: where its peers are, and the hand-over of its job.

The version is a digest of the answer, so that every instance has the same one for the same state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from contracts.moments import unix_s_of
from services.pe_gateway.core.snapshot import Job, Pe, Pod

VERSION_CHARS: Final = 16
_OF_HAND_OVER: Final[Mapping[str, Any]] = {
    "generation": 0,
    "pes": {},
    "sealed": {},
    "gone": [],
    "complete": False,
}
"""Fields of a Job's `status.handOver` that a PE sees, and what is left out of them."""


def address_in(pods: Iterable[Pod], pe: Pe | None) -> tuple[str, int] | None:
    """The address and launch of the newest live launch of a PE; None where none can be reached.

    A pod that ends takes nothing in any more, and one of an older launch than the status has will
    be deleted.
    """
    if pe is None:
        return None
    live = [
        each
        for each in pods
        if each.pe_uid == pe.uid
        and each.ip
        and each.launch >= pe.launch
        and not (each.has_ended or each.is_deleting)
    ]
    newest = max(live, key=lambda each: each.launch, default=None)
    return (newest.ip, newest.launch) if newest is not None else None


def hand_over_of(job: Job) -> Mapping[str, Any] | None:
    """The hand-over of a job as a PE sees it; None if there was none."""
    found = job.hand_over
    if not found:
        return None
    former = [_seen(each) | {"complete": True} for each in found.get("former") or ()]
    deadline = _moment(str(found.get("deadline") or ""))
    return _seen(found) | {"deadline": deadline, "former": former}


def _seen(field: Mapping[str, Any]) -> dict[str, Any]:
    return {name: field.get(name) or default for name, default in _OF_HAND_OVER.items()}


def _moment(text: str) -> int:
    """A moment in unix seconds; 0 where it cannot be read."""
    try:
        return int(unix_s_of(text))
    except ValueError:
        return 0


def view_of(
    job: Job,
    pe: Pe,
    launch: int,
    addresses: Mapping[int, tuple[str, int] | None],
    left: Iterable[int] = (),
) -> Mapping[str, Any]:
    """The answer to a PE without its version; `launch` is that of its pod, 0: nobody knows it.

    `left`: PEs that the job had, of those that the PE requests.
    """
    application, runtime = pe.trace
    levels = {"app": application.lower(), "runtime": runtime.lower()}
    return {
        "jobId": job.id,
        "jobUid": job.uid,
        "launch": max(launch, pe.launch),
        "peers": {
            str(peer): {"address": found[0], "launch": found[1]}
            for peer, found in addresses.items()
            if found is not None
        },
        "handOver": hand_over_of(job),
        "left": sorted(left),
        "inForce": job.generation,
        "hasEnded": job.has_ended,
        "trace": {name: level for name, level in levels.items() if level},
    }


def with_version(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """The view with its version."""
    digest = hashlib.sha256(orjson.dumps(view, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return {"version": digest[:VERSION_CHARS], **view}
