"""What an autoscaler counts of a parallel region: exactly one pod of each channel, or no pod.

A HorizontalPodAutoscaler multiplies a ratio by the number of ready pods that `status.selector`
matches, so any other number of pods gives a wrong width. The plan says which PEs stand for a
channel (`channel_of`); they hand the label of it on to their pods.

1. A region can be counted if as many PEs stand for it as it has channels.
2. Regions with a PE in common: the one with the lowest index gets it. Kubernetes stops two
   autoscalers that select the same pod.
3. Pods of an older release lack the label. Until they are launched again, the region matches none.

Elsewhere the selector matches no pod. It is not empty: that would stop every kind of metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from contracts import labels
from contracts.belonging import Root
from contracts.reasons import Reason
from contracts.resources import JOB
from planner.numbering.records import PlanRecord, RegionRecord
from planner.refusals import counted as counted_text
from planner.refusals import shown
from services.chassis.table.entries import Entry, is_deleting
from services.fusion_backend.core.effects import DesiredCondition
from services.fusion_backend.core.seen import labels_of
from services.fusion_backend.core.snapshot import JobSeen, Snapshot

SCALABLE: Final = "Scalable"
_NONE: Final = "none"
"""The value of the label in a selector that matches no pod: labels of pods have `true`."""
_NO_PODS: Final = (
    "autoscalers get no pods: CPU, pod and Value metrics fail, AverageValue metrics and KEDA work"
)


@dataclass(frozen=True, slots=True)
class Counting:
    """The selector of a region's status, and its condition Scalable."""

    selector: str
    scalable: DesiredCondition


def counting(snapshot: Snapshot, record: PlanRecord) -> Mapping[int, Counting]:
    """What autoscalers count of each region of a plan, by the region's index."""
    assert snapshot.job is not None, "regions belong to a Job"
    stands = _pes_by_region(record)
    taken: dict[int, RegionRecord] = {}
    found: dict[int, Counting] = {}
    for region in record.regions:
        pes = stands[region.index]
        why = _why_none(snapshot, record, region, pes, taken)
        if not why or why.reason is Reason.CHANNELS_UNMARKED:
            taken |= dict.fromkeys(pes, region)
        scalable = why or DesiredCondition(SCALABLE, "True", Reason.CHANNELS_COUNTED)
        selector = _selector(snapshot.job, region, f"={_NONE}" if why else "")
        found[region.index] = Counting(selector, scalable)
    return found


def _selector(job: JobSeen, region: RegionRecord, value: str) -> str:
    role = f"{labels.SERVICE_ROLE}={labels.ROLE_PE}"
    channel = f"{labels.channel_label(region.index)}{value}"
    return f"{Root(JOB.kind, job.name).selector_of_uid(job.uid)},{role},{channel}"


def _pes_by_region(record: PlanRecord) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {region.index: [] for region in record.regions}
    for pe in record.pes:
        for index in pe.channel_of or ():
            found[index].append(pe.id)
    return found


def _why_none(
    snapshot: Snapshot,
    record: PlanRecord,
    region: RegionRecord,
    pes: list[int],
    taken: Mapping[int, RegionRecord],
) -> DesiredCondition | None:
    """Why no pod of a region is counted; None if its pods are."""
    if any(pe.channel_of is None for pe in record.pes):
        text = f"the plan of an older release marks no pods: {_NO_PODS}; resize a region once"
        return _not_scalable(Reason.CHANNELS_UNMARKED, text)
    if len(pes) != region.width:
        return _not_scalable(
            Reason.CHANNELS_SHARED, f"{_of_shared(record)}: {_NO_PODS}{_how(record)}"
        )
    if other := next((taken[pe] for pe in pes if pe in taken), None):
        text = f"pods of its channels stand for parallel region {shown(other.name)}: {_NO_PODS}"
        return _not_scalable(Reason.CHANNELS_SHARED, f"{text}{_how(record)}")
    if unmarked := [pe for pe in pes if _is_unmarked(snapshot, pe, region)]:
        text = (
            f"{counted_text(len(unmarked), 'pod')} of an older release lack the label"
            f" {labels.channel_label(region.index)}: {_NO_PODS}; give the annotation"
            f" {labels.RESTART} of their PEs a new value: {_listed(snapshot, unmarked)}"
        )
        return _not_scalable(Reason.CHANNELS_UNMARKED, text)
    return None


def _not_scalable(reason: Reason, text: str) -> DesiredCondition:
    return DesiredCondition(SCALABLE, "False", reason, text)


def _of_shared(record: PlanRecord) -> str:
    return "channels share pods" if len(record.pes) > 1 else "all channels share one pod"


def _how(record: PlanRecord) -> str:
    if record.fusion.type == "channelIsolation":
        return ""
    return "; submit the job with spec.fusion.type channelIsolation for a pod of each channel"


def _is_unmarked(snapshot: Snapshot, pe: int, region: RegionRecord) -> bool:
    key = labels.channel_label(region.index)
    return any(key not in labels_of(pod) and _counts(pod) for pod in snapshot.pods.get(pe, ()))


def _counts(pod: Entry) -> bool:
    """Whether it is a PE's pod: neither leaving, nor a failed one that is kept for its logs."""
    is_zombie = labels_of(pod).get(labels.SERVICE_ROLE) == labels.ROLE_ZOMBIE
    return not is_deleting(pod) and not is_zombie


def _listed(snapshot: Snapshot, pes: list[int]) -> str:
    names = [labels.pe_name(snapshot.name, pe) for pe in pes[:_LISTED_MAX]]
    return ", ".join(names) + (" …" if len(pes) > _LISTED_MAX else "")


_LISTED_MAX: Final = 10
