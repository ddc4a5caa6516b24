"""What stands in the columns of a HorizontalPodAutoscaler, by the printer of kube-apiserver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Obj = Mapping[str, Any]
METRICS_SHOWN_MAX = 2
UNKNOWN = "<unknown>"
_PARTS: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_NAMED = frozenset({"Resource", "ContainerResource"})


def reference(obj: Obj, _: float) -> str:
    target = obj["spec"]["scaleTargetRef"]
    return f"{target['kind']}/{target['name']}"


def targets(obj: Obj, _: float) -> str:
    """Each metric as `current/target`; two of them, and how many more."""
    metrics = obj["spec"].get("metrics") or []
    shown = (obj.get("status") or {}).get("currentMetrics") or []
    if not metrics:
        return "<none>"
    texts = [
        _target(metric, shown[index] if index < len(shown) else {})
        for index, metric in enumerate(metrics)
    ]
    more = len(texts) - METRICS_SHOWN_MAX
    text = ", ".join(texts[:METRICS_SHOWN_MAX])
    return f"{text} + {more} more..." if more > 0 else text


def _target(metric: Obj, shown: Obj) -> str:
    kind = metric["type"]
    part = _PARTS[kind]
    target, now = metric[part]["target"], (shown.get(part) or {}).get("current") or {}
    prefix = f"{metric[part]['name']}: " if kind in _NAMED else ""
    if "averageValue" in target:
        tail = " (avg)" if kind in {"Object", "External"} else ""
        return f"{prefix}{now.get('averageValue', UNKNOWN)}/{target['averageValue']}{tail}"
    if kind in _NAMED:
        percent = f"{now['averageUtilization']}%" if "averageUtilization" in now else UNKNOWN
        wanted = target.get("averageUtilization")
        return f"{prefix}{percent}/{'<auto>' if wanted is None else f'{wanted}%'}"
    return f"{prefix}{now.get('value', UNKNOWN)}/{target['value']}"


def replicas_min(obj: Obj, _: float) -> str:
    return str(obj["spec"].get("minReplicas", "<unset>"))


def replicas_max(obj: Obj, _: float) -> int:
    return int(obj["spec"]["maxReplicas"])


def replicas(obj: Obj, _: float) -> int:
    return int((obj.get("status") or {}).get("currentReplicas") or 0)
