"""HorizontalPodAutoscalers (autoscaling/v2): their defaults, and what is refused, as in Kubernetes.

What one does is the business of the controllers. Fields, types and quantities are read before,
by core_fields.py, so every field that Go always writes is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.store.errors import Cause, forbidden_field, invalid_value, not_supported, required
from sandbox.store.quantities import amount
from sandbox.store.strategies import Body

CPU_PERCENT = 80
WINDOW_S_MAX, PERIOD_S_MAX = 3_600, 1_800
_CPU: Final = {
    "type": "Resource",
    "resource": {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": CPU_PERCENT},
    },
}
_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Final = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""Field of a metric by its type, in the order in which kube-apiserver looks at them."""
_TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")
_TO_ZERO = "scaling to zero replicas"
_NO_GROUP = "apiVersion must specify API group"


def with_defaults(obj: Body) -> Body:
    """Without metrics CPU at 80 %; a behavior is completed, its absence stays."""
    spec = {"minReplicas": 1, **obj["spec"]}
    if not spec.get("metrics"):
        spec["metrics"] = [_CPU]
    if (behavior := spec.get("behavior")) is not None:
        spec["behavior"] = {
            "scaleUp": {**_UP, **(behavior.get("scaleUp") or {})},
            "scaleDown": {**_DOWN, **(behavior.get("scaleDown") or {})},
        }
    return {**obj, "spec": spec}


def as_new(obj: Body) -> Body:
    """With an empty status, whatever was sent."""
    return {**with_defaults(obj), "status": {"desiredReplicas": 0, "currentMetrics": None}}


def causes(obj: Body, old: Mapping[str, Any] | None = None) -> list[Cause]:
    """What is wrong with an autoscaler. An apiVersion that is old and wrong may stay."""
    spec = obj["spec"]
    least, most = spec["minReplicas"], spec["maxReplicas"]
    found = []
    if least < 1:
        found.append(_at_least("spec.minReplicas", least, 1))
    if most == 0:
        found.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        found.append(_at_least("spec.maxReplicas", most, 1))
    if most < least:
        detail = "must be greater than or equal to `minReplicas`"
        found.append(invalid_value("spec.maxReplicas", most, detail))
    target = spec["scaleTargetRef"]
    needs_version = old is None or _kind(old["spec"]["scaleTargetRef"]) != _kind(target)
    needs_group = target["kind"] != "ReplicationController"
    found += _reference_causes(
        "spec.scaleTargetRef", target, needs_version=needs_version, needs_group=needs_group
    )
    for index, metric in enumerate(spec["metrics"]):
        found += _metric_causes(f"spec.metrics[{index}]", metric)
    if least == 0 and not any(each["type"] in {"Object", "External"} for each in spec["metrics"]):
        detail = "must specify at least one Object or External metric"
        found.append(forbidden_field("spec.metrics", f"{detail} to support {_TO_ZERO}"))
    behavior = spec.get("behavior") or {}
    for way in ("scaleUp", "scaleDown"):
        found += _rules_causes(f"spec.behavior.{way}", behavior.get(way))
    return found


def _kind(reference: Mapping[str, Any]) -> tuple[str, str]:
    return reference.get("apiVersion", ""), reference["kind"]


def _at_least(field: str, value: int, least: int) -> Cause:
    return invalid_value(field, value, f"must be greater than or equal to {least}")


def _reference_causes(
    field: str, reference: Mapping[str, Any], *, needs_version: bool = True, needs_group: bool
) -> Iterator[Cause]:
    for name in ("kind", "name"):
        yield from _segment_causes(f"{field}.{name}", reference[name])
    version = reference.get("apiVersion", "")
    if not needs_version:
        return
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        yield invalid_value(f"{field}.apiVersion", version, why)
    elif needs_group and not version.partition("/")[0] * version.count("/"):
        yield invalid_value(f"{field}.apiVersion", version, _NO_GROUP)


def _segment_causes(field: str, name: str, missing: str = "") -> Iterator[Cause]:
    """A name has to fit into a path."""
    if not name:
        yield required(field, missing)
    elif name in {".", ".."}:
        yield invalid_value(field, name, f"may not be '{name}'")
    else:
        for part in "/%":
            if part in name:
                yield invalid_value(field, name, f"may not contain '{part}'")


# --------------------------------------------------------------------------- metrics


