"""The shares of PEs in the resources of a job: after a resize they add up to the whole again.

1. Where the cluster resizes pods in place, each PE of a new plan gets an equal share. A PE that the
   resize does not change otherwise is marked (`spec.resizesInPlace`), and its pod takes the share
   while it runs. Kubernetes resizes CPU and memory alone: other resources count as "cannot".
2. Else such PEs keep their share, and what is left is divided among those that the resize adds or
   changes. Where that is nearly nothing, these get an equal share as well.
3. What pods have then may be more than the whole: `excess` says by how much, and whose pods.

Properties: which PEs keep their share follows from the plan record and the stamps of the PEs, so
that it is the same after a crash. Whether the cluster can is an observation of this start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from contracts import labels
from contracts.resources.processing_element import RESIZED_IN_PLACE
from contracts.scheduling.quantities import EXACT, quantity_of
from contracts.scheduling.requests import (
    CPU,
    RESIZED,
    amount_of,
    differ_in_place,
    with_default_requests,
)
from planner.numbering.records import PeRecord
from services.chassis.table.entries import Entry, annotation, is_deleting
from services.fusion_backend.core.pods_seen import (
    held_resources,
    pending_resize,
    pod_phase_of,
    resources_of_pod,
)
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot, stamp_of
from services.fusion_backend.core.spec.dividing import share_of_job, unit_of
from services.fusion_backend.core.spec.inputs import spec_in_force

Json = Mapping[str, Any]
PARTS: Final = ("limits", "requests")
LEAST_PART: Final = 10
"""What is left counts as nothing if it makes less than this part of an equal share: rounding of the
shares before always leaves a little."""
_ENDED: Final = ("Succeeded", "Failed")
Field = tuple[str, str]
"""`limits` or `requests`, and the name of a resource."""


@dataclass(frozen=True)
class Shares:
    """How the PEs of a plan share the resources of their job; empty where it has none."""

    snapshot: Snapshot
    plan: KnownPlan

    @cached_property
    def whole(self) -> Json:
        """`resources` of the Job, as the plan was made with."""
        job = self.snapshot.job
        spec = spec_in_force(self.plan.inputs, job.spec) if job is not None else {}
        given = spec.get("resources") or {}
        return {part: given[part] for part in PARTS if given.get(part)}

    @property
    def fields(self) -> Iterator[tuple[Field, object]]:
        """Each amount of the whole."""
        for part, amounts in self.whole.items():
            for name, amount in amounts.items():
                yield (part, name), amount

    @cached_property
    def equal(self) -> dict[str, Any]:
        """An equal share."""
        return share_of_job(self.whole, len(self.plan.record.pes))

    @property
    def is_in_place(self) -> bool:
        """Whether pods that run take their new share."""
        return self.is_resizable and self.snapshot.resizes_in_place is True

    @property
    def is_resizable(self) -> bool:
        """Whether Kubernetes can change all of it in a pod that runs."""
        return bool(self.whole) and all(name in RESIZED for (_, name), _ in self.fields)

    # ------------------------------------------------------------------ what is written

    @cached_property
    def outdated(self) -> frozenset[str]:
        """The PEs that only their share distinguishes from what the plan says."""
        if not self.whole:
            return frozenset()
        return frozenset(
            name for name, entry in self._kept.items() if PeSeen(entry).resources != self.equal
        )

    @property
    def to_patch(self) -> frozenset[str]:
        """The PEs that get their new share without a launch."""
        return self.outdated if self.is_in_place else frozenset()

    @property
    def is_unknown(self) -> bool:
        """Whether it has to be found out first whether pods are resized in place."""
        is_known = self.snapshot.resizes_in_place is not None
        return self.is_resizable and not is_known and bool(self.outdated)

    def of_new(self) -> dict[str, Any]:
        """The share of a PE that is created or changed; empty where the job has no resources."""
        if not self.whole or self.is_in_place or not self._kept:
            return self.equal
        fresh = len(self.plan.record.pes) - len(self._kept)
        share: dict[str, Any] = {part: dict(amounts) for part, amounts in self.equal.items()}
        for (part, name), amount in self.fields:
            left = self._left((part, name), amount, fresh)
            if left:
                share[part][name] = left
        return share

    @cached_property
    def _kept(self) -> Mapping[str, Entry]:
        """The PEs that the plan does not change and that an earlier plan wrote."""
        entries = self.snapshot.of("ProcessingElement")
        found = ((pe, entries.get(pe.name)) for pe in self.plan.record.pes)
        return {
            pe.name: entry for pe, entry in found if entry is not None and self._is_kept(pe, entry)
        }

    def _is_kept(self, pe: PeRecord, entry: Entry) -> bool:
        if entry.unreadable or is_deleting(entry) or PeSeen(entry).content_id != pe.content_id:
            return False
        return stamp_of(entry) < self.plan.record.generation

    def _left(self, field: Field, whole: object, parts: int) -> str:
        """The part of what is left that one of `parts` PEs gets; empty if that is nothing."""
        part, name = field
        equal, kept = _value(self.equal[part][name]), Decimal(0)
        total = _value(whole)
        if total is None or not equal or parts < 1:
            return ""
        for entry in self._kept.values():
            held = (PeSeen(entry).resources.get(part) or {}).get(name, 0)
            kept = EXACT.add(kept, _value(held) or Decimal(0))
        left = EXACT.divide(EXACT.subtract(total, kept), Decimal(parts))
        if EXACT.multiply(left, Decimal(LEAST_PART)) < equal:
            return ""
        if name == CPU:
            return f"{int(EXACT.multiply(left, Decimal(1000)))}m"
        unit = unit_of(name) or Decimal(1)
        return f"{unit * int(EXACT.divide(left, unit)):f}" if left >= unit else ""

    # ------------------------------------------------------------------ what pods have

    @cached_property
    def unsettled(self) -> list[int]:
        """PEs whose pod is about to take its share in place."""
        if not self.whole:
            return []
        entries = self.snapshot.of("ProcessingElement")
        found = ((pe, entries.get(pe.name)) for pe in self.plan.record.pes)
        return [pe.id for pe, entry in found if entry is not None and self._is_unsettled(pe, entry)]

    def _is_unsettled(self, pe: PeRecord, entry: Entry) -> bool:
        if entry.unreadable or not PeSeen(entry).resizes_in_place or refusal_of(entry):
            return False
        pod = self._pod(pe)
        if pod is None or held_resources(pod) is not None:
            return False
        return differ_in_place(PeSeen(entry).resources, resources_of_pod(pod))

    def _pod(self, pe: PeRecord) -> Entry | None:
        """The pod of a PE that runs what the plan says."""
        for pod in self.snapshot.pods.get(pe.id, ()):
            is_ended = pod_phase_of(pod) in _ENDED or is_deleting(pod)
            if not is_ended and annotation(pod, labels.CONTENT_ID) == pe.content_id:
                return pod
        return None

    @cached_property
    def held(self) -> Mapping[int, Json]:
        """What the pod of each PE has, or would get."""
        entries = self.snapshot.of("ProcessingElement")
        found: dict[int, Json] = {}
        for pe in self.plan.record.pes:
            pod, entry = self._pod(pe), entries.get(pe.name)
            if pod is not None and (given := resources_of_pod(pod)):
                found[pe.id] = held_resources(pod) or given
            elif entry is not None and not entry.unreadable:
                found[pe.id] = with_default_requests(PeSeen(entry).resources)
        return found

    @cached_property
    def excess(self) -> tuple[tuple[Field, int, int], ...]:
        """What pods have more of than the job: field, what they have, and what the job has.

        Less than a unit for each pod (1m of CPU, a byte) is rounding: the API server rounds up.
        """
        found: list[tuple[Field, int, int]] = []
        for (part, name), amount in self.fields:
            amounts = (
                amount_of(name, (each.get(part) or {}).get(name, 0)) for each in self.held.values()
            )
            has, whole = sum(amounts), amount_of(name, amount)
            if has - whole >= len(self.held):
                found.append(((part, name), has, whole))
        return tuple(found)

    def too_large(self, field: Field) -> list[int]:
        """The PEs whose pods have more than an equal share."""
        part, name = field
        equal = amount_of(name, self.equal[part][name])
        return [
            pe
            for pe, each in self.held.items()
            if amount_of(name, (each.get(part) or {}).get(name, 0)) > equal
        ]

    def obstacles(self) -> Iterator[tuple[str, str]]:
        """The PEs whose pods do not take their share, and why."""
        entries = self.snapshot.of("ProcessingElement")
        for pe in self.plan.record.pes:
            entry, pod = entries.get(pe.name), self._pod(pe)
            if entry is None or entry.unreadable or pod is None:
                continue
            if why := pending_resize(pod):
                yield pe.name, f"Pod {pod.name} keeps its resources: {why}"
            elif refused := refusal_of(entry):
                yield pe.name, refused


def refusal_of(entry: Entry) -> str:
    """Why the API server refused the resources of a PE for its pod; empty if it did not."""
    for each in PeSeen(entry).status.get("conditions") or ():
        is_refusal = (each.get("type"), each.get("status")) == (RESIZED_IN_PLACE, "False")
        if is_refusal and each.get("observedGeneration") == PeSeen(entry).spec_generation:
            return str(each.get("message") or "")
    return ""


def _value(written: object) -> Decimal | None:
    quantity = quantity_of(written)
    return None if quantity is None else quantity.value
