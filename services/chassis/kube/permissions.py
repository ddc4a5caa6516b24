"""What a service may ask of the API server, as values made of what the chassis sends for it.

One function for each way to write or look (`writing.py`, `listing.py`, `leases.py`), with every
request that this way can make, those after a conflict or a lost answer as well. A service says in
its `adapters/permissions.py` which ways its effects take; `deploy/roles.py` makes roles of it, and
simulation refuses every request that is not among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.chassis.kube.events import EVENT
from services.chassis.kube.leases import LEASE
from services.chassis.kube.port import Resource


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """One verb on one resource; `name` limits it to one object.

    `at_home` limits it to the namespace in which the service itself lives.
    """

    group: str
    plural: str
    verb: str
    subresource: str = ""
    name: str = ""
    at_home: bool = False

    @property
    def resource(self) -> str:
        """`plural` or `plural/subresource`, as rules name it."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


Permissions = frozenset[Permission]


def to_get(resource: Resource, *, name: str = "") -> Permissions:
    """A look at an object; at one of this name only."""
    return frozenset({_permission(resource, "get", name=name)})


def to_create(
    resource: Resource, *, owner: Resource | None = None, stamped: bool = False
) -> Permissions:
    """`Writer.create`: a name that is taken is looked at, and so is the owner that took it.

    A stamped object without a spec is stamped again if it exists.
    """
    verbs = ("create", "get", "patch") if stamped else ("create", "get")
    granted = frozenset(_permission(resource, verb) for verb in verbs)
    return granted | (to_get(owner) if owner else frozenset())


def to_create_only(resource: Resource) -> Permissions:
    """`KubeClient.create` of what is answered and never stored, such as a review."""
    return frozenset({_permission(resource, "create")})


def to_patch(resource: Resource, *, subresource: str = "") -> Permissions:
    """`Writer.patch`: what met a conflict is read again, whole.

    `managedFields` can be emptied only through the object itself, so a service that patches a
    status needs that right, too.
    """
    patches = {_permission(resource, "patch", subresource=each) for each in {"", subresource}}
    return to_get(resource) | patches


def to_patch_status(resource: Resource) -> Permissions:
    """`KubeClient.patch` of a status and nothing else; what met a conflict is read again."""
    return to_get(resource) | {_permission(resource, "patch", subresource="status")}


def to_delete(resource: Resource) -> Permissions:
    """`Writer.delete`: what met a conflict is read again."""
    return to_get(resource) | {_permission(resource, "delete")}


def to_delete_collection(resource: Resource) -> Permissions:
    """`Writer.delete_collection`."""
    return frozenset({_permission(resource, "deletecollection")})


def to_emit_events() -> Permissions:
    """`events.emit_event`: one that exists is left as it is."""
    return frozenset({_permission(EVENT, "create")})


def to_list(resource: Resource) -> Permissions:
    """`KubeClient.list_pages`."""
    return frozenset({_permission(resource, "list")})


def to_watch(resource: Resource) -> Permissions:
    """`ListWatch`."""
    return frozenset({_permission(resource, "list"), _permission(resource, "watch")})


def to_lead(name: str) -> Permissions:
    """`LeaderLease`; what is created has no name yet for the authorizer."""
    lease = Permission(LEASE.group, LEASE.plural, "create", at_home=True)
    named = (Permission(LEASE.group, LEASE.plural, v, "", name, True) for v in ("get", "patch"))
    return frozenset({lease, *named})


def to_block_deletion_of(owner: Resource) -> Permissions:
    """An object that blocks the deletion of its owner.

    Required where the admission plug-in OwnerReferencesPermissionEnforcement is on.
    """
    return frozenset({_permission(owner, "update", subresource="finalizers")})


def _permission(
    resource: Resource, verb: str, *, subresource: str = "", name: str = ""
) -> Permission:
    return Permission(resource.group, resource.plural, verb, subresource, name)
