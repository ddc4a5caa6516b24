"""Facts: what was seen of Kubernetes objects, and the projection of each watched kind.

A fact says ADDITION, MODIFICATION or DELETION of one object and carries a projection: the part of
the object that a decision may use. An object whose projection did not change says nothing, so the
heartbeats of nodes wake nobody. watch-ingest is the only writer; how facts become a table is the
chassis's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from contracts import labels, projections
from contracts.belonging import is_root_key
from contracts.names import DOMAIN_CHARS_MAX, is_word
from contracts.projections import Obj, metadata
from contracts.resources import CUSTOM_RESOURCES, GROUP, VERSION
from contracts.topics import CLUSTER, RESOURCES, Topic
from contracts.unreadable import FACT_DEPTH_MAX, ObjectUnreadable, Unreadable, too_deep

Project = Callable[[Obj], dict[str, Any] | None]


EPOCHS_KEPT = 256
NAMES_KEPT = 1_024
NUMBER_MAX = 2**62
"""The largest resourceVersion and epoch number: one more fits in 64 bits."""


class FactType(StrEnum):
    """What was seen; SYNC_COMPLETED: every object of a kind that exists has been published."""

    ADDITION = "com.ibm.streams.fact.addition"
    MODIFICATION = "com.ibm.streams.fact.modification"
    DELETION = "com.ibm.streams.fact.deletion"
    SYNC_COMPLETED = "com.ibm.streams.fact.sync-completed"


@dataclass(frozen=True, slots=True, order=True)
class Epoch:
    """When a record was published: the incarnation of watch-ingest and the number of its list.

    Epochs of one cluster are ordered; another `cluster_uid` (the uid of namespace `kube-system`)
    empties a reader's table.
    """

    # The order of the fields is the order of comparison.
    incarnation: int
    list_number: int
    cluster_uid: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact; `data` is the projection, None for a DELETION.

    An incomplete projection is an `Unreadable`: only its metadata are sure to be there.

    `job` is the key of the root that the object belongs to (its partition), empty for objects of
    the cluster. `resource_version` is that of the projection's object, as a number.
    """

    type: FactType
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: int
    epoch: Epoch
    job: str = ""
    data: Mapping[str, Any] | None = None

    @property
    def ref(self) -> tuple[str, str, str]:
        """(kind, namespace, name)."""
        return (self.kind, self.namespace, self.name)

    @property
    def key(self) -> str:
        """The record's key: kind/namespace/name."""
        return f"{self.kind}/{self.namespace}/{self.name}"

    def to_json(self) -> dict[str, Any]:
        """The record's value."""
        value: dict[str, Any] = {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
            "epoch": epoch_to_json(self.epoch),
            "job": self.job,
            "object": self.data,
        }
        if isinstance(self.data, Unreadable):
            value |= {"object": self.data.parts, "unreadable": self.data.why}
        return value


@dataclass(frozen=True, slots=True)
class SyncCompleted:
    """Every object of `kind` has been published in `epoch` (or since, by the watch).

    `full` marks every key of a reader dirty once, so that each stage reconciles on its own; a
    comparison (not full) publishes differences only and refreshes nothing.
    """

    kind: str
    epoch: Epoch
    full: bool = True

    @property
    def key(self) -> str:
        """The record's key; it goes to every partition."""
        return f"sync/{self.kind}"

    def to_json(self) -> dict[str, Any]:
        """The record's value."""
        return {"kind": self.kind, "epoch": epoch_to_json(self.epoch), "full": self.full}


def epoch_to_json(epoch: Epoch) -> dict[str, Any]:
    """An epoch as a JSON object."""
    return {
        "cluster": epoch.cluster_uid,
        "incarnation": epoch.incarnation,
        "list": epoch.list_number,
    }


def epoch_from_json(value: Mapping[str, Any]) -> Epoch:
    """The epoch of a JSON object; raises KeyError or ValueError where it is malformed."""
    return _epoch(_number(value["incarnation"]), _number(value["list"]), str(value["cluster"]))


