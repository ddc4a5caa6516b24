"""What kube-apiserver says of a new Pod that it takes all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.store.naming import label_value_problems

Obj = Mapping[str, Any]
_DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(pod: Obj) -> Iterator[str]:
    """In the order of kube-apiserver."""
    spec = pod["spec"]
    affinity = spec.get("affinity") or {}
    yield from _labels(spec, affinity.get("nodeAffinity") or {})
    for key in pod["metadata"].get("annotations") or ():
        if key in _DEPRECATED_ANNOTATIONS:
            yield f"metadata.annotations[{key}]: {_DEPRECATED_ANNOTATIONS[key]}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        for source, why in _DEPRECATED_VOLUMES.items():
            if source in volume:
                yield f"spec.volumes[{index}].{_shown_source(source)}: {why}"
    yield from _repeated(spec, "hostAliases", "ip")
    yield from _repeated(spec, "imagePullSecrets", "name")
    containers = list(_containers(spec))
    for container, path in containers:
        yield from _fractions(container, path)
        yield from _hidden_variables(container, path)
    yield from _ports(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield (
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
            "will be treated as 1"
        )
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _unselective(affinity.get(kind) or {}, f"spec.affinity.{kind}")


def _shown_source(source: str) -> str:
    return "storageOS" if source == "storageos" else source


def _labels(spec: Obj, node_affinity: Obj) -> Iterator[str]:
    """Labels of nodes that are not to be used any more."""
    for key in spec.get("nodeSelector") or ():
        if key in _DEPRECATED_LABELS:
            yield f"spec.nodeSelector[{key}]: {_DEPRECATED_LABELS[key]}"
    path = "spec.affinity.nodeAffinity"
    terms = (node_affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        where = f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]"
        yield from _expressions(term, where, values=False)
    for index, weighted in enumerate(node_affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}].preference"
        yield from _expressions(weighted.get("preference") or {}, where, values=True)
    for index, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"spec.topologySpreadConstraints[{index}]", spread.get("topologyKey")
        if key in _DEPRECATED_LABELS:
            yield f"{where}.topologyKey: {key} is {_DEPRECATED_LABELS[key]}"
        if spread.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"


def _expressions(term: Obj, path: str, *, values: bool) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key, where = expression.get("key"), f"{path}.matchExpressions[{index}]"
        if key in _DEPRECATED_LABELS:
            yield f"{where}.key: {key} is {_DEPRECATED_LABELS[key]}"
        if values:
            for at, value in enumerate(expression.get("values") or ()):
                for problem in label_value_problems(value):
                    yield f"{where}.values[{at}]: {value} is invalid, {problem}"


def _repeated(spec: Obj, field: str, key: str) -> Iterator[str]:
    seen: set[str] = set()
    items = [item.get(key, "") for item in spec.get(field) or ()]
    for index, value in enumerate(items):
        if value in seen:
            yield f'spec.{field}[{index}].{key}: duplicate {key} "{value}"'
        seen.add(value)
    if field == "imagePullSecrets":
        for index, value in enumerate(items):
            if not value:
                yield f'spec.{field}[{index}].{key}: invalid empty name ""'


def _containers(spec: Obj) -> Iterator[tuple[Obj, str]]:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"spec.{field}[{index}]"


def _fractions(container: Obj, path: str) -> Iterator[str]:
    """Bytes cannot be divided. Quantities have been read before: a fraction ends with m, u or n."""
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for field in ("limits", "requests"):
            value = (resources.get(field) or {}).get(name)
            if isinstance(value, str) and value.endswith(("m", "u", "n")):
                yield (
                    f'{path}.resources.{field}[{name}]: fractional byte value "{value}" is '
                    "invalid, must be an integer"
                )


def _hidden_variables(container: Obj, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(container.get("env") or ()):
        name, value = item.get("name", ""), item.get("value", "")
        reference = f"$({name})"
        extends = reference in value and value != reference and not item.get("valueFrom")
        if name in seen and not extends:
            yield (
                f'{path}.env[{index}]: hides previous definition of "{name}", which may be '
                "dropped when using apply"
            )
        seen.add(name)


def _ports(containers: list[tuple[Obj, str]]) -> Iterator[str]:
    known: dict[tuple[Any, Any], list[tuple[Obj, str]]] = {}
    placed = [
        (port, f"{path}.ports[{index}]")
        for container, path in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    for port, path in placed:
        others = known.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for other, where in others:
            if (relation := _relation(port, other)) is not None:
                yield f"{path}: {relation} port definition with {where}"
        others.append((port, path))
    named: dict[str, str] = {}
    for port, path in placed:
        name = port.get("name")
        if not name:
            continue
        if name in named:
            yield (
                f'{path}: duplicate port name "{name}" with {named[name]}, services and probes '
                f"that select ports by name will use {named[name]}"
            )
        named.setdefault(name, path)


def _relation(port: Obj, other: Obj) -> str | None:
    """How two definitions of one port are at odds."""
    mine, theirs = port.get("hostPort") or 0, other.get("hostPort") or 0
    ip, other_ip = port.get("hostIP") or "", other.get("hostIP") or ""
    if (ip, mine) == (other_ip, theirs):
        return "duplicate"
    if not mine or not theirs:
        return "overlapping"
    return "dangerously ambiguous" if mine == theirs and bool(ip) != bool(other_ip) else None


def _unselective(affinity: Obj, path: str) -> Iterator[str]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        if term.get("labelSelector") is None:
            yield f"{path}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
            where = f"{path}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector"
            yield f"{where}: {_NO_SELECTOR}"
