"""A pod of an owner as decisions see it, and how it is read from its projection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts import labels
from contracts.belonging import container_of, uid_labelled
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from contracts.resources.fields import TEXT_CHARS_MAX
from contracts.showing import shown
from services.chassis.running.stage import EndedWith
from services.chassis.table.entries import Entry, annotation, is_deleting, label

Data = Mapping[str, Any]
POD_TEXT_CHARS_MAX = 1_024
"""Limit for text of pods, containers and conditions, which may have any length."""
DISRUPTED_BY_ITSELF = "TerminationByKubelet"
"""The kubelet evicted the pod, mostly because it used too much."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of an owner; times are in unix seconds, 0 if unknown.

    Its phase is that of the container that runs the owner (`contracts/pod_phases.py`): sidecars of
    its template may run on, or have failed.

    `disruption`: why the cluster removes it (eviction, preemption, drain), which is a failure and
    no request to stop the owner. `deletion_due_at` is its deletion timestamp: when it should be
    gone. `blocked` is why a pending pod does not start. `restart` is the value of the owner's
    annotation that its launch answered. `pinned_to` is the node that it was made for, whether or
    not it is there; empty for a pod that may run anywhere. `unready_since` is since when it is on
    its node without being ready to start its containers; 0 if it is ready. `started_at` is when the
    container that runs the owner started, in whole seconds; 0 before it runs. `resources` are those
    of the container that runs the owner, and `is_resize_pending` is whether its kubelet does not
    put them in force.
    """

    name: str
    uid: str
    owner_uid: str
    launch: int
    content_id: str
    phase: str
    is_deleting: bool = False
    disruption: str = ""
    disruption_message: str = ""
    generation: int | None = None
    node: str = ""
    created_at: float = 0.0
    finished_at: float = 0.0
    deletion_due_at: float = 0.0
    deletion_grace_s: float | None = None
    job_uid: str = ""
    problem: str = ""
    blocked: Reason | None = None
    is_unreported: bool = False
    is_set_aside: bool = False
    restart: str = ""
    pinned_to: str = ""
    unready_since: float = 0.0
    started_at: float = 0.0
    resources: Data = field(default_factory=dict)
    is_resize_pending: bool = False

    @property
    def is_disrupted(self) -> bool:
        """Whether the cluster removed it, or is about to."""
        return bool(self.disruption)

    @property
    def is_forced(self) -> bool:
        """Whether it was deleted by force, so that only finalizers hold it."""
        return self.is_deleting and self.deletion_grace_s == 0

    @property
    def ended_by_itself(self) -> bool:
        """Whether it ended before its deletion was requested."""
        # deletionTimestamp is the time of the request plus the grace period.
        requested_at = self.deletion_due_at - (self.deletion_grace_s or 0.0)
        return self.is_over and (not self.is_deleting or 0.0 < self.finished_at < requested_at)

    @property
    def is_over(self) -> bool:
        """Whether the owner does not run in it any more."""
        return self.phase in ("Succeeded", "Failed")


def pod_of(entry: Entry, owner_uid: str) -> Pod:
    """A pod that the owner with this uid controls."""
    data, meta = entry.data, entry.data["metadata"]
    disruption = _condition(data, "DisruptionTarget", "True")
    grace_s = data.get("deletionGracePeriodSeconds")
    return Pod(
        name=entry.name,
        uid=entry.uid,
        owner_uid=owner_uid,
        launch=number_in(label(entry, labels.LAUNCH_COUNT)) or 0,
        content_id=str(meta["annotations"].get(labels.CONTENT_ID, "")),
        phase=data["phase"],
        is_deleting=is_deleting(entry),
        disruption=shown(disruption["reason"] or "DisruptionTarget") if disruption else "",
        disruption_message=shown(disruption["message"], POD_TEXT_CHARS_MAX) if disruption else "",
        generation=number_in(label(entry, labels.GENERATION)),
        node=data["node"],
        created_at=moment_in(meta["creationTimestamp"]),
        finished_at=_finished_at(data),
        deletion_due_at=moment_in(meta["deletionTimestamp"]),
        deletion_grace_s=None if grace_s is None else float(grace_s),
        job_uid=uid_labelled(entry.kind, data),
        problem=shown(_problem(data), POD_TEXT_CHARS_MAX),
        blocked=_blocked(data),
        is_unreported=_is_unreported(data),
        is_set_aside=label(entry, labels.SERVICE_ROLE) == labels.ROLE_ZOMBIE,
        restart=restart_of(entry),
        pinned_to=annotation(entry, labels.ASSIGNED_NODE),
        unready_since=moment_in(data.get("notReadyToStartSince")),
        started_at=moment_in(data.get("startedAt")),
        resources=data.get("resources") or {},
        is_resize_pending="heldResources" in data,
    )


def _finished_at(data: Data) -> float:
    """When the container of the owner ended, else the last of the others; 0 if none has."""
    ends = {each["name"]: moment_in(each.get("finishedAt")) for each in data["containers"]}
    return ends.get(container_of(data)) or max(ends.values(), default=0.0)


def _problem(data: Data) -> str:
    """The problem in the status of a pod that failed or does not start; empty if it has none."""
    if data["phase"] == "Pending":
        return _blocking_message(data)
    if data["phase"] != "Failed":
        return ""
    # Sidecars come last: many end with an error because the owner has ended.
    own = container_of(data)
    containers = sorted(data["containers"], key=lambda each: each["name"] != own)
    parts = [data["message"] or data["reason"]]
    parts += [_ended(each) for each in containers if each["exitCode"]]
    return " ".join(part for part in parts if part)


def _ended(container: Data) -> str:
    """How a container ended, with what it wrote last, such as `StateRefused: …` of our runtime."""
    what = f"{container['reason'] or 'Error'}, exit code {container['exitCode']}"
    last = container.get("lastLine", "").removesuffix(".")
    return f"Container {container['name']}: {what}{f': {last}' if last else ''}."


_PULLING = frozenset(
    (
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    )
)
_ON_THE_WAY = frozenset(("", "ContainerCreating", "PodInitializing"))


def _blocked(data: Data) -> Reason | None:
    """Why a pending pod does not start; None if it does or its status has no reason."""
    if data["phase"] != "Pending":
        return None
    if _condition(data, "PodScheduled", "False"):
        return Reason.UNSCHEDULABLE
    waits = {each["waiting"] for each in data["containers"]} - _ON_THE_WAY
    if waits & _PULLING:
        return Reason.IMAGE_PULL_FAILED
    return Reason.CONTAINER_NOT_STARTED if waits else None


def _blocking_message(data: Data) -> str:
    unscheduled = _condition(data, "PodScheduled", "False")
    if unscheduled:
        return str(unscheduled["message"])
    return " ".join(
        f"Container {each['name']}: {each['waiting']}: {each.get('waitingMessage', '')}".rstrip(
            ": "
        )
        for each in data["containers"]
        if each["waiting"] not in _ON_THE_WAY
    )


def _is_unreported(data: Data) -> bool:
    """Whether the state of a pod that may run is unknown: its kubelet does not report."""
    unready = _condition(data, "Ready", "False")
    is_cut_off = unready is not None and unready["reason"] == "NodeNotReady"
    return data["phase"] == "Unknown" or (data["phase"] == "Running" and is_cut_off)


def _condition(data: Data, type_: str, status: str) -> Data | None:
    """The pod's condition of this type, if it has this status."""
    found = (each for each in data["conditions"] if each["type"] == type_)
    return next((each for each in found if each["status"] == status), None)


def restart_of(entry: Entry) -> str:
    """The value of the restart annotation, cut to what a status can hold for comparison."""
    return annotation(entry, labels.RESTART)[:TEXT_CHARS_MAX]


def moment_in(text: object) -> float:
    """A timestamp of the API in unix seconds; 0 if it is absent."""
    return unix_s_of(str(text)) if text else 0.0


def number_in(text: object) -> int | None:
    """A decimal number in a label or field; None for anything else."""
    return int(str(text)) if text is not None and str(text).isdecimal() else None


def launch_ended(pod: Entry | None) -> tuple[EndedWith, ...]:
    """The span of a launch, from the creation of its pod; none for a pod that cannot be read."""
    if pod is None or pod.unreadable:
        return ()
    return (EndedWith("launch", unix_s_of(pod.data["metadata"]["creationTimestamp"])),)
