"""One question: the object, and what of its job belongs to it.

A pod leads to its PE, and a PE to its Job: rules look at what the object waits for. They do not
look at its neighbours: another PE is no cause, but for a Job, which has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from contracts import labels
from contracts.belonging import controller, labelled, owns_pods, roots
from contracts.facts import project
from contracts.reasons import Reason
from contracts.resources import JOB as JOB_ROW
from contracts.unreadable import ObjectUnreadable
from history.why.gathered import Gathered, ServiceSeen
from history.why.things import READY, Condition, Thing, items_of, mapping_of, number_of, things_of
from services.chassis.table.entries import Entry
from services.launching.core.pods import Pod, pod_of

JOB: Final = JOB_ROW.kind
PE: Final = "ProcessingElement"
REGION: Final = "ParallelRegion"
POOL: Final = "HostPool"
PLACEMENT: Final = "Placement"
POD: Final = "Pod"
NODE: Final = "Node"
EVENT: Final = "Event"
RUNS: Final = frozenset({"Running", "Completed"})


@dataclass(frozen=True)
class Case:
    """What the rules look at; everything is a function of what was gathered."""

    gathered: Gathered

    def of(self, kind: str) -> tuple[Thing, ...]:
        """All gathered objects of a kind, by name."""
        return self._things.get(kind, ())

    def named(self, kind: str, name: str) -> Thing | None:
        """The gathered object of a kind and name."""
        return self._named.get((kind, name))

    @cached_property
    def _things(self) -> Mapping[str, tuple[Thing, ...]]:
        return {kind: things_of(kind, each) for kind, each in self.gathered.objects.items()}

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Thing]:
        return {(kind, each.name): each for kind, found in self._things.items() for each in found}

    @cached_property
    def _by_pe(self) -> Mapping[tuple[str, str], tuple[Thing, ...]]:
        """PEs and pods, by their role and what names the PE."""
        found: dict[tuple[str, str], list[Thing]] = {}
        for each in (*self._owners, *sorted(self.of(POD), key=_launch_of)):
            if named := _pe_named(each):
                found.setdefault((each.role, named), []).append(each)
        return {key: tuple(each) for key, each in found.items()}

    @property
    def kinds_with_pods(self) -> tuple[str, ...]:
        """The gathered kinds of what owns pods."""
        return tuple(filter(owns_pods, self._things))

    @cached_property
    def _owners(self) -> tuple[Thing, ...]:
        """What owns pods: PEs, and what is like them in another root."""
        return tuple(each for kind in self.kinds_with_pods for each in self.of(kind))

    @cached_property
    def _events(self) -> Mapping[tuple[str, str], tuple[Thing, ...]]:
        """Events by the object that they are about, newest first."""
        found: dict[tuple[str, str], list[Thing]] = {}
        for each in sorted(self.of(EVENT), key=event_time, reverse=True):
            about = mapping_of(each.obj.get("involvedObject"))
            found.setdefault((str(about.get("kind")), str(about.get("name"))), []).append(each)
        return {key: tuple(each) for key, each in found.items()}

    @cached_property
    def target(self) -> Thing:
        """The object of the question."""
        found = self.named(self.gathered.kind, self.gathered.name)
        return found or Thing(self.gathered.kind, {"metadata": {"name": self.gathered.name}})

    @property
    def is_of_job(self) -> bool:
        """Whether the question is about a whole job, or another root."""
        return self.target.role == JOB

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return self.gathered.namespace

    @cached_property
    def job(self) -> Thing | None:
        """The Job of the object, or another root; None for what has none."""
        return next((each for kind in roots() for each in self.of(kind)), None)

    @property
    def job_name(self) -> str:
        """The name of the job; empty without one."""
        root = labelled(self.target.kind, self.target.obj)
        named = root.name if root is not None else ""
        return self.job.name if self.job is not None else named

    @cached_property
    def placement(self) -> Thing | None:
        """The Placement of the job."""
        return next(iter(self.of(PLACEMENT)), None)

    @cached_property
    def pes(self) -> tuple[Thing, ...]:
        """The PEs that belong to the question, in the order of their ids."""
        found = self._owners
        if self.target.role in (PE, POD):
            found = tuple(self._by_pe.get((PE, _pe_named(self.target)), ()))
        return tuple(sorted(found, key=lambda each: number_of(each.spec.get("id"))))

    @cached_property
    def regions(self) -> tuple[Thing, ...]:
        """The parallel regions that belong to the question: of a job all of them."""
        if self.target.kind == REGION:
            return (self.target,)
        return self.of(REGION) if self.is_of_job else ()

    @cached_property
    def pods(self) -> tuple[Thing, ...]:
        """The pods that belong to the question, the newest launch of a PE last."""
        if self.target.kind == NODE:
            return ()
        if self.target.kind == POD:
            return (self.target,)
        return tuple(pod for pe in self.pes for pod in self.pods_of(pe))

    def pods_of(self, pe: Thing) -> tuple[Thing, ...]:
        """The pods of a PE in the order of their launches."""
        return self._by_pe.get((POD, _pe_named(pe) or str(pe.spec.get("id"))), ())

    def pod_of(self, pe: Thing) -> Thing | None:
        """The newest pod of a PE."""
        return next(reversed(self.pods_of(pe)), None)

    def pe_of(self, pod: Thing) -> Thing | None:
        """The PE of a pod."""
        return next(iter(self._by_pe.get((PE, _pe_named(pod)), ())), None)

    def node(self, name: str) -> Thing | None:
        """A node; None if it does not exist, or nodes could not be read."""
        return self.named(NODE, name)

    def is_gone(self, node: str) -> bool:
        """Whether it is known that a node does not exist."""
        return bool(node) and f"{NODE}/{node}" in self.gathered.missing

    def is_away(self, name: str) -> bool:
        """Whether a node does not exist, or nobody reports what runs there."""
        node = self.node(name)
        return self.is_gone(name) or (node is not None and unready(node) is not None)

    @cached_property
    def idle(self) -> tuple[Thing, ...]:
        """The PEs of the question that neither run nor have completed."""
        return tuple(pe for pe in self.pes if not self.runs(pe))

    def runs(self, pe: Thing) -> bool:
        """Whether a PE runs or has completed; its pod is newer than its status."""
        pod = self.pod_of(pe)
        if pod is None or pod.is_deleting:
            return pe.phase == "Completed"
        seen = self.as_launch(pod)
        is_silent = seen is not None and seen.is_unreported
        is_lost = is_silent or self.is_away(str(pod.spec.get("nodeName") or ""))
        return pod.phase == "Succeeded" or (pod.phase == "Running" and not is_lost)

    def lacks_connections(self, thing: Thing) -> bool:
        """Whether a PE that runs, or the status of a job, reports that connections are missing."""
        if thing.kind == JOB:
            healthy = thing.condition("Healthy", "False")
            return healthy is not None and healthy.known is Reason.SOME_NOT_CONNECTED
        is_missing = thing.status.get("connectivity") in ("None", "Partial")
        return thing.kind == PE and is_missing and self.runs(thing)

    def as_launch(self, pod: Thing) -> Pod | None:
        """A pod as decisions on launches see it; None for one of others, or one without form."""
        return _as_launch(pod)

    def events_of(self, thing: Thing, *reasons: str) -> tuple[Thing, ...]:
        """The warnings about an object, newest first; all, or those of some reasons."""
        found = self._events.get((thing.kind, thing.name), ())
        return tuple(
            each
            for each in found
            if _is_about(each, thing) and (not reasons or each.obj.get("reason") in reasons)
        )

    def down(self, *names: str) -> ServiceSeen | None:
        """The first of these services that does not run or is not ready."""
        by_name = {each.name: each for each in self.gathered.services or ()}
        found = (by_name[name] for name in names if name in by_name)
        return next((each for each in found if each.problem), None)

    def first_pod(self, holds: Callable[[Pod], bool]) -> Thing | None:
        """The first of the newest pods that do not run, for which a condition holds."""
        for pod in self.newest_pods:
            seen = self.as_launch(pod)
            if seen is not None and holds(seen):
                return pod
        return None

    @cached_property
    def newest_pods(self) -> tuple[Thing, ...]:
        """The newest pod of each PE that does not run; of a pod, that pod."""
        if self.target.kind == POD:
            return (self.target,)
        found = (self.pod_of(pe) for pe in self.idle)
        return tuple(each for each in found if each is not None)

    def idle_with(self, *reasons: Reason) -> Thing | None:
        """The first PE that does not run and whose status has one of these reasons."""
        wanted = {each.value for each in reasons}
        return next((pe for pe in self.idle if pe.reason in wanted), None)


def _pe_named(thing: Thing) -> str:
    """The number of a PE, by its label and those of its pods; else what owns the pod."""
    number = str(thing.labels.get(labels.PE) or "")
    if number or thing.kind == PE:
        return number
    if thing.kind != POD:
        return f"{thing.kind}/{thing.name}"
    owner = controller(items_of(thing.meta.get("ownerReferences")))
    return "/".join(owner) if owner is not None and owns_pods(owner[0]) else ""


def _launch_of(pod: Thing) -> tuple[int, str]:
    text = str(pod.labels.get(labels.LAUNCH_COUNT) or "")
    return (int(text) if text.isdecimal() and text.isascii() else 0, pod.name)


def _as_launch(pod: Thing) -> Pod | None:
    try:
        data = project(POD, pod.obj)
        if data is None:
            return None
        uid, version = str(pod.meta.get("uid") or ""), str(pod.meta.get("resourceVersion") or "0")
        return pod_of(Entry(POD, pod.namespace, pod.name, uid, int(version), data), "")
    except (ObjectUnreadable, AttributeError, KeyError, TypeError, ValueError):
        return None


def _is_about(event: Thing, thing: Thing) -> bool:
    """Whether an Event is about this object, and not about a former one of its name."""
    uid = mapping_of(event.obj.get("involvedObject")).get("uid")
    return not uid or uid == thing.meta.get("uid") or thing.kind == NODE


def unready(node: Thing) -> Condition | None:
    """The condition Ready of a node, if it is not True."""
    return next(
        (each for each in node.conditions if each.type == READY and each.status != "True"), None
    )


def event_time(event: Thing) -> str:
    """When an Event was seen last; such texts have the order of time."""
    series = mapping_of(event.obj.get("series"))
    times = (
        series.get("lastObservedTime"),
        event.obj.get("lastTimestamp"),
        event.obj.get("eventTime"),
        event.meta.get("creationTimestamp"),
    )
    return next((str(each) for each in times if each), "")


def containers_of(pod: Thing) -> tuple[Thing, ...]:
    """The statuses of a pod's containers, those that initialize first, each as a thing."""
    lists = ("initContainerStatuses", "containerStatuses")
    found = (each for list_ in lists for each in items_of(pod.status.get(list_)))
    return tuple(
        Thing("Container", {"metadata": {"name": each.get("name")}, **each}) for each in found
    )
