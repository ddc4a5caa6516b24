"""One object as the rules look at it: names, spec, status, conditions. Never raises.

A field that is absent, unreadable or of another type than its schema says is empty: objects of
others are judged here, too, such as pods and nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.belonging import container_of, is_root, owns_pods
from contracts.moments import unix_s_of
from contracts.pod_phases import phase_in
from contracts.reasons import Reason, reason_of
from contracts.resources import JOB, PROCESSING_ELEMENT
from contracts.unreadable import ObjectUnreadable, is_whole

Obj = Mapping[str, Any]
READY: Final = "Ready"


def mapping_of(value: object) -> Obj:
    """The value if it is an object of JSON that can be read, else an empty one."""
    return value if isinstance(value, Mapping) and is_whole(value) else {}


def items_of(value: object) -> tuple[Obj, ...]:
    """The objects in a list of JSON."""
    return tuple(map(mapping_of, value)) if isinstance(value, list | tuple) else ()


def number_of(value: object) -> int:
    """The value if it is a whole number, else 0."""
    return value if isinstance(value, int) else 0


def moment_s(value: object) -> float | None:
    """A moment of the API in unix seconds; None for any other value."""
    try:
        return unix_s_of(str(value)) if value else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a status; `since_s`: when its status last changed (unix seconds)."""

    type: str
    status: str
    reason: str
    message: str
    since_s: float | None

    @property
    def known(self) -> Reason | None:
        """Its reason, if it is one of ours."""
        return reason_of(self.reason)


@dataclass(frozen=True, slots=True)
class Thing:
    """An object and its kind, which items of a list do not name."""

    kind: str
    obj: Obj

    def part(self, name: str) -> Obj:
        """The field of that name, such as `spec`."""
        try:
            return mapping_of(self.obj.get(name))
        except ObjectUnreadable:
            return {}

    @property
    def meta(self) -> Obj:
        """Its metadata."""
        return self.part("metadata")

    @property
    def spec(self) -> Obj:
        """Its spec."""
        return self.part("spec")

    @property
    def status(self) -> Obj:
        """Its status."""
        return self.part("status")

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.meta.get("name") or "")

    @property
    def namespace(self) -> str:
        """Its namespace; empty for a node."""
        return str(self.meta.get("namespace") or "")

    @property
    def title(self) -> str:
        """Kind and name, for people."""
        return f"{self.kind} {self.name}"

    @property
    def role(self) -> str:
        """The kind that the rules take it for: a root for a Job, what owns pods for a PE."""
        if is_root(self.kind):
            return JOB.kind
        return PROCESSING_ELEMENT.kind if owns_pods(self.kind) else self.kind

    @property
    def labels(self) -> Obj:
        """Its labels."""
        return mapping_of(self.meta.get("labels"))

    @property
    def phase(self) -> str:
        """The phase in its status; of a pod, that of its owner."""
        phase = str(self.status.get("phase") or "")
        return (
            phase_in(self.status, container_of(self.obj)) if phase and self.kind == "Pod" else phase
        )

    @property
    def reason(self) -> str:
        """The reason in its status."""
        return str(self.status.get("reason") or "")

    @property
    def message(self) -> str:
        """The message in its status."""
        return str(self.status.get("message") or "")

    @property
    def created_s(self) -> float | None:
        """When it was created (unix seconds)."""
        return moment_s(self.meta.get("creationTimestamp"))

    @property
    def deleted_s(self) -> float | None:
        """When its deletion was requested or, with a grace period, is due; None if it was not."""
        return moment_s(self.meta.get("deletionTimestamp"))

    @property
    def is_deleting(self) -> bool:
        """Whether its deletion was requested."""
        return bool(self.meta.get("deletionTimestamp"))

    @property
    def finalizers(self) -> tuple[str, ...]:
        """What keeps it after its deletion was requested."""
        found = self.meta.get("finalizers")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def is_observed(self) -> bool:
        """Whether its status is of the newest spec; True for a kind that does not count them."""
        observed = self.status.get("observedGeneration")
        if not isinstance(observed, int):
            return any(self.status.values())
        return observed >= number_of(self.meta.get("generation"))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of its status."""
        return tuple(_condition(each) for each in items_of(self.status.get("conditions")))

    def condition(self, type_: str, status: str) -> Condition | None:
        """The condition of a type, if it has this status."""
        found = (each for each in self.conditions if each.type == type_)
        return next((each for each in found if each.status == status), None)


def _condition(value: Obj) -> Condition:
    type_, status, reason, message = (
        str(value.get(key) or "") for key in ("type", "status", "reason", "message")
    )
    return Condition(type_, status, reason, message, moment_s(value.get("lastTransitionTime")))


def things_of(kind: str, objects: Iterable[Obj]) -> tuple[Thing, ...]:
    """Objects of a kind, by name."""
    return tuple(sorted((Thing(kind, each) for each in objects), key=lambda each: each.name))
