"""HorizontalPodAutoscalers as `autoscaling/v1`: `kubectl autoscale` before 1.33 writes them so.

They are those of autoscaling/v2 with one metric, CPU in percent of the requests. Other metrics,
behavior and conditions show in v2 only; kube-apiserver keeps them in annotations of v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sandbox.http.answers import Answer, json_answer
from sandbox.http.list_options import list_options
from sandbox.http.requests import Call
from sandbox.http.routing import no_such_method
from sandbox.http.served import AUTOSCALER_V1
from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER
from sandbox.store.store import Store

_TARGET: Final = "targetCPUUtilizationPercentage"
_CURRENT: Final = "currentCPUUtilizationPercentage"
_NOT_OF_V1 = frozenset({"metrics", "behavior"})
_OF_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_Obj = Mapping[str, Any]


def answered(verb: str, call: Call, store: Store) -> Answer:
    """The answer to a POST, GET or LIST; 405 for other verbs, which v2 has."""
    target = call.target
    if target.subresource or (verb == "POST" and target.namespace is None):
        raise no_such_method()
    rt = HORIZONTAL_POD_AUTOSCALER
    if verb == "POST":
        sent = replace(call, rt=AUTOSCALER_V1).sent_object()
        validation = call.validation_of(sent)
        made = store.create(
            rt, target.namespace, as_v2(sent), validation=validation, dry_run=call.dry_run()
        )
        return json_answer(201, as_v1(made))
    if verb == "GET":
        return json_answer(200, as_v1(store.get(rt, target.namespace, target.name)))
    if verb != "LIST":
        raise no_such_method()
    options = list_options(call)
    found = store.list(rt, target.namespace, labels=options.labels, fields=options.fields)
    head = {"kind": AUTOSCALER_V1.kind_of_list, "apiVersion": AUTOSCALER_V1.api_version}
    metadata = {"resourceVersion": str(found.resource_version)}
    items = [as_v1(obj) for obj in found.items]
    return json_answer(200, {**head, "metadata": metadata, "items": items})


def as_v2(sent: Any) -> Any:
    """What was sent, in the newer version; what is no autoscaler of v1 is left as it is."""
    if not isinstance(sent, dict) or not isinstance(sent.get("spec"), dict):
        return sent
    if sent.get("apiVersion", AUTOSCALER_V1.api_version) != AUTOSCALER_V1.api_version:
        return sent
    spec = {key: each for key, each in sent["spec"].items() if key != _TARGET}
    if (percent := sent["spec"].get(_TARGET)) is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    kept = {key: each for key, each in sent.items() if key != "status"}
    return {**kept, "apiVersion": HORIZONTAL_POD_AUTOSCALER.api_version, "spec": spec}


def as_v1(obj: _Obj) -> dict[str, Any]:
    """A stored autoscaler in the older version."""
    spec = {key: each for key, each in obj["spec"].items() if key not in _NOT_OF_V1}
    status = obj.get("status") or {}
    shown = {key: status[key] for key in _OF_STATUS if key in status}
    shown = {"currentReplicas": 0, "desiredReplicas": 0, **shown}
    spec |= _percent(_TARGET, obj["spec"].get("metrics"), "target")
    shown |= _percent(_CURRENT, status.get("currentMetrics"), "current")
    head = {"kind": AUTOSCALER_V1.kind, "apiVersion": AUTOSCALER_V1.api_version}
    return {**head, "metadata": obj["metadata"], "spec": spec, "status": shown}


def _percent(field: str, metrics: Any, part: str) -> dict[str, int]:
    """The percent of CPU in metrics, or in what is measured of them, as a field of v1."""
    for metric in metrics or ():
        resource = metric.get("resource") or {}
        value = (resource.get(part) or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and value is not None:
            return {field: value}
    return {}
