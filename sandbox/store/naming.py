"""What names, labels, annotations, finalizers and owner references may look like.

The texts are those of the API server, because people search for them. Rules:
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
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL}')"
)
_QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_QUALIFIED}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '({_QUALIFIED})?')"
)
_LABEL_RESOURCES = frozenset({"namespaces", "services"})
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_DOTS_TEXT = "must not contain dots"
_FINALIZER_TEXT = "name is neither a standard finalizer name nor is it fully qualified"
_KEY_TEXT = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
    f"used for validation is '{_QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. "
    "'example.com/MyName')"
)


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
    return _problems(name, _SUBDOMAIN, _SUBDOMAIN_TEXT, SUBDOMAIN_CHARS_MAX, "characters")


@lru_cache(maxsize=8192)
def label_problems(name: str) -> tuple[str, ...]:
    """What is wrong with a label of the DNS, such as the host name of a Pod."""
    has_dots = "." in name and re.fullmatch(_SUBDOMAIN, name)
    text = _DOTS_TEXT if has_dots else _LABEL_TEXT
    return _problems(name, _LABEL, text, LABEL_CHARS_MAX, "characters")


@lru_cache(maxsize=8192)
def qualified_name_problems(name: str) -> tuple[str, ...]:
    """What is wrong with the key of a label, annotation or finalizer."""
    prefix, slash, local = name.rpartition("/")
    problems: list[str] = []
    if "/" in prefix:
        return (_KEY_TEXT,)
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems.extend(
            f"prefix part {text}"
            for text in _problems(prefix, _SUBDOMAIN, _SUBDOMAIN_TEXT, SUBDOMAIN_CHARS_MAX)
        )
    if not local:
        problems.append("name part must be non-empty")
    if len(local) > LABEL_CHARS_MAX:
        problems.append(f"name part must be no more than {LABEL_CHARS_MAX} bytes")
    if not re.fullmatch(_QUALIFIED, local):
        problems.append(_QUALIFIED_TEXT)
    return tuple(problems)


@lru_cache(maxsize=8192)
def label_value_problems(value: str) -> tuple[str, ...]:
    problems = []
    if len(value) > LABEL_CHARS_MAX:
        problems.append(f"must be no more than {LABEL_CHARS_MAX} bytes")
    if not re.fullmatch(f"({_QUALIFIED})?", value):
        problems.append(_VALUE_TEXT)
    return tuple(problems)


def _problems(
    name: str, pattern: str, text: str, chars_max: int, unit: str = "bytes"
) -> tuple[str, ...]:
    problems = []
    if len(name) > chars_max:
        problems.append(f"must be no more than {chars_max} {unit}")
    if not re.fullmatch(pattern, name):
        problems.append(text)
    return tuple(problems)


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
            yield invalid_value(f"{path}.apiVersion", version, "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                yield invalid_value(f"{path}.{field}", "", "must not be empty")
        if version in {"v1", "events.k8s.io/v1"} and owner.get("kind") == "Event":
            group, _, number = version.rpartition("/")
            text = f"{group}/{number}, Kind=Event is disallowed from being an owner"
            yield invalid_value(path, owner, text)
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        yield invalid_value(
            path,
            owners,
            "Only one reference can have Controller set to true. Found "
            f'"true" in references for {controllers[0].get("kind")}/{controllers[0].get("name")}'
            f" and {controllers[1].get('kind')}/{controllers[1].get('name')}",
        )
