"""What this service may ask of the API server: to watch what facts speak of, and to lead.

It decides nothing, so there are no effects: the table of watched kinds is `contracts/facts.py`. On
an object that nobody can read it says so (`noticing.py`).
"""

from __future__ import annotations

from contracts.facts import WATCHED
from services.chassis.kube.permissions import (
    Permissions,
    to_emit_events,
    to_get,
    to_lead,
    to_patch_status,
    to_watch,
)
from services.chassis.kube.resources import resource_of, watched_resource
from services.watch_ingest.adapters.leading import LEASE, NAMESPACE, SYSTEM_NAMESPACE
from services.watch_ingest.core.noticing import CONDITIONED

PERMISSIONS: Permissions = frozenset().union(
    *(to_watch(watched_resource(watched)) for watched in WATCHED),
    to_get(NAMESPACE, name=SYSTEM_NAMESPACE),
    to_lead(LEASE),
    *(to_patch_status(resource_of(kind)) for kind in sorted(CONDITIONED)),
    to_emit_events(),
)
