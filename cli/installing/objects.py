"""Objects of an installation: their paths, the order in which they are applied, the inventory.

The inventory is a ConfigMap in the namespace of the services. It names every object that an
installation may have made, so that an upgrade and an uninstallation that come after a crash find
them. It is written before the first object, and again after the last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cli.installing.filling import MANAGED_BY, MANAGER, Wanted
from services.chassis.kube.port import Resource, path_of

Json = dict[str, Any]

INVENTORY: Final = "millrace-release"
SELECTOR: Final = "app.kubernetes.io/name=millrace,app.kubernetes.io/instance=millrace"
CONFIG_MAP: Final = Resource("", "v1", "configmaps", "ConfigMap")
NAMESPACE: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
POD: Final = Resource("", "v1", "pods", "Pod")
_RBAC: Final = "rbac.authorization.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
RESOURCES: Final[Mapping[str, Resource]] = {
    each.kind: each
    for each in (
        NAMESPACE,
        Resource(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            namespaced=False,
        ),
        Resource("", "v1", "serviceaccounts", "ServiceAccount"),
        Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
        Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        Resource(_RBAC, "v1", "roles", "Role"),
        Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
        Resource(
            _ADMISSION,
            "v1",
            "validatingadmissionpolicies",
            "ValidatingAdmissionPolicy",
            namespaced=False,
        ),
        Resource(
            _ADMISSION,
            "v1",
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
            namespaced=False,
        ),
        Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
        Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
        Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
        CONFIG_MAP,
        Resource("", "v1", "services", "Service"),
        Resource("apps", "v1", "statefulsets", "StatefulSet"),
        Resource("batch", "v1", "jobs", "Job"),
        Resource("apps", "v1", "deployments", "Deployment"),
    )
}
"""By kind, in the order in which objects are applied; they are deleted in the opposite one."""
_ORDER: Final = {kind: number for number, kind in enumerate(RESOURCES)}
KEPT_KINDS: Final = frozenset({"CustomResourceDefinition", "Namespace", "PersistentVolumeClaim"})
"""What an uninstallation leaves: data, and what data is kept in."""
GATE: Final = "millrace.dev/gate"


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """One object, by its name; no namespace: it is the cluster's."""

    kind: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Where it is on the API server."""
        return path_of(RESOURCES[self.kind], self.namespace, self.name)

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.kind} {self.name}{where}"


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was installed: with which options, and every object that may exist."""

    wanted: Wanted
    version: str
    is_complete: bool
    refs: frozenset[Ref]


def ref_of(document: Json) -> Ref:
    """The name of an object of a manifest."""
    meta = document["metadata"]
    return Ref(document["kind"], meta.get("namespace", ""), meta["name"])


def in_order(documents: Iterable[Json]) -> list[Json]:
    """Objects in the order in which they are applied."""
    return sorted(documents, key=lambda each: _ORDER[each["kind"]])


def to_delete(refs: Iterable[Ref]) -> list[Ref]:
    """Those that an uninstallation deletes, in order: what works first, its rights last."""
    going = [ref for ref in refs if ref.kind not in KEPT_KINDS]
    return sorted(going, key=lambda ref: (-_ORDER[ref.kind], ref))


def is_gate(document: Json) -> bool:
    """Whether it has to be done before the services are started."""
    return GATE in document["metadata"].get("annotations", {})


def inventory_object(inventory: Inventory) -> Json:
    """The ConfigMap."""
    wanted = inventory.wanted
    refs = [[ref.kind, ref.namespace, ref.name] for ref in sorted(inventory.refs)]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": INVENTORY,
            "namespace": wanted.namespace,
            "labels": {MANAGED_BY: MANAGER},
        },
        "data": {
            "version": inventory.version,
            "profile": wanted.profile,
            "state": "complete" if inventory.is_complete else "begun",
            "values": json.dumps(dict(wanted.values), sort_keys=True),
            "objects": json.dumps(refs),
        },
    }


def inventory_of(found: Json) -> Inventory:
    """What the ConfigMap says; raises ValueError where it is not one of ours."""
    try:
        data, meta = found["data"], found["metadata"]
        wanted = Wanted(data["profile"], meta["namespace"], dict(json.loads(data["values"])))
        refs = frozenset(Ref(*map(str, each)) for each in json.loads(data["objects"]))
        if not all(ref.kind in RESOURCES for ref in refs):
            raise ValueError("it names a kind that no installation has")
        return Inventory(wanted, data["version"], data["state"] == "complete", refs)
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"ConfigMap {INVENTORY} is not as millrace writes it") from problem


def left(refs: Iterable[Ref]) -> Sequence[Ref]:
    """Those that an uninstallation leaves."""
    return sorted(ref for ref in refs if ref.kind in KEPT_KINDS)
