"""What a Pod may ask of the scheduler: selectors, affinity, tolerations and gates; its host name.

Looked at when a Pod is made, and again at every change. The sentences and their order are those of
kube-apiserver. What the fields mean is decided by the scheduler (controllers/feasibility.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.store.errors import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from sandbox.store.naming import (
    label_problems,
    label_value_problems,
    name_problems,
    qualified_name_problems,
)

Obj = Mapping[str, Any]
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
WEIGHTS = range(1, 101)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_VALUES_NEEDED = "must be specified when `operator` is 'In' or 'NotIn'"
_VALUES_UNWANTED = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_ONE_VALUE = "must be specified single value when `operator` is 'Lt' or 'Gt'"
_ONE_NAME = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
_NO_OPERATOR = "not a valid selector operator"
_NO_WEIGHT = "must be in the range 1-100"
_ALL_KEYS = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)
_ONLY_SECONDS = "existing toleration can not be modified except its tolerationSeconds"


def scheduling_causes(spec: Obj) -> Iterator[Cause]:
    """What is wrong with all of it, in a new Pod or a changed one."""
    yield from label_causes(spec.get("nodeSelector") or {}, "spec.nodeSelector")
    affinity = spec.get("affinity") or {}
    yield from _node_affinity(affinity.get("nodeAffinity") or {}, "spec.affinity.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity(affinity.get(kind) or {}, f"spec.affinity.{kind}")
    yield from _gates(spec.get("schedulingGates") or (), "spec.schedulingGates")
    if node := spec.get("nodeName"):
        for text in name_problems("nodes", node):
            yield invalid_value("spec.nodeName", node, text)
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            for text in label_problems(name):
                yield invalid_value(f"spec.{field}", name, text)
    yield from _tolerations(spec.get("tolerations") or ())


def change_of_scheduling_causes(new: Obj, old: Obj) -> list[Cause]:
    """Tolerations may only be added, apart from their seconds; gates may only be taken away."""
    tolerations = new.get("tolerations") or ()
    kept = [_without_seconds(item) for item in tolerations]
    found = []
    if any(_without_seconds(item) not in kept for item in old.get("tolerations") or ()):
        found.append(forbidden_field("spec.tolerations", _ONLY_SECONDS))
    before = [gate.get("name") for gate in old.get("schedulingGates") or ()]
    for index, gate in enumerate(new.get("schedulingGates") or ()):
        if gate.get("name") not in before:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            found.append(forbidden_field(f"spec.schedulingGates[{index}].name", text))
    return found


def with_label_keys(spec: Obj, labels: Obj) -> dict[str, Any]:
    """The spec with `matchLabelKeys` and `mismatchLabelKeys` as expressions on the Pod's labels."""
    affinity = dict(spec.get("affinity") or {})
    for kind in ("podAffinity", "podAntiAffinity"):
        if isinstance(terms := affinity.get(kind), dict):
            affinity[kind] = _with_label_keys(terms, labels)
    return {**spec, "affinity": affinity}


def label_causes(labels: Mapping[str, str], path: str) -> Iterator[Cause]:
    for key, value in labels.items():
        yield from _key(key, path)
        for text in label_value_problems(value):
            yield invalid_value(path, value, text)


