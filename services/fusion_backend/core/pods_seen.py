"""Pods as the table has them, each field under one name, as `seen.py` has it of children.

A change of anything else of a pod wakes no job: `pod_shown` has what the functions here read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.moments import unix_s_of
from services.chassis.table.entries import Entry


def pod_phase_of(pod: Entry) -> str:
    """The phase of a pod."""
    return str(pod.data["phase"])


def started_at(pod: Entry) -> float | None:
    """Since when the container of a PE runs (unix seconds); None before."""
    found = pod.data.get("startedAt")
    return unix_s_of(found) if found else None


def node_of_pod(pod: Entry) -> str:
    """The node that a pod is bound to; empty before."""
    return str(pod.data["node"])


def resources_of_pod(pod: Entry) -> Mapping[str, Any]:
    """The resources that the container of a PE has, or is to have, in a pod."""
    return pod.data.get("resources") or {}


def held_resources(pod: Entry) -> Mapping[str, Any] | None:
    """What it has while its kubelet does not put others in force; None where it does."""
    return pod.data.get("heldResources")


def pending_resize(pod: Entry) -> str:
    """Why the kubelet does not put other resources in force, as it reports."""
    found = (each for each in pod.data["conditions"] if each["type"] == "PodResizePending")
    return next((f"{each['reason']}: {each['message']}" for each in found), "")


def is_unschedulable(pod: Entry) -> bool:
    """Whether a pod is on no node, because the scheduler found none for it."""
    return not node_of_pod(pod) and any(
        (each["type"], each["status"]) == ("PodScheduled", "False")
        for each in pod.data["conditions"]
    )


def pod_shown(pod: Entry) -> tuple[object, ...]:
    """All that decisions may look at: metadata, and what each function above reads."""
    return (
        pod.data["metadata"],
        pod_phase_of(pod),
        started_at(pod),
        node_of_pod(pod),
        resources_of_pod(pod),
        held_resources(pod),
        pending_resize(pod),
        is_unschedulable(pod),
    )
