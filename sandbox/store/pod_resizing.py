"""The subresource `resize` of Pods: what a change through it may say, as kube-apiserver has it.

Of what is sent, only `resources` and `resizePolicy` of containers count. The rest is dropped
without a word, unless containers are added, removed, renamed or reordered.
https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.store.errors import Cause, forbidden_field, invalid_value
from sandbox.store.metadata import same
from sandbox.store.pods import qos_class
from sandbox.store.strategies import Body

_LISTS: Final = ("containers", "initContainers")
_RESIZED: Final = ("resources", "resizePolicy")
_MUTABLE: Final = frozenset({"cpu", "memory"})


def admitted(obj: Body, old: Mapping[str, Any]) -> Body:
    """The Pod with what a resize may change, and everything else as it was."""
    meta = {**old["metadata"], "resourceVersion": obj["metadata"].get("resourceVersion")}
    if meta["resourceVersion"] is None:
        meta["resourceVersion"] = old["metadata"]["resourceVersion"]
    if any(_names(obj, each) != _names(old, each) for each in _LISTS):
        return {**obj, "metadata": meta, "status": old["status"]}
    lists = {
        each: [
            _resized(container, sent)
            for container, sent in zip(old["spec"][each], obj["spec"][each], strict=True)
        ]
        for each in _LISTS
        if each in old["spec"]
    }
    return {**old, "metadata": meta, "spec": {**old["spec"], **lists}}


def causes(obj: Body, old: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with a resize."""
    if qos_class(obj["spec"]) != old["status"]["qosClass"]:
        text = "Pod QOS Class may not change as a result of resizing"
        yield invalid_value("spec", old["status"]["qosClass"], text)
    if not _is_supported(old):
        yield forbidden_field("spec", "Pod running on node without support for resize")
    ordering = [cause for each in _LISTS for cause in _ordering_causes(obj, old, each)]
    yield from ordering
    if ordering:
        return
    for each in _LISTS:
        pairs = zip(_list(obj, each), _list(old, each), strict=True)
        for index, (new, before) in enumerate(pairs):
            yield from _removals(new, before, f"spec.{each}[{index}].resources")
            if not same(_fixed(new), _fixed(before)) or (each != "containers" and new != before):
                yield forbidden_field("spec", "only cpu and memory resources are mutable")


def _list(pod: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return list(pod["spec"].get(name) or ())


def _names(pod: Mapping[str, Any], name: str) -> list[Any]:
    return [each.get("name") for each in _list(pod, name)]


def _resized(container: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """A container with the sent resources; a request that is not sent is that of the limit."""
    kept = {key: value for key, value in container.items() if key not in _RESIZED}
    given = {key: sent[key] for key in _RESIZED if key in sent}
    resources = dict(given.get("resources") or {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    return {**kept, **given, "resources": resources}


def _is_supported(old: Mapping[str, Any]) -> bool:
    """Whether the kubelet of a running pod reports resources; one that does not run is believed."""
    for each in old["status"].get("containerStatuses") or ():
        if (each.get("state") or {}).get("running"):
            return "resources" in each
    return True


def _ordering_causes(obj: Body, old: Mapping[str, Any], name: str) -> Iterator[Cause]:
    new, before = _names(obj, name), _names(old, name)
    if len(new) != len(before):
        yield forbidden_field(f"spec.{name}", f"{name} may not be added or removed on resize")
        return
    for index, (one, other) in enumerate(zip(new, before, strict=True)):
        if one != other:
            text = f"{name} may not be renamed or reordered on resize"
            yield forbidden_field(f"spec.{name}[{index}].name", text)


def _removals(new: Mapping[str, Any], old: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for part in ("requests", "limits"):
        left = (new.get("resources") or {}).get(part) or {}
        if not ((old.get("resources") or {}).get(part) or {}).keys() <= left.keys():
            yield forbidden_field(f"{path}.{part}", f"resource {part} cannot be removed")


def _fixed(container: Mapping[str, Any]) -> dict[str, Any]:
    """A container without what may change."""
    resources = container.get("resources") or {}
    kept = {
        part: {name: value for name, value in amounts.items() if name not in _MUTABLE}
        for part, amounts in resources.items()
        if isinstance(amounts, Mapping)
    }
    rest = {key: value for key, value in container.items() if key != "resizePolicy"}
    return {**rest, "resources": {part: amounts for part, amounts in kept.items() if amounts}}