def taint_causes(taints: Any, path: str) -> Iterator[Cause]:
    """What is wrong with the taints of a Node."""
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        key, value = taint.get("key") or "", taint.get("value") or ""
        effect, added = taint.get("effect") or "", taint.get("timeAdded")
        yield from _key(key, f"{at}.key")
        if problems := label_value_problems(value):
            yield invalid_value(f"{at}.value", value, ";".join(problems))
        if not effect:
            yield required(f"{at}.effect")
        elif effect not in EFFECTS:
            yield not_supported(f"{at}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            whole = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": added}
            yield duplicate(at, whole, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def _tolerations(tolerations: Any) -> Iterator[Cause]:
    for index, item in enumerate(tolerations):
        yield from _toleration(item, f"spec.tolerations[{index}]")


def _toleration(item: Obj, path: str) -> Iterator[Cause]:
    key, operator = item.get("key") or "", item.get("operator") or ""
    value, effect = item.get("value") or "", item.get("effect") or ""
    if key:
        yield from _key(key, f"{path}.key")
    elif operator != "Exists":
        yield invalid_value(f"{path}.operator", operator, _ALL_KEYS)
    if item.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid_value(f"{path}.effect", effect, text)
    if operator in {"Equal", ""}:
        if problems := label_value_problems(value):
            yield invalid_value(f"{path}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            yield invalid_value(f"{path}.operator", value, text)
    else:
        compared = ("Lt", "Gt") if operator in {"Lt", "Gt"} else ()
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists", *compared))
    if effect and effect not in EFFECTS:
        yield not_supported(f"{path}.effect", effect, EFFECTS)


def _without_seconds(toleration: Obj) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _gates(gates: Any, path: str) -> Iterator[Cause]:
    seen: Counter[str] = Counter()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        yield from _key(name, f"{path}[{index}]")
        if seen[name]:
            yield duplicate(f"{path}[{index}]", name)
        seen[name] += 1


def _node_affinity(affinity: Obj, path: str) -> Iterator[Cause]:
    selector = affinity.get(_REQUIRED)
    if selector is not None:
        at = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        terms = selector.get("nodeSelectorTerms")
        if not terms:
            yield required(at, "must have at least one node selector term")
        for index, term in enumerate(terms or ()):
            yield from _node_term(term, f"{at}[{index}]", values_count=True)
    for index, item in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(item, at)
        preference = item.get("preference") or {}
        yield from _node_term(preference, f"{at}.preference", values_count=False)


def _node_term(term: Obj, path: str, *, values_count: bool) -> Iterator[Cause]:
    for index, item in enumerate(term.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        yield from _expression(item, at, comparing=True, values_count=values_count)
    for index, item in enumerate(term.get("matchFields") or ()):
        yield from _field(item, f"{path}.matchFields[{index}]")


def _expression(
    item: Obj, path: str, *, comparing: bool = False, values_count: bool = True
) -> Iterator[Cause]:
    """One requirement of labels; `comparing` allows Gt and Lt, as in those of nodes."""
    operator, values = item.get("operator") or "", item.get("values") or ()
    if operator in {"In", "NotIn"}:
        if not values:
            yield required(f"{path}.values", _VALUES_NEEDED)
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            yield forbidden_field(f"{path}.values", _VALUES_UNWANTED)
    elif comparing and operator in {"Gt", "Lt"}:
        if len(values) != 1:
            yield required(f"{path}.values", _ONE_VALUE)
    else:
        yield invalid_value(f"{path}.operator", operator, _NO_OPERATOR)
    yield from _key(item.get("key") or "", f"{path}.key")
    for index, value in enumerate(values if values_count else ()):
        for text in label_value_problems(value):
            yield invalid_value(f"{path}.values[{index}]", value, text)


def _field(item: Obj, path: str) -> Iterator[Cause]:
    """One requirement of a node's fields, and the name is the only one."""
    operator, values = item.get("operator") or "", item.get("values") or ()
    if operator not in {"In", "NotIn"}:
        yield invalid_value(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        yield required(f"{path}.values", _ONE_NAME)
    if item.get("key") != "metadata.name":
        yield invalid_value(f"{path}.key", item.get("key") or "", "not a valid field selector key")
        return
    for index, value in enumerate(values):
        for text in name_problems("nodes", value):
            yield invalid_value(f"{path}.values[{index}]", value, text)


def _pod_affinity(affinity: Obj, path: str) -> Iterator[Cause]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        yield from _pod_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, item in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(item, at)
        yield from _pod_term(item.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")


def _pod_term(term: Obj, path: str) -> Iterator[Cause]:
    for field in ("labelSelector", "namespaceSelector"):
        selector = term.get(field) or {}
        yield from label_causes(selector.get("matchLabels") or {}, f"{path}.{field}.matchLabels")
        for index, item in enumerate(selector.get("matchExpressions") or ()):
            yield from _expression(item, f"{path}.{field}.matchExpressions[{index}]")
    for name in term.get("namespaces") or ():
        for text in name_problems("namespaces", name):
            yield invalid_value(f"{path}.namespace", name, text)
    yield from _label_keys(term, path)
    topology_key = term.get("topologyKey") or ""
    if not topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from _key(topology_key, f"{path}.topologyKey")


def _label_keys(term: Obj, path: str) -> Iterator[Cause]:
    """`matchLabelKeys` and `mismatchLabelKeys`, whose expressions the selector has by now."""
    selector = term.get("labelSelector")
    matched, mismatched = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    for field, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            text = "must not be specified when labelSelector is not set"
            yield forbidden_field(f"{path}.{field}", text)
            continue
        for index, key in enumerate(keys):
            yield from _key(key, f"{path}.{field}[{index}]")
    selected = set((selector or {}).get("matchLabels") or ())
    for item in (selector or {}).get("matchExpressions") or ():
        key = item.get("key")
        if key in matched and key in selected:
            text = "exists in both matchLabelKeys and labelSelector"
            yield invalid_value(f"{path}[{_last(matched, key)}]", key, text)
        selected.add(key)
    for index, key in enumerate(matched):
        if key in mismatched:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid_value(f"{path}.matchLabelKeys[{index}]", key, text)


def _last(keys: Any, key: Any) -> int:
    return max(index for index, each in enumerate(keys) if each == key)


def _weight(item: Obj, path: str) -> Iterator[Cause]:
    weight = item.get("weight") or 0
    if weight not in WEIGHTS:
        yield invalid_value(f"{path}.weight", weight, _NO_WEIGHT)


def _key(key: str, path: str) -> Iterator[Cause]:
    for text in qualified_name_problems(key):
        yield invalid_value(path, key, text)


def _with_label_keys(affinity: Obj, labels: Obj) -> dict[str, Any]:
    made = dict(affinity)
    if affinity.get(_REQUIRED):
        made[_REQUIRED] = [_term_with_label_keys(term, labels) for term in affinity[_REQUIRED]]
    if affinity.get(_PREFERRED):
        made[_PREFERRED] = [
            {**item, "podAffinityTerm": _term_with_label_keys(item["podAffinityTerm"], labels)}
            if item.get("podAffinityTerm")
            else item
            for item in affinity[_PREFERRED]
        ]
    return made


def _term_with_label_keys(term: Obj, labels: Obj) -> dict[str, Any]:
    selector = term.get("labelSelector")
    if selector is None:
        return dict(term)
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if not added:
        return dict(term)
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}