def _metric_causes(field: str, metric: Mapping[str, Any]) -> Iterator[Cause]:
    kind = metric["type"]
    if not kind:
        yield required(f"{field}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield not_supported(f"{field}.type", kind, sorted(_SOURCES))
    present = [part for part in _SOURCES.values() if part in metric]
    if present:
        yield from _source_causes(f"{field}.{present[0]}", present[0], metric[present[0]])
    expected = _SOURCES.get(kind, "")
    if not expected:
        yield not_supported(f"{field}.type", kind, sorted(_SOURCES))
    elif expected not in metric:
        detail = "must populate information for the given metric source"
        yield required(f"{field}.{expected}", detail)
    if len(present) != 1:
        for part in present:
            if part != expected:
                detail = "must populate the given metric source only"
                yield forbidden_field(f"{field}.{part}", detail)


def _source_causes(field: str, part: str, source: Mapping[str, Any]) -> Iterator[Cause]:
    target, at = source["target"], f"{field}.target"
    if part == "object":
        about = source["describedObject"]
        yield from _reference_causes(f"{field}.describedObject", about, needs_group=False)
    if "metric" in source:
        name = source["metric"]["name"]
        yield from _segment_causes(f"{field}.metric.name", name, "must specify a metric name")
    elif not source["name"]:
        yield required(f"{field}.name", "must specify a resource name")
    if part == "containerResource" and not source["container"]:
        yield required(f"{field}.container", "must specify a container")
    yield from _target_causes(at, target)
    yield from _choice_causes(at, part, target)


def _target_causes(field: str, target: Mapping[str, Any]) -> Iterator[Cause]:
    if not target["type"]:
        yield required(f"{field}.type", "must specify a metric target type")
    if target["type"] not in _TARGET_TYPES:
        detail = "must be either Utilization, Value, or AverageValue"
        yield invalid_value(f"{field}.type", target["type"], detail)
    for name in ("value", "averageValue"):
        if name in target and amount(target[name]) <= 0:
            yield invalid_value(f"{field}.{name}", target[name], "must be positive")
    if target.get("averageUtilization", 1) < 1:
        detail = "must be greater than 0"
        yield invalid_value(f"{field}.averageUtilization", target["averageUtilization"], detail)


def _choice_causes(field: str, part: str, target: Mapping[str, Any]) -> Iterator[Cause]:
    """Which of the fields of a target a source has to have."""
    has_average = "averageValue" in target
    if part == "pods":
        if not has_average:
            yield required(f"{field}.averageValue", "must specify a positive target averageValue")
        return
    if part in {"object", "external"}:
        is_external = part == "external"
        if not has_average and "value" not in target:
            detail = "must set either a target value or averageValue"
            if is_external:
                detail = "must set either a target value for metric or a per-pod target"
            yield required(f"{field}.averageValue", detail)
        if is_external and has_average and "value" in target:
            detail = "may not set both a target value for metric and a per-pod target"
            yield forbidden_field(f"{field}.value", detail)
        return
    if not has_average and "averageUtilization" not in target:
        detail = "must set either a target raw value or a target utilization"
        yield required(f"{field}.averageUtilization", detail)
    if has_average and "averageUtilization" in target:
        detail = "may not set both a target raw value and a target utilization"
        yield forbidden_field(f"{field}.averageValue", detail)


# --------------------------------------------------------------------------- behavior


def _rules_causes(field: str, rules: Mapping[str, Any] | None) -> Iterator[Cause]:
    if rules is None:
        return
    window_s = rules.get("stabilizationWindowSeconds", 0)
    if window_s < 0:
        detail = "must be greater than or equal to zero"
        yield invalid_value(f"{field}.stabilizationWindowSeconds", window_s, detail)
    if window_s > WINDOW_S_MAX:
        detail = f"must be less than or equal to {WINDOW_S_MAX}"
        yield invalid_value(f"{field}.stabilizationWindowSeconds", window_s, detail)
    if rules["selectPolicy"] not in {"Disabled", "Max", "Min"}:
        choices = ("Disabled", "Max", "Min")
        yield not_supported(f"{field}.selectPolicy", rules["selectPolicy"], choices)
    for index, policy in enumerate(rules["policies"]):
        yield from _policy_causes(f"{field}.policies[{index}]", policy)
    if amount(rules.get("tolerance", "0")) < 0:
        detail = "must be greater than or equal to 0"
        yield invalid_value(f"{field}.tolerance", rules["tolerance"], detail)


def _policy_causes(field: str, policy: Mapping[str, Any]) -> Iterator[Cause]:
    if policy["type"] not in {"Pods", "Percent"}:
        yield not_supported(f"{field}.type", policy["type"], ("Percent", "Pods"))
    for name in ("value", "periodSeconds"):
        if policy[name] <= 0:
            yield invalid_value(f"{field}.{name}", policy[name], "must be greater than zero")
    if policy["periodSeconds"] > PERIOD_S_MAX:
        detail = f"must be less than or equal to {PERIOD_S_MAX}"
        yield invalid_value(f"{field}.periodSeconds", policy["periodSeconds"], detail)
