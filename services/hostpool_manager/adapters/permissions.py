"""The permissions of this service at the API server, by the effect that needs them.

Keep it in step with the `match` of `carry_out.py`. `deploy/roles.py` makes the ClusterRole of it;
simulations check every request against it.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.chassis.kube.permissions import Permissions, to_lead, to_list, to_patch
from services.chassis.kube.resources import resource_of
from services.hostpool_manager.adapters.folding import HOST_POOL, LISTED_FIRST, PLACEMENT
from services.hostpool_manager.core.effects import (
    Effect,
    Search,
    WriteHostPoolStatus,
    WritePlacementStatus,
)

LEASE = "millrace-hostpool-manager"

NEEDED: Mapping[type[Effect], Permissions] = {
    Search: frozenset(),
    WritePlacementStatus: to_patch(resource_of(PLACEMENT), subresource="status"),
    WriteHostPoolStatus: to_patch(resource_of(HOST_POOL), subresource="status"),
}
PERMISSIONS: Permissions = frozenset().union(
    *NEEDED.values(), *(to_list(resource_of(kind)) for kind in LISTED_FIRST), to_lead(LEASE)
)
