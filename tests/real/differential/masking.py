"""What two clusters cannot agree on, replaced by a word that says what stood there.

Masked: uids, times, addresses, continue tokens, generated suffixes of `gen-…`, versions of lists.
Not masked: whether a version changed. A resourceVersion of an object becomes its number in order
of appearance, so that a write that changes nothing shows the same one again. Descriptions of
columns are masked, because the sandbox has no documentation of fields.
A refusal shows its code, its reason and details, and the field and reason of each cause once, in
the order of the alphabet. Its message is not compared: the sandbox has a wording of its own.
Dropped: `managedFields` (the sandbox has no server-side apply), except for entries of managers that
an exchange names, what the cluster itself puts into every namespace and on every node, hashes of
discovery, and plain bookmarks (the server decides on their time).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_DROPPED = frozenset({"managedFields", "remainingItemCount", "storageVersionHash"})
_SORTED = frozenset({"resources", "verbs"})
_OF_THE_CLUSTER = frozenset({"kube-root-ca.crt"})
# The second marks our definitions from an installation on, which tests beside these make.
_ANNOTATIONS_OF_OTHERS = frozenset({"node.alpha.kubernetes.io/ttl", "millrace.dev/version"})
_TAINTS_OF_CONTROLLERS = "node.kubernetes.io/"
_TEXTS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b"), "<address>"),
    (re.compile(r"\bgen-[a-z0-9]{5}\b"), "gen-<suffix>"),
    (re.compile(r"\b\d+(ms|s)\b"), "<age>"),
)


class Mask:
    """The mask of one exchange on one side."""

    def __init__(self, fields: Sequence[str], *, managers: Sequence[str] = ()) -> None:
        self._managers = frozenset(managers)
        self._fields = frozenset(fields)
        self._versions: dict[str, str] = {}

    def masked(self, value: Any, *, of_list: bool = False) -> Any:
        """The value with everything replaced that cannot be compared."""
        if isinstance(value, dict):
            return self._masked_object(value, of_list=of_list)
        if isinstance(value, list):
            return [self.masked(item) for item in value if not _is_noise(item)]
        if isinstance(value, str):
            for pattern, word in _TEXTS:
                value = pattern.sub(word, value)
        return value

    def _masked_object(self, value: dict[str, Any], *, of_list: bool) -> dict[str, Any]:
        if value.get("kind") == "Status" and value.get("status") == "Failure":
            value = _without_wording(value)
        passes_on = _passes_on(value, of_list=of_list)
        result: dict[str, Any] = {}
        for key, item in value.items():
            if key == "managedFields" and isinstance(item, list):
                shown = [each for each in item if each.get("manager") in self._managers]
                if shown:
                    result[key] = self.masked(shown)
                continue
            if key in _DROPPED:
                continue
            if key in self._fields or (key == "description" and "jsonPath" not in value):
                result[key] = "<masked>"
            elif key == "resourceVersion" and isinstance(item, str) and item:
                result[key] = "<list>" if of_list else self._version(item)
            elif key in _SORTED and isinstance(item, list):
                result[key] = sorted(self.masked(item), key=str)
            elif _of_others(key, item):
                continue
            elif key == "continue" and item:
                result[key] = "<token>"
            else:
                result[key] = self.masked(item, of_list=key == passes_on)
        return result

    def _version(self, version: str) -> str:
        return self._versions.setdefault(version, f"v{len(self._versions) + 1}")


def _without_wording(status: dict[str, Any]) -> dict[str, Any]:
    """A refusal as programs read it."""
    kept = {key: item for key, item in status.items() if key != "message"}
    if (causes := (status.get("details") or {}).get("causes")) is not None:
        fields = {f"{each.get('field', '')}: {each.get('reason', '')}" for each in causes}
        kept["details"] = {**status["details"], "causes": sorted(fields)}
    return kept


def _passes_on(value: dict[str, Any], *, of_list: bool) -> str:
    """The field that holds, below it, the version of a list and not of an object."""
    if value.get("type") == "BOOKMARK":
        return "object"
    kind = str(value.get("kind", ""))
    return "metadata" if of_list or kind.endswith("List") or kind == "Table" else ""


def _of_others(key: str, item: Any) -> bool:
    """Taints and annotations that controllers of nodes or other tests have made."""
    if key == "taints" and isinstance(item, list):
        return bool(item) and all(_is_noise(taint) for taint in item)
    if key == "annotations" and isinstance(item, dict):
        return bool(item) and item.keys() <= _ANNOTATIONS_OF_OTHERS
    return key in _ANNOTATIONS_OF_OTHERS


def _is_noise(item: Any) -> bool:
    """What nobody requested: objects of the cluster itself, its taints, and plain bookmarks."""
    if not isinstance(item, dict):
        return False
    shown = item.get("object") or {}
    if "type" in item and shown.get("kind") == "Table":
        rows = shown.get("rows") or ()
        return all(_is_noise({**item, "object": row.get("object")}) for row in rows)
    if item.get("type") == "BOOKMARK":
        return "annotations" not in shown.get("metadata", {})
    if str(item.get("key", "")).startswith(_TAINTS_OF_CONTROLLERS) and "effect" in item:
        return True
    obj = item.get("object") if isinstance(item.get("object"), dict) else item
    assert isinstance(obj, dict)
    meta = obj.get("metadata")
    return isinstance(meta, dict) and meta.get("name") in _OF_THE_CLUSTER
