"""Gathered values for the tests of `why`: a job with one PE, its pod and its node, and troubles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contracts.moments import unix_s_of
from history.entries import Entry
from history.why.gathered import Gathered, LogSeen, ServiceSeen
from services.roster import NAMES
from tests.builders import Builder, PodBuilder, a_job, a_node, a_pe, a_pod

Obj = dict[str, Any]
BEGAN = "2026-11-20T09:00:00Z"
SINCE = "2026-11-20T09:30:00Z"
NOW_S = unix_s_of("2026-11-20T10:00:00Z")


def condition(type_: str, status: str, reason: str = "", message: str = "") -> Obj:
    """A condition that changed half an hour ago."""
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": SINCE,
    }


def a_submitted_job(**status: object) -> Builder:
    """A job whose plan is in force; `status` has more fields."""
    fields: dict[str, object] = {
        "phase": "Submitted",
        "observedGeneration": 1,
        "message": "1 of 1 PE runs",
        "conditions": [condition("Healthy", "True", "AllRunning")],
    }
    return a_job().with_status(**{**fields, **status})


def an_ill_job(*more: Obj) -> Builder:
    """A job with a PE that does not run."""
    unwell = condition("Healthy", "False", "SomeNotRunning", "1 of 1 PE does not run: 0")
    return a_submitted_job(conditions=[unwell, *more])


def a_failed_job(reason: str, message: str) -> Builder:
    """A job whose attempt failed."""
    outlook = "; it is not tried again by itself: edit the Job, or give its annotation a new value"
    return a_submitted_job(
        phase="Failed",
        reason=reason,
        message=f"{message}{outlook}",
        conditions=[condition("Submitted", "False", reason, message)],
    )


def a_blocked_pe(reason: str, message: str, *, phase: str = "Starting", pe_id: int = 0) -> Builder:
    """A PE that does not run, for a reason."""
    blocked = condition("PodBlocked", "True", reason, message)
    found = a_pe(pe_id=pe_id).launched(1, phase=phase)
    return found.with_status(reason=reason, message=message, conditions=[blocked])


def a_running_pod(pe_id: int = 0) -> PodBuilder:
    """A pod that runs on node-1."""
    pod = a_pod(pe_id=pe_id).on_node("node-1").in_phase("Running")
    return pod.with_status(conditions=[condition("Ready", "True")])


def with_spec(pod: PodBuilder, **fields: object) -> PodBuilder:
    """The pod with fields of its spec."""
    return pod.with_spec(**fields)


@dataclass(frozen=True)
class Scene:
    """What there is; the question is about the Job unless `target` names another object."""

    things: tuple[Builder, ...]
    target: tuple[str, str] = ("Job", "shop")
    missing: frozenset[str] = frozenset()
    down: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Obj, ...] = ()
    claims: tuple[Obj, ...] = ()
    log: LogSeen = field(default_factory=LogSeen)
    services_known: bool = True

    def and_also(self, *things: Builder) -> Scene:
        """The same with more objects."""
        return replace(self, things=(*self.things, *things))

    def about(self, kind: str, name: str) -> Scene:
        """The same, about another object."""
        return replace(self, target=(kind, name))

    def with_log(self, *entries: Entry) -> Scene:
        """The same with entries of the log."""
        return replace(self, log=LogSeen(entries))

    def gathered(self) -> Gathered:
        """The frozen input of the rules."""
        objects: dict[str, tuple[Obj, ...]] = {"Event": self.events}
        objects["PersistentVolumeClaim"] = self.claims
        for each in self.things:
            objects[each.kind] = (*objects.get(each.kind, ()), each.build())
        services = tuple(
            ServiceSeen(
                name,
                "is stopped" if name in self.down else "",
                remedy=f"Start it: millrace service start {name}",
            )
            for name in NAMES
        )
        kind, name = self.target
        return Gathered(
            kind=kind,
            namespace="" if kind == "Node" else "default",
            name=name,
            now_s=NOW_S,
            objects=objects,
            missing=self.missing,
            services=services if self.services_known else None,
            log=self.log,
        )


def healthy() -> Scene:
    """A job that runs."""
    pe = a_pe().launched(1)
    return Scene((a_submitted_job(), pe, a_running_pod(), a_ready_node()))


def a_ready_node(name: str = "node-1") -> Builder:
    """A node that is ready since half an hour."""
    return a_node(name).with_status(conditions=[condition("Ready", "True")])


def ill(pe: Builder, *more: Builder, **fields: Any) -> Scene:
    """A job whose only PE does not run."""
    return Scene((an_ill_job(), pe, a_ready_node(), *more), **fields)


def claim(phase: str, **spec: object) -> Obj:
    """A claim named `data`."""
    return {
        "metadata": {"name": "data", "uid": "uid-data"},
        "spec": spec,
        "status": {"phase": phase},
    }


def event(of: Builder, reason: str, message: str) -> Obj:
    """A warning about an object."""
    meta = of.build()["metadata"]
    return {
        "metadata": {"name": f"{meta['name']}.1", "creationTimestamp": SINCE},
        "involvedObject": {"kind": of.kind, "name": meta["name"], "uid": meta["uid"]},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": SINCE,
    }