@lru_cache(EPOCHS_KEPT)
def _epoch(incarnation: int, list_number: int, cluster_uid: str) -> Epoch:
    """One Epoch for the thousands of facts that are published in it."""
    return Epoch(incarnation, list_number, cluster_uid)


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value <= NUMBER_MAX:
        raise ValueError(f"{str(value)[:40]} is not a resourceVersion or list number")
    return value


def fact_from_json(fact_type: FactType, value: Mapping[str, Any]) -> Fact | SyncCompleted:
    """The fact of a record; raises KeyError, TypeError or ValueError where it is malformed."""
    epoch = epoch_from_json(value["epoch"])
    if fact_type is FactType.SYNC_COMPLETED:
        return SyncCompleted(kind=str(value["kind"]), epoch=epoch, full=bool(value["full"]))
    return Fact(
        type=fact_type,
        kind=str(value["kind"]),
        namespace=_name_or_empty("namespace", value["namespace"]),
        name=_object_name("name", value["name"]),
        uid=str(value["uid"]),
        resource_version=_number(value["resourceVersion"]),
        epoch=epoch,
        job=_root_or_empty(value["job"]),
        data=_data(value),
    )


def _object_name(field: str, value: object) -> str:
    """The value, if it can be the name of an object; raises ValueError.

    The API server would refuse each write to another name or, with a `/` in it, take it for another
    resource; the job would wait until the next full resync.
    """
    if not isinstance(value, str) or not is_word(value, DOMAIN_CHARS_MAX):
        raise ValueError(f"its {field} is not an object name: {str(value)[:40]!r}")
    return value


def _name_or_empty(field: str, value: object) -> str:
    """A name, or "": an object of the cluster."""
    if isinstance(value, str) and _is_name_or_empty(value):
        return value
    return _object_name(field, value)


def _root_or_empty(value: object) -> str:
    """The key of a root, or "": an object of the cluster."""
    if isinstance(value, str) and _is_root_or_empty(value):
        return value
    return _object_name("job", value)


@lru_cache(NAMES_KEPT)
def _is_name_or_empty(text: str) -> bool:
    """Namespaces and roots are few, and in every fact."""
    return not text or is_word(text, DOMAIN_CHARS_MAX)


@lru_cache(NAMES_KEPT)
def _is_root_or_empty(text: str) -> bool:
    return not text or is_root_key(text)


