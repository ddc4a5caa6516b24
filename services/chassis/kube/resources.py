"""Where the API server serves what facts speak of: the resource behind a kind or a list-watch."""

from __future__ import annotations

from collections.abc import Mapping

from contracts.facts import WATCHED, WatchedKind
from services.chassis.kube.port import Resource


def watched_resource(watched: WatchedKind) -> Resource:
    """The resource of one list-watch; its kind is that of the object, not that of a projection."""
    return Resource(
        watched.group,
        watched.version,
        watched.plural,
        watched.projections[0].kind,
        namespaced=watched.namespaced,
    )


def resource_of(kind: str) -> Resource:
    """The resource behind a kind of fact (contracts/facts.py); KeyError for an unknown kind."""
    return _RESOURCES[kind]


_RESOURCES: Mapping[str, Resource] = {
    projection.kind: watched_resource(watched)
    for watched in WATCHED
    for projection in watched.projections
}
