"""What this service may ask of the API server: for each effect, what carrying it out can send.

Read beside the `match` of `carry_out.py`. `deploy/roles.py` makes the ClusterRole of it, and every
simulated request is held against it.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.chassis.kube.permissions import (
    Permissions,
    to_create_only,
    to_emit_events,
    to_get,
    to_patch,
)
from services.chassis.kube.resources import resource_of
from services.pe_gateway.adapters.contents import CONFIG_MAP
from services.pe_gateway.adapters.intake import JOB, PE, REGION, SERVICE
from services.pe_gateway.adapters.reviewing import TOKEN_REVIEW
from services.pe_gateway.core.effects import (
    AnnounceNoBundle,
    DropLosses,
    DropReport,
    Effect,
    SetEndpoints,
    SetLosses,
    SetReported,
    SetWidth,
)

NEEDED: Mapping[type[Effect], Permissions] = {
    SetReported: to_patch(resource_of(PE), subresource="status") | to_emit_events(),
    DropReport: frozenset(),
    SetLosses: to_patch(resource_of(JOB), subresource="status"),
    DropLosses: frozenset(),
    SetWidth: to_patch(resource_of(REGION)),
    SetEndpoints: to_patch(resource_of(SERVICE)),
    AnnounceNoBundle: to_emit_events(),
}
LOOKS: Permissions = to_create_only(TOKEN_REVIEW) | to_get(resource_of(CONFIG_MAP))
"""Reviews of tokens, and AADLs."""
PERMISSIONS: Permissions = LOOKS.union(*NEEDED.values())
