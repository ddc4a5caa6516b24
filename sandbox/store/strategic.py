"""Strategic merge patch for the built-in kinds: lists with a merge key are merged by it.

Covers what kubectl sends for label, annotate, taint, patch and apply: merge keys of Pod, Node and
Service, `$patch: delete|replace`, `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder`,
the order that the sender wants for all items that it knows, changed or not.
"""

from __future__ import annotations

from typing import Any

MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "ports": ("containerPort", "port"),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
PRIMITIVE_SETS = frozenset({"finalizers"})
_ORDER = "$setElementOrder/"
_DIRECTIVES = (_ORDER, "$retainKeys", "$patch", "$deleteFromPrimitiveList/")


def strategic_merge(target: Any, patch: dict[str, Any]) -> dict[str, Any]:
    """`target` after `patch`; neither is changed."""
    current = dict(target) if isinstance(target, dict) else {}
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if (kept := patch.get("$retainKeys")) is not None:
        current = {key: value for key, value in current.items() if key in kept}
    before = dict(current)
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            _drop_primitives(current, key.partition("/")[2], value)
        if not key.startswith(_DIRECTIVES):
            _merge_field(current, key, value)
    for key, value in patch.items():
        if key.startswith(_ORDER) and isinstance(value, list):
            field = key.removeprefix(_ORDER)
            _put_in_order(current, field, before.get(field), value)
    return current


def _merge_field(current: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        current.pop(key, None)
    elif isinstance(value, dict):
        current[key] = strategic_merge(current.get(key), value)
    elif isinstance(value, list):
        current[key] = _merge_list(key, current.get(key) or [], value)
    else:
        current[key] = value


def _merge_list(field: str, current: list[Any], patch: list[Any]) -> list[Any]:
    if field in PRIMITIVE_SETS:
        return _in_order({item: item for item in [*current, *patch]}, current, patch)
    merge_key = _merge_key(field, [*current, *patch])
    if merge_key is None:
        return [item for item in patch if not _is_directive(item)]
    if any(_is_directive(item) and item["$patch"] == "replace" for item in patch):
        return [item for item in patch if not _is_directive(item)]
    result = {item.get(merge_key): item for item in current}
    for item in patch:
        identity = item.get(merge_key)
        if item.get("$patch") == "delete":
            result.pop(identity, None)
        else:
            result[identity] = strategic_merge(result.get(identity), item)
    before = [item.get(merge_key) for item in current]
    return _in_order(result, before, [item.get(merge_key) for item in patch])


def _put_in_order(current: dict[str, Any], field: str, before: Any, wanted: list[Any]) -> None:
    """Order a merged list: what `wanted` names as it names it, the rest as the server had it."""
    merged, earlier = current.get(field), before if isinstance(before, list) else []
    if not isinstance(merged, list):
        return
    if field in PRIMITIVE_SETS:
        current[field] = _in_order({item: item for item in merged}, earlier, wanted)
        return
    merge_key = _merge_key(field, [*merged, *earlier, *wanted])
    if merge_key is not None:
        keyed = {item[merge_key]: item for item in merged}
        identities = [[item[merge_key] for item in items] for items in (earlier, wanted)]
        current[field] = _in_order(keyed, *identities)


def _in_order(merged: dict[Any, Any], before: list[Any], patched: list[Any]) -> list[Any]:
    """The merged items in Kubernetes' order.

    Items of the patch keep its order, the others that of the server, and a new item of the patch
    goes in front of the next item that only the server has.
    """
    mine = [key for key in dict.fromkeys(patched) if key in merged]
    theirs = [key for key in merged if key not in mine]
    place = {key: index for index, key in enumerate(before)}
    ordered: list[Any] = []
    while mine and theirs:
        is_behind = mine[0] in place and place[mine[0]] > place[theirs[0]]
        ordered.append((theirs if is_behind else mine).pop(0))
    return [merged[key] for key in [*ordered, *mine, *theirs]]


def _merge_key(field: str, items: list[Any]) -> str | None:
    for candidate in MERGE_KEYS.get(field, ()):
        elements = [item for item in items if not (_is_directive(item) and len(item) == 1)]
        if all(isinstance(item, dict) and candidate in item for item in elements):
            return candidate
    return None


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and "$patch" in item


def _drop_primitives(current: dict[str, Any], field: str, values: list[Any]) -> None:
    if isinstance(current.get(field), list):
        current[field] = [item for item in current[field] if item not in values]
