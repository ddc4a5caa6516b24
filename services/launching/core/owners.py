"""What launches pods as decisions see it, and how its spec and status are read and written.

The fields of a status have one list, by which it is read and patched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from contracts import labels
from contracts.resources.conditions import StatedCondition
from contracts.resources.processing_element import PePhase
from services.chassis.table.entries import Entry, is_deleting
from services.launching.core.pods import Data, moment_in, number_in, restart_of


@dataclass(frozen=True, slots=True)
class RestartPolicies:
    """Which ends of a pod lead to a new launch, and how failed and hanging pods are treated.

    `restarts_max` limits restarts in a row, None: no limit. `failed_kept_s` and `failed_kept_max`
    limit failed pods that are kept; `failed_retention_s` is how long that of an owner which will
    not run again stays where failed pods are deleted. A hanging pod counts as gone `node_loss_s`
    after its deletion if its node is lost; with `force_relaunch` in any case.
    """

    restart_failed: bool = True
    restart_completed: bool = False
    restart_deleted: bool = False
    delete_failed: bool = True
    failed_kept_s: float = 86_400.0
    failed_kept_max: int = 3
    failed_retention_s: float = 3_600.0
    restarts_max: int | None = None
    node_loss_s: float = 300.0
    force_relaunch: bool = False


@dataclass(frozen=True, slots=True)
class LaunchStatus:
    """The status of an owner: the write-ahead log of its launches.

    `launch_count` is 0 before the first status. In phase Waiting, `launch_count` is the intended
    launch and `pod` the pod of the one before; else both are of the same launch. `restarts` counts
    restarts in a row and determines the back-off; the next is due at `next_restart` (RFC 3339).
    `observed_restart` is the value of the annotation that was answered last.
    """

    phase: PePhase = PePhase.WAITING
    launch_count: int = 0
    pod: str = ""
    node: str = ""
    content_id: str = ""
    generation: int | None = None
    observed_generation: int = 0
    restarts: int = 0
    reason: str = ""
    message: str = ""
    next_restart: str = ""
    observed_restart: str = ""
    connectivity: str = ""
    conditions: tuple[StatedCondition, ...] = ()

    def condition(self, type_: str) -> StatedCondition | None:
        """The condition of this type."""
        return next((each for each in self.conditions if each.type == type_), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner(ABC):
    """What launches pods, one at a time; `launch_floor` is `spec.launchCount`.

    `generation` is the plan generation that last wrote it, `metadata_generation` counts changes of
    its spec, and `resource_version` fences patches of its status. `restart` is the value of the
    annotation with which users request a launch.
    """

    noun: ClassVar[str]
    """The name of its kind in messages."""

    namespace: str
    name: str
    uid: str
    content_id: str
    launch_floor: int
    metadata_generation: int
    policies: RestartPolicies
    status: LaunchStatus
    resource_version: int = 0
    generation: int | None = None
    is_deleting: bool = False
    is_orphaning: bool = False
    restart: str = ""
    created_at: float = 0.0

    @abstractmethod
    def pod_name(self, launch: int) -> str:
        """The name of the pod of a launch; no other launch of any owner has it."""


def owner_fields(entry: Entry) -> dict[str, Any]:
    """The fields that all owners have. Raises KeyError or ValueError for one outside its schema."""
    meta, spec = entry.data["metadata"], entry.data["spec"]
    return {
        "namespace": entry.namespace,
        "name": entry.name,
        "uid": entry.uid,
        "content_id": str(spec.get("contentId") or ""),
        "launch_floor": int(spec.get("launchCount") or 0),
        "metadata_generation": int(meta["generation"]),
        "policies": policies_of(spec),
        "status": launch_status_of(entry.data["status"]),
        "resource_version": entry.resource_version,
        "generation": number_in(spec.get("generation", meta["labels"].get(labels.GENERATION))),
        "is_deleting": is_deleting(entry),
        "is_orphaning": is_orphaning(entry),
        "restart": restart_of(entry),
        "created_at": moment_in(meta["creationTimestamp"]),
    }


def policies_of(spec: Data) -> RestartPolicies:
    """The policies in a spec; a null `restartFailedPod` that nobody resolved means restartable."""
    restart_failed = spec.get("restartFailedPod")
    return RestartPolicies(
        restart_failed=True if restart_failed is None else bool(restart_failed),
        restart_completed=bool(spec.get("restartCompletedPod", False)),
        restart_deleted=bool(spec.get("restartDeletedPod", False)),
        delete_failed=bool(_given(spec, "deleteFailedPod", True)),
        failed_kept_s=float(_given(spec, "failedPodTimeToLiveInSeconds", 86_400)),
        failed_kept_max=int(_given(spec, "failedPodHistoryLimit", 3)),
        failed_retention_s=float(_given(spec, "failedPodRetentionSeconds", 3_600)),
        restarts_max=number_in(spec.get("maxRestartsInARow")),
        node_loss_s=float(_given(spec, "nodeLossTimeOutInSeconds", 300)),
        force_relaunch=bool(_given(spec, "forceRelaunch", False)),
    )


def _given(spec: Data, field: str, default: float) -> Any:
    """A field of a spec; null means its default."""
    value = spec.get(field)
    return default if value is None else value


def launch_status_of(status: Data) -> LaunchStatus:
    """The status that an owner records its launches in."""
    return LaunchStatus(
        phase=PePhase(status.get("phase") or PePhase.WAITING),
        launch_count=int(status.get("launchCount") or 0),
        pod=status.get("pod") or "",
        node=status.get("node") or "",
        content_id=status.get("contentId") or "",
        generation=number_in(status.get("generation")),
        observed_generation=int(status.get("observedGeneration") or 0),
        restarts=int(status.get("restarts") or 0),
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        next_restart=status.get("nextRestartTime") or "",
        observed_restart=status.get("observedRestart") or "",
        connectivity=status.get("connectivity") or "",
        conditions=tuple(StatedCondition.of(each) for each in status.get("conditions") or ()),
    )


FIELDS = {
    "phase": "phase",
    "launchCount": "launch_count",
    "pod": "pod",
    "node": "node",
    "contentId": "content_id",
    "generation": "generation",
    "observedGeneration": "observed_generation",
    "restarts": "restarts",
    "reason": "reason",
    "message": "message",
    "nextRestartTime": "next_restart",
    "observedRestart": "observed_restart",
    "connectivity": "connectivity",
}
"""The fields of a status, but its conditions, by the names of the API."""


def status_patch(before: LaunchStatus, after: LaunchStatus) -> dict[str, Any]:
    """The merge patch between two statuses; an empty text removes its field.

    It always has the phase: a status that was never written has none and is read as Waiting.
    """
    changed = {
        name: getattr(after, attribute)
        for name, attribute in FIELDS.items()
        if name == "phase" or getattr(before, attribute) != getattr(after, attribute)
    }
    patch: dict[str, Any] = {name: None if v == "" else v for name, v in changed.items()}
    if before.conditions != after.conditions:
        patch["conditions"] = [each.to_json() for each in after.conditions]
    return patch


def controller(entry: Entry, kind: str) -> tuple[str, str] | None:
    """(name, uid) of the controller owner, if it is of this kind."""
    for owner in entry.data["metadata"]["owners"]:
        if owner["controller"] and owner["kind"] == kind:
            return str(owner["name"]), str(owner["uid"])
    return None


def is_orphaning(entry: Entry) -> bool:
    """Whether the object is being deleted with propagation policy Orphan."""
    return labels.ORPHAN_FINALIZER in entry.data["metadata"]["finalizers"]
