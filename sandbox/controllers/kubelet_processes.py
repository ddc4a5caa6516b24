"""Pods that are processes: gathers what the kubelet knows of one, decides, and carries out.

Decisions are in process_states.py, what a container is started with in `sandbox/containers`. The
kubelet hands over the pods that `takes` accepts; their key of work is that of every pod.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sandbox.containers.environment import ConfigError, Objects, environment_of, expanded
from sandbox.containers.fields import Surroundings
from sandbox.containers.folders import NotMountable
from sandbox.containers.programs import Programs, containers_of
from sandbox.containers.runs import Seen, StartOrder
from sandbox.containers.volumes import Contents, Source, mounts_of, sources_of
from sandbox.controllers.behaviors import Behavior, Directive
from sandbox.controllers.events import Recorder
from sandbox.controllers.informers import Informers, Location, Obj, location_of
from sandbox.controllers.node_statuses import address_of
from sandbox.controllers.pod_addresses import LOOPBACK_NETWORK, PodAddresses
from sandbox.controllers.pod_statuses import TERMINAL, Place
from sandbox.controllers.process_states import Decision, Memory, Sight, Start, Stop, decide
from sandbox.controllers.process_statuses import status_of
from sandbox.controllers.projected_tokens import Issue, ProjectedTokens
from sandbox.controllers.settings import Settings
from sandbox.controllers.volumes import referred_by
from sandbox.controllers.writes import Writes
from sandbox.store.quantities import units
from sandbox.store.resources import CONFIG_MAP, NODE, POD, SECRET

_KEEP_THEIR_PROCESSES = (Behavior.HANG, Behavior.NEVER_READY)


class Runtime(Protocol):
    """The container runtime, as the kubelet uses it; `on_change` takes the uid of a pod."""

    on_change: Callable[[str], None]

    def seen(self, uid: str) -> Seen: ...
    def make_volumes(self, uid: str, sources: Mapping[str, Source]) -> None: ...
    def start(self, order: StartOrder) -> None: ...
    def stop(self, uid: str, container: str, grace_s: float) -> None: ...
    def limit(self, uid: str, memory_bytes_max: Mapping[str, int]) -> None: ...
    def kill(self, uid: str) -> None: ...
    def end(self, uid: str) -> None: ...
    def remove(self, uid: str) -> None: ...


@dataclass(frozen=True)
class Running:
    """What the sandbox needs to run pods as processes.

    `environment` is what every container has beside its own variables; `issue` makes tokens of
    service accounts; `first_address` is the offset in LOOPBACK_NETWORK after which addresses begin.
    """

    runtime: Runtime
    programs: Programs
    issue: Issue
    environment: Mapping[str, str] = field(default_factory=dict)
    first_address: int = 0


class PodProcesses:
    """The pods of all nodes that are processes. `add` has a pod looked at again."""

    def __init__(
        self,
        running: Running,
        writes: Writes,
        informers: Informers,
        events: Recorder,
        now: Callable[[], float],
        settings: Settings,
        add: Callable[[Location], None],
    ) -> None:
        self._running = running
        self._runtime = running.runtime
        self._writes = writes
        self._events = events
        self._now = now
        self._settings = settings
        self._add = add
        self._addresses = PodAddresses(LOOPBACK_NETWORK, running.first_address)
        self._tokens = ProjectedTokens(running.issue, now)
        self._memories: dict[str, Memory] = {}
        self._locations: dict[str, Location] = {}
        self._referring: dict[tuple[str, Location], set[str]] = {}
        self._left_on: dict[str, set[str]] = {}  # by silent node: pods whose objects are gone
        self._runtime.on_change = self._notice_change
        for kind, rt in (("configmap", CONFIG_MAP), ("secret", SECRET)):
            informers.of(rt).listeners.append(self._object_listener(kind))
        informers.of(NODE).listeners.append(self._notice_node)

    def takes(self, pod: Obj, directive: Directive) -> bool:
        """Whether a pod is processes: its images run here, and nothing else is played of it.

        What has begun to be played stays so.
        """
        uid = pod["metadata"]["uid"]
        if uid in self._memories:
            if directive.behavior is Behavior.RUN:
                return True
            self._hand_over(uid, directive)
            return False
        status = pod.get("status") or {}
        if directive.behavior is not Behavior.RUN or status.get("phase") != "Pending":
            return False
        return "hostIP" not in status and self._running.programs.runs(pod)

    def reconcile(self, pod: Obj, node: Obj) -> float | None:
        """Look at a pod, act and write; returns when to look again, in unix seconds."""
        uid, location = pod["metadata"]["uid"], location_of(pod)
        memory = self._memories.setdefault(uid, Memory())
        self._locations[uid] = location
        place = Place(address_of(node), self._addresses.of(uid))
        around = Surroundings(
            place.pod_ip, place.host_ip, (node.get("status") or {}).get("allocatable") or {}
        )
        over = (pod.get("status") or {}).get("phase") in TERMINAL
        is_leaving = over or "deletionTimestamp" in pod["metadata"]
        unmountable = () if is_leaving else self._mount(pod, around)
        orders = {} if is_leaving else self._orders(pod, around)
        bad = {name: order for name, order in orders.items() if isinstance(order, str)}
        sight = Sight(self._runtime.seen(uid), self._now(), unmountable, bad)
        decision = decide(pod, memory, sight, self._settings)
        self._memories[uid] = decision.memory
        self._act(uid, decision, orders)
        self._write(pod, place, decision)
        return self._tokens.next_look_s(uid, decision.wake_at_s)

    def forget(self, pod: Obj, *, is_away: bool) -> None:
        """The pod's object is gone: its processes end, but on a node that is silent."""
        uid = pod["metadata"]["uid"]
        if self._memories.pop(uid, None) is None and uid not in self._locations:
            return
        if is_away:
            self._left_on.setdefault(pod["spec"].get("nodeName", ""), set()).add(uid)
            return
        self._remove(uid)

    def notice_return(self, node: str) -> None:
        """A silent node is back: it ends what has no object any more."""
        for uid in self._left_on.pop(node, ()):
            self._remove(uid)

    # Noticing

    def _notice_change(self, uid: str) -> None:
        if uid in self._memories:
            self._add(self._locations[uid])

    def _notice_node(self, old: Obj | None, new: Obj | None) -> None:
        if new is None and old is not None:
            self.notice_return(old["metadata"]["name"])

    def _object_listener(self, kind: str) -> Callable[[Obj | None, Obj | None], None]:
        def notice(old: Obj | None, new: Obj | None) -> None:
            obj = new or old
            if obj is not None:
                for uid in self._referring.get((kind, location_of(obj)), ()):
                    self._notice_change(uid)

        return notice

    # Gathering

    def _mount(self, pod: Obj, around: Surroundings) -> tuple[str, ...]:
        """Make the volumes, or bring them up to date; what cannot be mounted."""
        uid, (namespace, _) = pod["metadata"]["uid"], location_of(pod)
        for kind, name in referred_by(pod):
            self._referring.setdefault((kind, (namespace, name)), set()).add(uid)
        contents = Contents(self._objects(namespace), self._tokens.of(pod), around)
        sources, complaints = sources_of(pod, contents)
        try:
            self._runtime.make_volumes(uid, sources)
        except (NotMountable, OSError) as problem:
            return (*complaints, f"MountVolume.SetUp failed : {problem}")
        return complaints

    def _objects(self, namespace: str) -> Objects:
        return Objects(
            lambda name: self._writes.get(CONFIG_MAP, (namespace, name)),
            lambda name: self._writes.get(SECRET, (namespace, name)),
        )

    def _orders(self, pod: Obj, around: Surroundings) -> dict[str, StartOrder | str]:
        """What each container would be started with, or why it cannot be created."""
        found: dict[str, StartOrder | str] = {}
        objects = self._objects(location_of(pod)[0])
        for container in containers_of(pod):
            try:
                found[container["name"]] = self._order(pod, container, objects, around)
            except ConfigError as problem:
                found[container["name"]] = str(problem)
        return found

    def _order(
        self, pod: Obj, container: Obj, objects: Objects, around: Surroundings
    ) -> StartOrder:
        variables = environment_of(container, pod, objects, around)
        words = self._running.programs.command_of(container)
        return StartOrder(
            pod["metadata"]["uid"],
            container,
            0,
            tuple(expanded(word, variables) for word in words),
            {**self._running.environment, **variables, "MILLRACE_POD_IP": around.pod_ip},
            mounts_of(container, variables, pod["spec"].get("volumes") or ()),
            around.pod_ip,
            self._running.programs.paths,
        )

    # Acting

    def _act(self, uid: str, decision: Decision, orders: Mapping[str, StartOrder | str]) -> None:
        for effect in decision.effects:
            match effect:
                case Start(name, number):
                    order = orders[name]
                    assert isinstance(order, StartOrder), order
                    self._runtime.start(order.numbered(number))
                case Stop(name, grace_s):
                    self._runtime.stop(uid, name, grace_s)

    def _write(self, pod: Obj, place: Place, decision: Decision) -> None:
        uid, before = pod["metadata"]["uid"], pod.get("status") or {}
        status, seen = before, self._runtime.seen(uid)
        is_unseen = decision.remove and "hostIP" not in before
        # What starts will have started in a moment, and is then written once.
        is_starting = any(runs[-1].is_starting for runs in seen.values())
        if before.get("phase") not in TERMINAL and not is_unseen and not is_starting:
            status = status_of(pod, place, seen, decision, self._now())
            self._runtime.limit(uid, _memory_limits(status, pod))
        if status != before:
            pod = self._writes.set_status(POD, pod, status)
        if status.get("phase") in TERMINAL:
            self._runtime.end(uid)
        if decision.remove:
            self._writes.delete(POD, pod, grace_s=0)
        for warned in decision.warnings:
            self._events.warning(pod, warned.reason, warned.message)

    def _hand_over(self, uid: str, directive: Directive) -> None:
        """Something else is played from now on."""
        del self._memories[uid]
        if directive.behavior not in _KEEP_THEIR_PROCESSES:
            self._runtime.kill(uid)

    def _remove(self, uid: str) -> None:
        self._locations.pop(uid, None)
        self._tokens.forget(uid)
        self._addresses.release(uid)
        for key in [key for key, uids in self._referring.items() if uid in uids]:
            self._referring[key].discard(uid)
            if not self._referring[key]:
                del self._referring[key]
        self._runtime.remove(uid)


def _memory_limits(status: Mapping[str, Any], pod: Obj) -> dict[str, int]:
    """Bytes that containers may use, as their resources in force say, else their spec."""
    in_force = {
        each["name"]: each["resources"]
        for field_name in ("containerStatuses", "initContainerStatuses")
        for each in status.get(field_name) or ()
        if "resources" in each
    }
    limits = {
        name: (in_force.get(name) or each.get("resources") or {}).get("limits") or {}
        for each in containers_of(pod)
        if (name := str(each["name"]))
    }
    return {
        name: units("memory", given["memory"])
        for name, given in limits.items()
        if "memory" in given
    }
