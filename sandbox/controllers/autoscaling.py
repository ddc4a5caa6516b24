"""HorizontalPodAutoscalers: gather what one sees, decide, write the scale and the status.

The decision is in autoscaler_decisions.py. As in kube-controller-manager each autoscaler looks at
its target every `autoscaler_period_s`, and what it recommended and changed before is in memory
only; unlike there, it looks at once when it is new or its spec changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.controllers.autoscaler_decisions import ABLE, Condition, Decision, Seen, decide
from sandbox.controllers.conditions import condition_of
from sandbox.controllers.events import Recorder
from sandbox.controllers.informers import Informers, Location, Obj, location_of
from sandbox.controllers.scaling_rates import Past
from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.errors import ApiError
from sandbox.store.played_cpu import played_mcpu
from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER, NODE, POD, ResourceType
from sandbox.store.selecting import selector_of
from sandbox.store.timestamps import rfc3339


class Autoscaling:
    """The key of its work is a HorizontalPodAutoscaler."""

    def __init__(
        self, writes: Writes, informers: Informers, now: Callable[[], float], settings: Settings
    ) -> None:
        self._writes = writes
        self._informers = informers
        self._now = now
        self._settings = settings
        self._past: dict[Location, Past] = {}
        self._selectors: dict[Location, str] = {}
        self._events = Recorder(writes, "horizontal-pod-autoscaler", now, settings)
        self.work = WorkQueue("autoscaling", self._reconcile, settings)
        informers.of(HORIZONTAL_POD_AUTOSCALER).listeners.append(self._notice)

    def _notice(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                self._past.pop(location_of(old), None)
                self._selectors.pop(location_of(old), None)
        elif old is None or old["spec"] != new["spec"]:
            self.work.add(location_of(new))

    def _reconcile(self, location: Location) -> None:
        scaler = self._writes.get(HORIZONTAL_POD_AUTOSCALER, location)
        if scaler is None:
            return
        self.work.add_after(location, self._settings.autoscaler_period_s)
        rt, seen = self._gathered(location, scaler)
        decision = decide(seen, self._past.get(location, Past()), self._now())
        self._past[location] = decision.past
        self._carry_out(location, scaler, rt, seen, decision)

    # ------------------------------------------------------------------ gathering

    def _gathered(self, location: Location, scaler: Obj) -> tuple[ResourceType | None, Seen]:
        namespace, spec = location[0], scaler["spec"]
        rt: ResourceType | None = None
        scale: Obj = {}
        error = ""
        try:
            rt = self._target(spec["scaleTargetRef"])
            name = spec["scaleTargetRef"]["name"]
            scale = self._writes.store.get(rt, namespace, name, subresource="scale")
        except ApiError as problem:
            error = str(problem)
        selector = str((scale.get("status") or {}).get("selector") or "")
        if selector:
            self._selectors[location] = selector
        pods = self._writes.store.list(POD, namespace, labels=selector).items if selector else []
        is_served = self._settings.has_metrics or self._is_played()
        seen = Seen(
            namespace, spec, scale or None, error, pods, self._rivals(namespace, pods), is_served
        )
        return rt, seen

    def _target(self, reference: Obj) -> ResourceType:
        """The type with this kind and group, in any version. Raises ApiError."""
        group = reference.get("apiVersion", "").rpartition("/")[0]
        for rt in self._writes.store.registry.all():
            if (rt.group, rt.kind) == (group, reference["kind"]):
                return rt
        kind = reference["kind"]
        text = f'no matches for kind "{kind}" in group "{group}"'
        raise ApiError(404, "NotFound", text, {})

    def _rivals(self, namespace: str, pods: list[Any]) -> tuple[str, ...]:
        """The autoscalers of the namespace that select one of the pods, as `namespace/name`."""
        known = [each for each in sorted(self._selectors) if each[0] == namespace]
        found = []
        for each in known:
            selector = selector_of(POD, self._selectors[each], "")
            if any(selector.matches(pod) for pod in pods):
                found.append("/".join(each))
        return tuple(found)

    def _is_played(self) -> bool:
        return any(
            played_mcpu(obj) is not None
            for rt in (NODE, POD)
            for obj in self._informers.of(rt).objects.values()
        )

    # ------------------------------------------------------------------ writing

    def _carry_out(
        self,
        location: Location,
        scaler: Obj,
        rt: ResourceType | None,
        seen: Seen,
        decision: Decision,
    ) -> None:
        for reason, text in decision.warnings:
            self._events.warning(scaler, reason, text)
        status, time = dict(scaler.get("status") or {}), rfc3339(self._now())
        conditions, desired = list(decision.conditions), decision.desired
        if seen.scale is not None:
            current = int(seen.scale["spec"].get("replicas") or 0)
            status["currentReplicas"] = current
            status["currentMetrics"] = None if decision.metrics is None else [*decision.metrics]
            if rt is not None and decision.replicas is not None:
                outcome = self._rescaled(scaler, rt, seen.scale, decision)
                conditions.append(outcome)
                if outcome.is_true:
                    status["lastScaleTime"] = time
                    by = decision.replicas - current
                    self._past[location] = decision.past.with_change(self._now(), by)
                else:
                    desired = None
        if desired is not None:
            status["desiredReplicas"] = desired
        status["conditions"] = _with_conditions(status, conditions, time)
        if status != (scaler.get("status") or {}):
            self._writes.set_status(HORIZONTAL_POD_AUTOSCALER, scaler, status)

    def _rescaled(self, scaler: Obj, rt: ResourceType, scale: Obj, decision: Decision) -> Condition:
        """Write the scale; the condition that tells how that went."""
        reference = scaler["spec"]["scaleTargetRef"]
        body = {**scale, "spec": {"replicas": decision.replicas}}
        event = f"New size: {decision.replicas}; reason: {decision.why}"
        try:
            self._writes.store.replace(
                rt,
                scaler["metadata"]["namespace"],
                reference["name"],
                body,
                subresource="scale",
            )
        except ApiError as error:
            self._events.warning(scaler, "FailedRescale", f"{event}; error: {error}")
            text = f"the HPA controller was unable to update the target scale: {error}"
            return Condition(ABLE, False, "FailedUpdateScale", text)
        self._events.normal(scaler, "SuccessfulRescale", event)
        text = f"the HPA controller was able to update the target scale to {decision.replicas}"
        return Condition(ABLE, True, "SucceededRescale", text)


def _with_conditions(status: Obj, conditions: list[Condition], time: str) -> list[Obj]:
    """The conditions of a status with these; each keeps its place, and its time with its status."""
    found = {each["type"]: each for each in status.get("conditions") or ()}
    for condition in conditions:
        word = "True" if condition.is_true else "False"
        before = condition_of({"conditions": list(found.values())}, condition.type)
        is_same = before is not None and before["status"] == word
        since = before["lastTransitionTime"] if before is not None and is_same else time
        found[condition.type] = {
            "type": condition.type,
            "status": word,
            "lastTransitionTime": since,
            "reason": condition.reason,
            "message": condition.message,
        }
    return list(found.values())
