"""Which resource types exist: the built-in ones, and those that CRDs add.

A `ResourceType` is a served (group, version, plural). Objects are stored under `key`, which all
versions of a resource share. What an object of a type has to look like is not known here
(see builtin.py and custom_resources.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

STATUS = frozenset({"status"})
MAIN_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True)
class Column:
    """A printer column: `json_path` as in `.status.phase`; `type` integer, string, date…"""

    name: str
    json_path: str
    type: str = "string"
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True)
class ResourceType:
    """A resource as the API serves it. `columns` is empty for built-in types."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    columns: tuple[Column, ...] = ()
    list_kind: str = ""
    custom: bool = False
    selectable_fields: tuple[str, ...] = ()
    verbs: tuple[str, ...] = MAIN_VERBS

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def key(self) -> str:
        """Where objects of this type are stored, whatever the version: `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def kind_of_list(self) -> str:
        return self.list_kind or f"{self.kind}List"


def _core(
    plural: str,
    kind: str,
    short_names: tuple[str, ...] = (),
    *,
    namespaced: bool = True,
    subresources: frozenset[str] = frozenset(),
    categories: tuple[str, ...] = (),
    group: str = "",
    version: str = "v1",
) -> ResourceType:
    return ResourceType(
        group=group,
        version=version,
        plural=plural,
        singular=kind.lower(),
        kind=kind,
        namespaced=namespaced,
        short_names=short_names,
        subresources=subresources,
        categories=categories,
    )


NAMESPACE = _core(
    "namespaces",
    "Namespace",
    ("ns",),
    namespaced=False,
    subresources=frozenset({"status", "finalize"}),
)
NODE = _core("nodes", "Node", ("no",), namespaced=False, subresources=STATUS)
POD = _core(
    "pods",
    "Pod",
    ("po",),
    subresources=frozenset({"status", "binding", "eviction", "resize"}),
    categories=("all",),
)
SERVICE = _core("services", "Service", ("svc",), subresources=STATUS, categories=("all",))
CONFIG_MAP = _core("configmaps", "ConfigMap", ("cm",))
EVENT = _core("events", "Event", ("ev",))
SECRET = _core("secrets", "Secret")
SERVICE_ACCOUNT = _core(
    "serviceaccounts", "ServiceAccount", ("sa",), subresources=frozenset({"token"})
)
PERSISTENT_VOLUME_CLAIM = _core(
    "persistentvolumeclaims", "PersistentVolumeClaim", ("pvc",), subresources=STATUS
)
LEASE = _core("leases", "Lease", group="coordination.k8s.io")
HORIZONTAL_POD_AUTOSCALER = _core(
    "horizontalpodautoscalers",
    "HorizontalPodAutoscaler",
    ("hpa",),
    subresources=STATUS,
    categories=("all",),
    group="autoscaling",
    version="v2",
)
CUSTOM_RESOURCE_DEFINITION = _core(
    "customresourcedefinitions",
    "CustomResourceDefinition",
    ("crd", "crds"),
    namespaced=False,
    subresources=STATUS,
    categories=("api-extensions",),
    group="apiextensions.k8s.io",
)
SELF_SUBJECT_ACCESS_REVIEW = ResourceType(
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    singular="selfsubjectaccessreview",
    kind="SelfSubjectAccessReview",
    namespaced=False,
    verbs=("create",),
)
TOKEN_REVIEW = ResourceType(
    group="authentication.k8s.io",
    version="v1",
    plural="tokenreviews",
    singular="tokenreview",
    kind="TokenReview",
    namespaced=False,
    verbs=("create",),
)
BUILTIN = (
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    CONFIG_MAP,
    EVENT,
    SECRET,
    SERVICE_ACCOUNT,
    PERSISTENT_VOLUME_CLAIM,
    LEASE,
    HORIZONTAL_POD_AUTOSCALER,
    CUSTOM_RESOURCE_DEFINITION,
    SELF_SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
)


class Registry:
    """The served resource types, by (group, version, plural)."""

    def __init__(self) -> None:
        self._types = {(rt.group, rt.version, rt.plural): rt for rt in BUILTIN}
        self.revision = 0  # rises with every change, so that discovery can be cached

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        return self._types.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """The type that owner references and manifests name, as `group/version` and kind."""
        for rt in self._types.values():
            if rt.kind == kind and rt.api_version == api_version:
                return rt
        return None

    def all(self) -> list[ResourceType]:
        return list(self._types.values())

    def publish(self, rt: ResourceType) -> None:
        self._types[rt.group, rt.version, rt.plural] = rt
        self.revision += 1

    def withdraw(self, group: str, plural: str) -> None:
        """Stop serving every version of a resource."""
        for known in [k for k in self._types if k[0] == group and k[2] == plural]:
            del self._types[known]
        self.revision += 1
