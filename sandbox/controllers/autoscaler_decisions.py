"""What an autoscaler does about what it sees, as a plain function on frozen values.

1. A target without a scale, or scaled to 0, is left alone.
2. Replicas out of the bounds are brought into them; no metric is looked at.
3. Each metric recommends replicas (replicas.py); the most of them counts. A metric without a value
   forbids a step down, and without any value nothing is done.
4. Windows, policies and bounds limit the step (scaling_rates.py).

Reasons and messages are those of kube-controller-manager. The shell is autoscaling.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sandbox.controllers.measured_pods import CPU, Metric, uses_of
from sandbox.controllers.replicas import Goal, NoMetricError, Recommended, recommended
from sandbox.controllers.scaling_rates import (
    Bounds,
    Normalized,
    Past,
    bounds_of,
    normalized,
    tolerance_of,
)
from sandbox.store.quantities import units

Obj = Mapping[str, Any]
ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"
_UNABLE = "the HPA was unable to compute the replica count: "
_NOT_REGISTERED = "no custom metrics API (custom.metrics.k8s.io) registered"
_PARTS: Final = {"Resource": "resource", "ContainerResource": "containerResource"}


@dataclass(frozen=True)
class Condition:
    """A condition that a look at the target leads to."""

    type: str
    is_true: bool
    reason: str
    message: str


@dataclass(frozen=True)
class Seen:
    """What an autoscaler sees: its spec, the target's scale, the pods of its selector.

    `scale_error` says why there is no scale; `rivals` are the autoscalers (`namespace/name`) that
    select one of the pods, itself among them; `is_served`: something serves metrics.k8s.io.
    """

    namespace: str
    spec: Obj
    scale: Obj | None
    scale_error: str
    pods: Sequence[Obj]
    rivals: tuple[str, ...]
    is_served: bool


@dataclass(frozen=True)
class Decision:
    """The width to write (None: none), the conditions and metrics to show, and Events to write.

    `desired` None leaves `status.desiredReplicas` as it is. `why` is the reason of a rescale.
    """

    replicas: int | None = None
    desired: int | None = None
    why: str = ""
    conditions: tuple[Condition, ...] = ()
    metrics: tuple[Obj, ...] | None = None
    warnings: tuple[tuple[str, str], ...] = ()
    past: Past = field(default_factory=Past)


class _UnableError(Exception):
    """A metric that cannot be had, by the reason of Kubernetes."""

    def __init__(self, reason: str, text: str, *, where: str = "") -> None:
        super().__init__(text)
        self.reason = reason
        self.where = where


def decide(seen: Seen, past: Past, now: float) -> Decision:
    """What to do now; `past` is what the decision before returned. Times in unix seconds."""
    if seen.scale is None:
        text = (
            f"the HPA controller was unable to get the target's current scale: {seen.scale_error}"
        )
        unable = Condition(ABLE, False, "FailedGetScale", text)
        warnings = (("FailedGetScale", seen.scale_error),)
        return Decision(conditions=(unable,), warnings=warnings, past=past)
    current = int(seen.scale["spec"].get("replicas") or 0)
    if not past.recommendations:
        past = past.with_recommendation(now, current)
    text = "the HPA controller was able to get the target's current scale"
    able = Condition(ABLE, True, "SucceededGetScale", text)
    start = Decision(desired=current, conditions=(able,), past=past)
    bounds = bounds_of(seen.spec)
    if current == 0:
        text = "scaling is disabled since the replica count of the target is zero"
        disabled = Condition(ACTIVE, False, "ScalingDisabled", text)
        return replace(start, conditions=(able, disabled))
    if current > bounds.replicas_max:
        why = "Current number of replicas above Spec.MaxReplicas"
        return replace(start, replicas=bounds.replicas_max, desired=bounds.replicas_max, why=why)
    if current < bounds.replicas_min:
        why = "Current number of replicas below Spec.MinReplicas"
        return replace(start, replicas=bounds.replicas_min, desired=bounds.replicas_min, why=why)
    return _by_metrics(seen, start, bounds, current, now)


def _by_metrics(seen: Seen, start: Decision, bounds: Bounds, current: int, now: float) -> Decision:
    problem = _selector_problem(seen)
    if problem is not None:
        return _stopped(start, problem, None, str(problem.args[0]))
    specs = seen.spec["metrics"]
    found: list[tuple[str, Recommended] | _UnableError] = [
        _of_metric(seen, metric, current, now) for metric in specs
    ]
    shown = tuple(map(_shown, specs, found))
    problems = [each for each in found if isinstance(each, _UnableError)]
    values = [each for each in found if not isinstance(each, _UnableError)]
    metric, most = max(values, key=lambda each: each[1].replicas, default=("", None))
    if most is None or (problems and most.replicas < current):
        first = problems[0]
        count = f"{len(problems)} invalid out of {len(specs)}"
        whole = f"invalid metrics ({count}), first error is: {first.where}: {first}"
        return _stopped(start, first, shown, whole)
    text = f"the HPA was able to successfully calculate a replica count from {metric}"
    active = Condition(ACTIVE, True, "ValidMetricFound", text)
    limits = normalized(bounds, start.past, current, most.replicas, now)
    warnings = tuple((each.reason, str(each)) for each in problems)
    decided = replace(start, metrics=shown, warnings=warnings)
    decided = replace(decided, past=start.past.with_recommendation(now, most.replicas))
    decided = replace(decided, conditions=(*start.conditions, active, *_of_limits(limits)))
    if limits.replicas == current:
        return decided
    is_up = most.replicas > current
    why = f"{metric} above target" if is_up else "All metrics below target"
    return replace(decided, replicas=limits.replicas, desired=limits.replicas, why=why)


def _selector_problem(seen: Seen) -> _UnableError | None:
    assert seen.scale is not None
    selector = (seen.scale.get("status") or {}).get("selector") or ""
    if not selector:
        return _UnableError("InvalidSelector", "selector is required")
    if len(seen.rivals) > 1:
        who = " ".join(seen.rivals)
        text = f"pods by selector {selector} are controlled by multiple HPAs: [{who}]"
        return _UnableError("AmbiguousSelector", text)
    return None


def _stopped(
    start: Decision, problem: _UnableError, shown: tuple[Obj, ...] | None, whole: str
) -> Decision:
    """Nothing is done; the condition says why, and so do Events."""
    text, reason = str(problem), problem.reason
    event = "SelectorRequired" if reason == "InvalidSelector" else reason
    if reason == "InvalidSelector":
        text = "the HPA target's scale is missing a selector"
    elif reason != "AmbiguousSelector":
        text = f"{_UNABLE}{text}"
    inactive = Condition(ACTIVE, False, reason, text)
    warnings = ((event, str(problem)), ("FailedComputeMetricsReplicas", whole))
    conditions = (*start.conditions, inactive)
    return replace(start, desired=None, conditions=conditions, metrics=shown, warnings=warnings)


def _of_limits(limits: Normalized) -> tuple[Condition, Condition]:
    able = Condition(ABLE, True, *limits.able)
    return able, Condition(LIMITED, limits.is_limited, *limits.limit)


# --------------------------------------------------------------------------- one metric


def _of_metric(
    seen: Seen, metric: Obj, current: int, now: float
) -> tuple[str, Recommended] | _UnableError:
    """What the metric is called, and what it recommends; or why it does not."""
    if (part := _PARTS.get(metric["type"])) is None:
        return _not_served(seen.namespace, metric)
    source, resource = metric[part], metric[part]["name"]
    container, target = source.get("container", ""), source["target"]
    is_utilization = "averageValue" not in target
    wanted = target["averageUtilization"] if is_utilization else _thousandths(target, resource)
    try:
        read = Metric(resource, container, is_utilization)
        uses = uses_of(seen.pods, read, now, is_served=seen.is_served)
        goal = Goal(wanted, is_utilization)
        found = recommended(uses, current, goal, tolerance_of(seen.spec))
    except NoMetricError as problem:
        what = "utilization" if is_utilization else "usage"
        where = f"failed to get {resource} resource metric value"
        if container:
            where = f"failed to get {container} container metric value"
        text = f"failed to get {resource} {what}: {problem}"
        return _UnableError(f"FailedGet{metric['type']}Metric", text, where=where)
    kind = " container resource" if container and is_utilization else " resource"
    tail = " utilization (percentage of request)" if is_utilization else ""
    return f"{resource}{kind}{tail}", found


def _thousandths(target: Obj, resource: str) -> int:
    value = units(resource, target["averageValue"])
    return value if resource == CPU else value * 1_000


def _shown(metric: Obj, found: tuple[str, Recommended] | _UnableError) -> Obj:
    """An item of `status.currentMetrics`; an empty one where there is no value."""
    if isinstance(found, _UnableError):
        return {"type": ""}
    part, value = _PARTS[metric["type"]], found[1]
    current: dict[str, Any] = {"averageValue": f"{value.average_m}m"}
    if value.percent is not None:
        current["averageUtilization"] = value.percent
    kept = {key: metric[part][key] for key in ("name", "container") if key in metric[part]}
    return {"type": metric["type"], part: {**kept, "current": current}}


def _not_served(namespace: str, metric: Obj) -> _UnableError:
    """Metrics of other kinds: the error of a cluster in which nothing serves their API."""
    kind, part = metric["type"], metric["type"].lower()
    source = metric[part]
    name = source["metric"]["name"]
    if kind == "External":
        chosen = _go_selector(source["metric"].get("selector"))
        unserved = "the server could not find the requested resource"
        text = (
            f"unable to get external metric {namespace}/{name}/{chosen}: unable to fetch metrics "
            f"from external metrics API: {unserved} (get {name}.external.metrics.k8s.io)"
        )
        where = f"failed to get {name} external metric value"
        return _UnableError("FailedGetExternalMetric", text, where=where)
    cause = f"unable to fetch metrics from custom metrics API: {_NOT_REGISTERED}"
    text = f"unable to get metric {name}: {cause}"
    if kind == "Object":
        about = source["describedObject"]
        where = f"{about['kind']} on {namespace} {about['name']}"
        text = f"unable to get metric {name}: {where}/{cause}"
    return _UnableError(f"FailedGet{kind}Metric", text, where=f"failed to get {part} metric value")


def _go_selector(selector: Obj | None) -> str:
    """A label selector as Go prints it."""
    if selector is None:
        return "nil"
    labels = selector.get("matchLabels") or {}
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    listed = ",".join(
        f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},"
        f"Values:[{' '.join(each.get('values') or ())}],}}"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{listed}{',' if listed else ''}}},}}"
    )
