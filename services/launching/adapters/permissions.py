"""The permissions that launches need at the API server, by effect, for owners of one kind.

Keep it in step with the `match` of `carry_out.py`.
"""

from __future__ import annotations

from services.chassis.kube.permissions import (
    Permissions,
    to_block_deletion_of,
    to_create,
    to_delete,
    to_emit_events,
    to_get,
    to_patch,
)
from services.chassis.kube.port import Resource
from services.chassis.kube.resources import resource_of
from services.launching.core.effects import (
    CreatePod,
    DeletePod,
    DeleteSilentPod,
    Effect,
    PatchStatus,
    SetPodAside,
)

_POD, _NODE = map(resource_of, ("Pod", "Node"))


def needed_by(owner: Resource) -> dict[type[Effect], Permissions]:
    """What each effect needs where this kind of object launches pods."""
    deletes_pod = to_delete(_POD) | to_get(owner) | to_get(_NODE)
    return {
        CreatePod: to_create(_POD, owner=owner)
        | to_block_deletion_of(owner)
        | to_patch(owner, subresource="status")  # records why a pod was refused
        | to_emit_events(),
        DeletePod: deletes_pod,
        DeleteSilentPod: deletes_pod,
        SetPodAside: to_patch(_POD),
        PatchStatus: to_patch(owner, subresource="status") | to_get(_POD) | to_emit_events(),
    }
