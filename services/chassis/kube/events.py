"""Events of Kubernetes: what people see in `kubectl describe`, once for each cause.

The name of an Event is made of object, reason and generation, so a replay creates none twice. What
is worth an Event, and in which words, is the business of a service.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from contracts.moments import moment_of
from contracts.showing import shown
from services.chassis.kube.port import Json, Kube, Resource
from services.chassis.process.errors import AlreadyExists

MESSAGE_CHARS_MAX = 1024
NAME_CHARS_MAX = 253
EVENT = Resource("", "v1", "events", "Event")


async def emit_event(
    kube: Kube,
    reference: Mapping[str, str],
    *,
    component: str,
    reason: str,
    message: str,
    generation: int,
    warning: bool,
    now: float,
) -> bool:
    """A core/v1 Event on the object that `reference` names; False if it exists already.

    `reference` has the fields of an ObjectReference; an object of the cluster has its Events in
    namespace `default`.
    """
    at = moment_of(now)
    namespace = reference["namespace"] or "default"
    body: Json = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": _name(reference, reason, generation), "namespace": namespace},
        "involvedObject": {key: value for key, value in reference.items() if value},
        "reason": reason,
        "message": shown(message, MESSAGE_CHARS_MAX),
        "type": "Warning" if warning else "Normal",
        "source": {"component": component},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
    try:
        await kube.create(EVENT, namespace, body)
    except AlreadyExists:
        return False
    return True


def _name(reference: Mapping[str, str], reason: str, generation: int) -> str:
    """The uid is in it: a later object of the same name has events of its own."""
    identity = f"{reference['kind']}/{reference['uid']}/{reason}/{generation}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return f"{reference['name'][: NAME_CHARS_MAX - len(digest) - 1]}.{digest}"