def _data(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    data, why = value["object"], value.get("unreadable")
    if data is None:
        return None
    if not isinstance(data, dict):
        raise TypeError("its object is no JSON object")
    _check_form(str(value["kind"]), data)
    return data if why is None else Unreadable(str(why), data)


_PARTS = ("metadata", "spec", "status")
_FORMS: Mapping[str, tuple[Any, type, str]] = {
    "labels": (dict, str, "a label is no text"),
    "annotations": (dict, str, "an annotation is no text"),
    "owners": (list, dict, "an owner is no JSON object"),
}
"""Parts of metadata that readers rest on, with their form, and the form of each element."""
_OWNER = {"kind": str, "name": str, "uid": str, "controller": bool}
_FEWER: Mapping[str, frozenset[str]] = {"Node": frozenset({"labels"}), "BoundPod": frozenset()}
"""The kinds whose projection has not all of these parts."""


def _check_form(kind: str, data: Mapping[str, Any]) -> None:
    """Raises TypeError where a part is missing, or has not the form that each projection gives it.

    Anybody can label an object with any job, and the job's stages read it. So a record that no
    watch-ingest writes ends here, and no reader has to expect one.
    """
    for name in _PARTS:
        if name in data and not isinstance(data[name], dict):
            raise TypeError(f"its {name} is no JSON object")
    seen: Mapping[str, Any] = data.get("metadata", {})
    if missing := _FEWER.get(kind, _FORMS.keys()) - seen.keys():
        raise TypeError(f"its metadata has no {min(missing)}")
    for name in _FORMS:
        if name in seen:
            _check_elements(name, seen[name])
    for owner in seen.get("owners", ()):
        if any(type(owner.get(name)) is not form for name, form in _OWNER.items()):
            raise TypeError("an owner has no kind, name or uid, or does not say if it controls")


def _check_elements(name: str, found: Any) -> None:
    form, form_of_each, problem = _FORMS[name]
    if not isinstance(found, form):
        raise TypeError(f"its metadata.{name} is no {form.__name__}")
    for each in found.values() if form is dict else found:
        if not isinstance(each, form_of_each):
            raise TypeError(problem)


# --------------------------------------------------------------------------- kinds


def _unfit(name: str, part: Any) -> str:
    """Why a part of a projection cannot be a part of a fact; else nothing."""
    if isinstance(part, Unreadable):
        return part.why
    place = too_deep(part, FACT_DEPTH_MAX, name)
    return f"{place} nests more than {FACT_DEPTH_MAX} levels deep" if place else ""


def _left_of(obj: Obj, fit: Mapping[str, Any], why: str) -> Unreadable:
    """The parts of a projection that can be read; metadata is one always."""
    return Unreadable(why, fit if "metadata" in fit else {**fit, "metadata": metadata(obj)})


@dataclass(frozen=True, slots=True)
class Projection:
    """One kind of fact: where it goes and how it is made from the watched object.

    `project` gives None for an object that this kind of fact says nothing of.
    """

    kind: str
    topic: Topic
    project: Project

    def of(self, obj: Obj) -> Mapping[str, Any] | None:
        """What a fact of this kind says of an object; None where it says nothing of it.

        What cannot be projected, or nests too deep for the log, is an `Unreadable` with the parts
        that are left: metadata, and a status that can be read. Raises only for metadata that no API
        server sends.
        """
        try:
            data = self.project(obj)
        except ObjectUnreadable as problem:
            return _left_of(obj, {}, problem.why)
        except Exception as defect:  # noqa: BLE001 - a bad object concerns itself only
            return _left_of(obj, {}, f"it has not the form of its kind ({type(defect).__name__})")
        if data is None:
            return None
        problems = {name: why for name, part in data.items() if (why := _unfit(name, part))}
        if not problems:
            return data
        fit = {name: part for name, part in data.items() if name not in problems}
        return _left_of(obj, fit, "; ".join(problems.values()))


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """One list-watch of watch-ingest: the resource and the projections that it feeds."""

    group: str
    version: str
    plural: str
    projections: tuple[Projection, ...]
    namespaced: bool = True
    metadata_only: bool = False
    label_selector: str = ""


_OURS = f"{labels.APP}={labels.APP_VALUE}"
WATCHED: tuple[WatchedKind, ...] = (
    *(
        WatchedKind(
            GROUP,
            VERSION,
            each.plural,
            (Projection(each.kind, each.topic, projections.custom_resource),),
        )
        for each in CUSTOM_RESOURCES
    ),
    WatchedKind(
        "",
        "v1",
        "configmaps",
        (Projection("ConfigMap", RESOURCES, projections.metadata_only),),
        metadata_only=True,
        label_selector=_OURS,
    ),
    WatchedKind(
        "",
        "v1",
        "services",
        (Projection("Service", RESOURCES, projections.service),),
        label_selector=_OURS,
    ),
    WatchedKind(
        "",
        "v1",
        "pods",
        (
            Projection("Pod", RESOURCES, projections.pod),
            Projection("BoundPod", CLUSTER, projections.bound_pod),
        ),
    ),
    WatchedKind(
        "", "v1", "nodes", (Projection("Node", CLUSTER, projections.node),), namespaced=False
    ),
)

KINDS: Mapping[str, Projection] = {
    projection.kind: projection for watched in WATCHED for projection in watched.projections
}


def project(kind: str, obj: Obj) -> Mapping[str, Any] | None:
    """The projection of an object as a fact of `kind` would carry it."""
    return KINDS[kind].of(obj)
