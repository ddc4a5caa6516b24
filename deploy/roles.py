"""Makes `deploy/rbac/*.yaml`: an account with the least rights for each service.

The rights of a service are listed in its `adapters/permissions.py`; this module makes RBAC rules of
them. Each file is complete: `kubectl apply -f` of one file is enough for one service.
`generating.py` writes the files, and a test fails if they are outdated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from services.chassis.kube.permissions import Permission, Permissions
from services.chassis.running.service import loaded
from services.roster import SERVICES

NAMESPACE = "millrace"
"""Where the services and their Leases live."""
PERMISSIONS: Mapping[str, Permissions] = {row.name: loaded(row.permissions) for row in SERVICES}
GROUP = "rbac.authorization.k8s.io"

Json = dict[str, Any]


def documents(service: str) -> list[Json]:
    """The objects for the account of a service, in the order in which to apply them."""
    permissions = PERMISSIONS[service]
    found: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": service, "namespace": NAMESPACE},
        },
    ]
    found += _role(service, [each for each in permissions if not each.at_home], {})
    at_home = [each for each in permissions if each.at_home]
    if at_home:
        found += _role(service, at_home, {"namespace": NAMESPACE})
    return found


def _role(service: str, permissions: Iterable[Permission], where: Mapping[str, str]) -> list[Json]:
    """A role and its binding, for the cluster or for one namespace."""
    prefix = "" if where else "Cluster"
    # ClusterRoles have no namespace: the prefix keeps the name unique.
    metadata = {"name": f"millrace-{service}", **where}
    return [
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": f"{prefix}Role",
            "metadata": metadata,
            "rules": rules(permissions),
        },
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": f"{prefix}RoleBinding",
            "metadata": dict(metadata),
            "roleRef": {"apiGroup": GROUP, "kind": f"{prefix}Role", "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": service, "namespace": NAMESPACE}],
        },
    ]


def rules(permissions: Iterable[Permission]) -> list[Json]:
    """RBAC rules; resources of a group with the same verbs share a rule."""
    verbs: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for each in permissions:
        verbs[each.group, each.name, each.resource].add(each.verb)
    alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, name, resource), of_resource in verbs.items():
        alike[group, name, tuple(sorted(of_resource))].append(resource)
    return [
        {"apiGroups": [group], "resources": sorted(resources)}
        | ({"resourceNames": [name]} if name else {})
        | {"verbs": list(of_resources)}
        for (group, name, of_resources), resources in sorted(alike.items())
    ]
