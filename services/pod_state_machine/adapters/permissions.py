"""The permissions of this service at the API server, by the effect that needs them.

Those of launches are in `services/launching/`; keep the rest in step with the `match` of
`carry_out.py`. `deploy/roles.py` makes the ClusterRole of it; simulations check every request
against it.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.chassis.kube.permissions import (
    Permissions,
    to_delete_collection,
    to_get,
    to_patch,
)
from services.chassis.kube.resources import resource_of
from services.launching.adapters.permissions import needed_by
from services.pod_state_machine.adapters.intake import JOB, PE, POD
from services.pod_state_machine.core.effects import DeletePodsOfJob, Effect, ResizePod

NEEDED: Mapping[type[Effect], Permissions] = needed_by(resource_of(PE)) | {
    ResizePod: to_patch(resource_of(POD), subresource="resize")
    | to_patch(resource_of(PE), subresource="status"),  # records why it was refused
    DeletePodsOfJob: to_delete_collection(resource_of(POD)) | to_get(resource_of(JOB)),
}
PERMISSIONS: Permissions = frozenset().union(*NEEDED.values())
