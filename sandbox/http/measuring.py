"""`metrics.k8s.io` as the metrics server serves it: how much CPU pods and nodes use.

Pods use what their annotation plays; a node uses what its pods use, and what its own annotation
plays beside them. What nothing plays is not measured: a pod without the annotation, and a node
whose kubelet is silent, are as if the metrics server had not reached them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sandbox.http.answers import Answer, json_answer
from sandbox.http.list_options import list_options
from sandbox.http.requests import Call
from sandbox.http.routing import no_such_method
from sandbox.http.served import POD_METRICS
from sandbox.store.errors import not_found
from sandbox.store.played_cpu import played_mcpu
from sandbox.store.resources import NODE, POD
from sandbox.store.steering import BEHAVIOR
from sandbox.store.store import Store
from sandbox.store.timestamps import rfc3339

_WINDOW = "15s"
_NANO: Final = 1_000_000
"""Of a thousandth; the metrics server counts in `n`."""
_Obj = Mapping[str, Any]


def measured(verb: str, call: Call, store: Store, now: Callable[[], float]) -> Answer:
    """The answer to a GET or LIST; 405 for other verbs, which the metrics server does not know."""
    target = call.target
    if verb not in {"GET", "LIST"} or target.subresource:
        raise no_such_method()
    is_pods = call.rt == POD_METRICS
    listed = list_options(call) if verb == "LIST" else None
    found = store.list(
        POD if is_pods else NODE,
        target.namespace if is_pods else None,
        labels=listed.labels if listed else "",
        fields=listed.fields if listed else f"metadata.name={target.name}",
    ).items
    items = list(_of_pods(found) if is_pods else _of_nodes(found, store))
    head = {"kind": call.rt.kind, "apiVersion": call.rt.api_version}
    timed = [{**item, "timestamp": rfc3339(now()), "window": _WINDOW} for item in items]
    if listed:
        head["kind"] = call.rt.kind_of_list
        return json_answer(200, {**head, "metadata": {}, "items": timed})
    if not timed:
        raise not_found(call.rt, target.name)
    return json_answer(200, {**head, **timed[0]})


def _of_pods(pods: list[Any]) -> Iterator[dict[str, Any]]:
    for pod in pods:
        mcpu = played_mcpu(pod)
        if mcpu is not None and _runs(pod):
            names = [each["name"] for each in pod["spec"]["containers"]]
            uses = [mcpu, *(0 for _ in names[1:])]
            containers = [
                {"name": name, "usage": _usage(used)}
                for name, used in zip(names, uses, strict=True)
            ]
            yield {"metadata": _meta(pod), "containers": containers}


def _of_nodes(nodes: list[Any], store: Store) -> Iterator[dict[str, Any]]:
    used = Counter[str]()
    for pod in store.list(POD, None).items:
        if _runs(pod):
            used[pod["spec"].get("nodeName", "")] += played_mcpu(pod) or 0
    for node in nodes:
        if BEHAVIOR not in (node["metadata"].get("annotations") or {}):
            mcpu = used[node["metadata"]["name"]] + (played_mcpu(node) or 0)
            yield {"metadata": _meta(node), "usage": _usage(mcpu)}


def _runs(pod: _Obj) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running")


def _meta(obj: _Obj) -> dict[str, Any]:
    """As the metrics server has it: the labels of the object, and no version."""
    names = ("name", "namespace", "labels", "creationTimestamp")
    return {name: obj["metadata"][name] for name in names if name in obj["metadata"]}


def _usage(mcpu: int) -> dict[str, str]:
    return {"cpu": f"{mcpu * _NANO}n", "memory": "0"}
