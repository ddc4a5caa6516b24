"""Makes `deploy/rbac/*.yaml`: for each service an account, and the least that it has to be allowed.

What a service may do is its `adapters/permissions.py`; here it becomes rules of Kubernetes. A file
stands alone: `kubectl apply -f` of one of them sets one service up. `generating.py` writes them, a
test holds them fresh.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from services.chassis.kube.permissions import Permission, Permissions
from services.fusion_backend.adapters import permissions as fusion_backend
from services.hostpool_manager.adapters import permissions as hostpool_manager
from services.node_tainter.adapters import permissions as node_tainter
from services.pod_state_machine.adapters import permissions as pod_state_machine
from services.watch_ingest.adapters import permissions as watch_ingest

NAMESPACE = "millrace"
"""Where the services and their Leases live."""
PERMISSIONS: Mapping[str, Permissions] = {
    "fusion-backend": fusion_backend.PERMISSIONS,
    "hostpool-manager": hostpool_manager.PERMISSIONS,
    "node-tainter": node_tainter.PERMISSIONS,
    "pod-state-machine": pod_state_machine.PERMISSIONS,
    "watch-ingest": watch_ingest.PERMISSIONS,
}
GROUP = "rbac.authorization.k8s.io"

Json = dict[str, Any]


def documents(service: str) -> list[Json]:
    """Everything that the account of a service is made of, in the order of applying it."""
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
    """A role and its binding: of the cluster, or of one namespace."""
    prefix = "" if where else "Cluster"
    # Names of ClusterRoles are shared with everybody else's.
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
    """One rule for the resources of a group that have the same verbs."""
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
