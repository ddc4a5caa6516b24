"""What this service may ask of the API server: for each effect, what carrying it out can send.

Read beside the `match` of `carry_out.py`. `deploy/roles.py` makes the ClusterRole of it, and every
simulated request is held against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from services.chassis.kube.permissions import (
    Permissions,
    to_block_deletion_of,
    to_create,
    to_delete,
    to_delete_collection,
    to_emit_events,
    to_get,
    to_list,
    to_patch,
)
from services.chassis.kube.port import Resource
from services.chassis.kube.resources import resource_of
from services.fusion_backend.adapters.carry_out import JOB
from services.fusion_backend.adapters.certificates import SECRET
from services.fusion_backend.adapters.cluster_cpu import NODE_METRICS, POD_METRICS
from services.fusion_backend.core.effects import (
    AdoptChild,
    ConfirmJobGone,
    CreateChild,
    DeleteCertificate,
    DeleteChild,
    DeleteChildren,
    Effect,
    FindResizing,
    FindServers,
    KeepCertificate,
    KeepRefusal,
    LookForBundle,
    NoteReference,
    PatchChild,
    Plan,
    ReadPlan,
    RecordPlan,
    ReportReference,
    TakeJobId,
    WriteJobStatus,
    WriteRegionStatus,
)
from services.fusion_backend.core.references import REFERRING_KINDS
from services.fusion_backend.core.rendering import PATCHED_KINDS
from services.fusion_backend.core.snapshot import CHILD_KINDS

_JOB, _CONFIG_MAP, _REGION = map(resource_of, (JOB, "ConfigMap", "ParallelRegion"))
_STAMPED = frozenset({"ConfigMap"})
"""Kinds without a spec: a newer generation stamps one that exists again."""


def _each(kinds: Iterable[str], way: Callable[[Resource], Permissions]) -> Permissions:
    return frozenset().union(*(way(resource_of(kind)) for kind in kinds))


def _created(kind: str) -> Permissions:
    return to_create(resource_of(kind), owner=_JOB, stamped=kind in _STAMPED)


_SAY_STATUS = to_patch(_JOB, subresource="status") | to_emit_events()
_OWN = to_block_deletion_of(_JOB)

NEEDED: Mapping[type[Effect], Permissions] = {
    TakeJobId: _SAY_STATUS
    | to_create(_CONFIG_MAP)  # the counter
    | to_list(_JOB)  # the ids that were given before it
    | to_patch(_CONFIG_MAP)
    | to_delete(_CONFIG_MAP),  # one that cannot be patched
    WriteJobStatus: _SAY_STATUS,
    Plan: to_get(SECRET)
    | to_get(_CONFIG_MAP)  # what fetching a bundle needs
    | to_list(_JOB)  # which bundles are named
    | to_list(NODE_METRICS)  # the CPU in use, for automatic fusion
    | to_list(POD_METRICS),
    ReadPlan: to_get(_CONFIG_MAP),
    RecordPlan: _created("ConfigMap") | _OWN,
    KeepRefusal: frozenset(),
    CreateChild: frozenset().union(*map(_created, CHILD_KINDS)) | _OWN,
    PatchChild: _each(PATCHED_KINDS, to_patch),
    AdoptChild: _each(CHILD_KINDS, to_patch) | to_get(_JOB) | _OWN,
    DeleteChild: _each(CHILD_KINDS, to_delete) | to_get(_JOB),
    DeleteChildren: _each(CHILD_KINDS, to_delete_collection)
    | _each(CHILD_KINDS, to_get)  # one child is looked at: was it orphaned?
    | to_get(_JOB),
    WriteRegionStatus: to_patch(_REGION, subresource="status") | to_emit_events(),
    FindResizing: frozenset(),  # what an API server serves, it tells everybody who has an account
    FindServers: _SAY_STATUS,
    KeepCertificate: to_create(SECRET, owner=_JOB)
    | to_patch(SECRET)  # renews
    | to_get(_JOB)
    | to_patch(_JOB, subresource="status")
    | _OWN,
    DeleteCertificate: to_delete_collection(SECRET)
    | to_get(_JOB)
    | to_patch(_JOB, subresource="status"),
    NoteReference: frozenset(),
    ReportReference: frozenset().union(
        *(to_patch(resource_of(kind), subresource="status") for kind in REFERRING_KINDS)
    )
    | to_emit_events(),
    ConfirmJobGone: to_get(_JOB),
    LookForBundle: frozenset(),
}
PERMISSIONS: Permissions = frozenset().union(*NEEDED.values())
