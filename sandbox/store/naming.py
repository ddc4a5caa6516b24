"""What names, labels, annotations, finalizers and owner references may look like.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from sandbox.store.errors import Cause, invalid_value, required, too_long
from sandbox.store.resources import ResourceType

SUBDOMAIN_CHARS_MAX = 253
LABEL_CHARS_MAX = 63
ANNOTATIONS_BYTES_MAX = 256 * 1024
GENERATED_SUFFIX_CHARS = 5
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENDS = "and begin and end with a letter or digit"
_SUBDOMAIN_TEXT = f"has to consist of a-z, 0-9, '-' and '.', {_ENDS}"
_LABEL_TEXT = f"has to consist of a-z, 0-9 and '-', {_ENDS}"
_QUALIFIED_TEXT = f"has to consist of letters, digits, '-', '_' and '.', {_ENDS}"
_VALUE_TEXT = f"has to be empty, or to consist of letters, digits, '-', '_' and '.', {_ENDS}"
_LABEL_RESOURCES = frozenset({"namespaces", "services"})
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_FINALIZER_TEXT = f"has to be one of {', '.join(sorted(_STANDARD_FINALIZERS))}, or to have a domain"
_KEY_TEXT = "has more than one '/'"


def generated_name(base: str, uid: str) -> str:
    """`generateName` completed by five characters that are a function of `uid`."""
    digest = hashlib.sha256(uid.encode()).digest()
    suffix = "".join(_SUFFIX_ALPHABET[byte % len(_SUFFIX_ALPHABET)] for byte in digest)
    kept = base[: LABEL_CHARS_MAX - GENERATED_SUFFIX_CHARS]
    return kept + suffix[:GENERATED_SUFFIX_CHARS]


def metadata_causes(rt: ResourceType, meta: Mapping[str, Any]) -> list[Cause]:
    """Everything that is wrong with the metadata of an object."""
    causes = [
        invalid_value("metadata.generateName", base, text)
        for base in (meta.get("generateName"),)
        if base
        for text in name_problems(rt.key, base.removesuffix("-") + "a")
    ]
    if not meta["name"]:
        causes.append(required("metadata.name", "name or generateName is required"))
    causes += [
        invalid_value("metadata.name", meta["name"], text)
        for text in (name_problems(rt.key, meta["name"]) if meta["name"] else ())
    ]
    if labels := meta.get("labels"):
        causes.extend(_label_causes(labels))
    if annotations := meta.get("annotations"):
        causes.extend(_annotation_causes(annotations))
    if owners := meta.get("ownerReferences"):
        causes.extend(_owner_causes(owners))
    if finalizers := meta.get("finalizers"):
        causes.extend(
            invalid_value("metadata.finalizers", finalizer, text)
            for finalizer in finalizers
            for text in qualified_name_problems(finalizer)
        )
        if not rt.custom and not rt.group.startswith("apiextensions"):
            causes.extend(
                invalid_value(f"metadata.finalizers[{index}]", finalizer, _FINALIZER_TEXT)
                for index, finalizer in enumerate(finalizers)
                if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
            )
    return causes


@lru_cache(maxsize=8192)
def name_problems(key: str, name: str) -> tuple[str, ...]:
    """What is wrong with `name` for an object of the resource stored under `key`."""
    if key in _LABEL_RESOURCES:
        return label_problems(name)
    return _problems(name, _SUBDOMAIN, _SUBDOMAIN_TEXT, SUBDOMAIN_CHARS_MAX)


@lru_cache(maxsize=8192)
def label_problems(name: str) -> tuple[str, ...]:
    """What is wrong with a label of the DNS, such as the host name of a Pod."""
    return _problems(name, _LABEL, _LABEL_TEXT, LABEL_CHARS_MAX)


@lru_cache(maxsize=8192)
def qualified_name_problems(name: str) -> tuple[str, ...]:
    """What is wrong with the key of a label, annotation or finalizer."""
    prefix, slash, local = name.rpartition("/")
    if "/" in prefix:
        return (_KEY_TEXT,)
    found = _problems(local, _QUALIFIED, _QUALIFIED_TEXT, LABEL_CHARS_MAX)
    if not slash:
        return found
    before = _problems(prefix, _SUBDOMAIN, _SUBDOMAIN_TEXT, SUBDOMAIN_CHARS_MAX)
    return (*(f"the part before '/' {text}" for text in before), *found)


@lru_cache(maxsize=8192)
def label_value_problems(value: str) -> tuple[str, ...]:
    return _problems(value, f"({_QUALIFIED})?", _VALUE_TEXT, LABEL_CHARS_MAX)


def _problems(name: str, pattern: str, text: str, chars_max: int) -> tuple[str, ...]:
    if len(name) > chars_max:
        return (f"has more than {chars_max} characters",)
    return () if re.fullmatch(pattern, name) else (text,)


def _label_causes(labels: Mapping[str, str]) -> Iterator[Cause]:
    for key, value in labels.items():
        for text in qualified_name_problems(key):
            yield invalid_value("metadata.labels", key, text)
        for text in label_value_problems(value):
            yield invalid_value("metadata.labels", value, text)


def _annotation_causes(annotations: Mapping[str, str]) -> Iterator[Cause]:
    size = 0
    for key, value in annotations.items():
        size += len(key.encode()) + len(value.encode())
        for text in qualified_name_problems(key.lower()):
            yield invalid_value("metadata.annotations", key, text)
    if size > ANNOTATIONS_BYTES_MAX:
        yield too_long("metadata.annotations", ANNOTATIONS_BYTES_MAX)


def _owner_causes(owners: list[dict[str, Any]]) -> Iterator[Cause]:
    path = "metadata.ownerReferences"
    for owner in owners:
        version = owner.get("apiVersion") or ""
        if not version or version.count("/") > 1:
            yield invalid_value(f"{path}.apiVersion", version, "has to be GROUP/VERSION")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                yield invalid_value(f"{path}.{field}", "", "must not be empty")
        if version in {"v1", "events.k8s.io/v1"} and owner.get("kind") == "Event":
            yield invalid_value(path, owner, "an Event cannot own anything")
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        yield invalid_value(path, owners, "only one owner can be the controller")
