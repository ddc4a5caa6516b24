"""The permissions of this service at the API server, by the effect that needs them.

Keep it in step with the `match` of `carry_out.py`. `deploy/roles.py` makes the ClusterRole of it;
simulations check every request against it.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.chassis.kube.permissions import (
    Permissions,
    to_block_deletion_of,
    to_create,
    to_delete,
    to_delete_collection,
    to_get,
    to_patch,
)
from services.chassis.kube.resources import resource_of
from services.launching.core.effects import CreatePod, DeletePod, PatchStatus, SetPodAside
from services.pod_state_machine.adapters.intake import JOB, NODE, PE, POD
from services.pod_state_machine.core.effects import DeletePodsOfJob, Effect

_POD, _PE, _JOB, _NODE = map(resource_of, (POD, PE, JOB, NODE))

NEEDED: Mapping[type[Effect], Permissions] = {
    CreatePod: to_create(_POD, owner=_PE)
    | to_block_deletion_of(_PE)
    | to_patch(_PE, subresource="status"),  # records why a pod was refused
    DeletePod: to_delete(_POD) | to_get(_PE) | to_get(_NODE),
    SetPodAside: to_patch(_POD),
    PatchStatus: to_patch(_PE, subresource="status") | to_get(_POD),
    DeletePodsOfJob: to_delete_collection(_POD) | to_get(_JOB),
}
PERMISSIONS: Permissions = frozenset().union(*NEEDED.values())
