"""What a PE of our runtime is answered: where its peers are, and the hand-over of its job.

The version is a digest of the answer, so that every instance has the same one for the same state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from millrace.protocol import Levels, Peer, Seen
from services.pe_gateway.core.snapshot import Job, Pe, Pod

VERSION_CHARS: Final = 16


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


def view_of(
    job: Job,
    pe: Pe,
    launch: int,
    addresses: Mapping[int, tuple[str, int] | None],
    left: Iterable[int] = (),
) -> Seen:
    """The answer to a PE; `launch` is that of its pod, 0: nobody knows it.

    `left`: PEs that the job had, of those that the PE requests.
    """
    app, runtime = (level.lower() or None for level in pe.trace)
    view = Seen(
        version="",
        job_id=job.id,
        job_uid=job.uid,
        launch=max(launch, pe.launch),
        peers={peer: Peer(*found) for peer, found in addresses.items() if found is not None},
        hand_over=job.hand_over,
        left=frozenset(sorted(left)),
        trace=Levels(app=app, runtime=runtime),
        in_force=job.generation,
        has_ended=job.has_ended,
    )
    return replace(view, version=hashlib.sha256(view.body).hexdigest()[:VERSION_CHARS])
