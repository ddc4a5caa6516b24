"""What this service may ask of the API server: for each effect, what carrying it out can send.

Read beside the `match` of `carry_out.py`. `deploy/roles.py` makes the ClusterRole of it, and every
simulated request is held against it.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.chassis.kube.permissions import Permissions, to_get, to_list, to_patch
from services.chassis.kube.resources import resource_of
from services.node_tainter.adapters.intake import HOST_POOL, NODE
from services.node_tainter.core.effects import AddFinalizer, Effect, RemoveFinalizer, SetMarks

_HOST_POOL, _NODE = map(resource_of, (HOST_POOL, NODE))

NEEDED: Mapping[type[Effect], Permissions] = {
    SetMarks: to_patch(_NODE) | to_get(_HOST_POOL) | to_list(_HOST_POOL),
    AddFinalizer: to_patch(_HOST_POOL),
    RemoveFinalizer: to_patch(_HOST_POOL) | to_list(_NODE),
}
PERMISSIONS: Permissions = frozenset().union(*NEEDED.values())
EVERYWHERE: Permissions = to_list(_HOST_POOL)
"""In all namespaces: the uid on a node may be that of any pool."""
