"""What is wrong with a CustomResourceDefinition.

1. Names, versions, columns and scale paths. 2. Is the schema structural? 3. Its patterns, lists
and rules. 4. Only if all of that is right: defaults, and what rules say of their types. With one
version, paths are those of the definition as a whole, because a real server keeps it so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sandbox.store import rule_typing
from sandbox.store.errors import Cause, forbidden_field, invalid_value, not_supported, required
from sandbox.store.naming import name_problems
from sandbox.store.schemas import Schema
from sandbox.store.strategies import Body
from sandbox.store.structural import UNSUPPORTED, structural_causes

Obj = Mapping[str, Any]
_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_LIST_TYPES = ("atomic", "set", "map")
_NOT_RE2 = re.compile(r"\(\?(?:=|!|<=|<!)|\\[1-9]")
_KEYS = "x-kubernetes-list-map-keys"
_LIST_TYPE = "x-kubernetes-list-type"
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_CHARS_MAX = 63
_LABEL_TEXT = f"has to match {_LABEL.pattern}"


def definition_causes(obj: Body) -> list[Cause]:
    """Everything that is wrong."""
    return [*_name(obj), *_spec(obj["spec"]), *_stored(obj)]


def _name(obj: Body) -> Iterator[Cause]:
    names, name = obj["spec"]["names"], obj["metadata"]["name"]
    if name != f"{names.get('plural', '')}.{obj['spec'].get('group', '')}":
        yield invalid_value("metadata.name", name, "has to be PLURAL.GROUP")


def _spec(spec: Obj) -> Iterator[Cause]:
    group, scope, versions = spec.get("group"), spec.get("scope"), spec.get("versions") or []
    if not group:
        yield required("spec.group")
    elif problems := name_problems("", group):
        yield invalid_value("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")
    if not scope:
        yield required("spec.scope")
    elif scope not in _SCOPES:
        yield not_supported("spec.scope", scope, _SCOPES)
    yield from _versions(versions)
    yield from _names(spec["names"])
    if len(versions) == 1:
        yield from _version(versions[0], "spec", "spec.validation")


def _versions(versions: list[Any]) -> Iterator[Cause]:
    for index, version in enumerate(versions):
        if "openAPIV3Schema" not in (version.get("schema") or {}):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if problem := _label_problem(version.get("name") or ""):
            yield invalid_value(f"{path}.name", version.get("name") or "", problem)
        if len(versions) > 1:
            yield from _version(version, path, f"{path}.schema")
    shown = [version.get("name") for version in versions]
    if len(set(shown)) != len(shown):
        yield invalid_value("spec.versions", shown, "must contain unique version names")
    if [bool(item.get("storage")) for item in versions].count(True) != 1:
        text = "must have exactly one version marked as storage version"
        yield invalid_value("spec.versions", shown, text)
    if [bool(item.get("served")) for item in versions].count(True) != 1 and versions:
        text = "exactly one served version is supported here (no conversion)"
        yield forbidden_field("spec.versions", text)


def _label_problem(name: str) -> str:
    if len(name) > _LABEL_CHARS_MAX:
        return f"has more than {_LABEL_CHARS_MAX} characters"
    return "" if _LABEL.fullmatch(name) else _LABEL_TEXT


def _names(names: Obj) -> Iterator[Cause]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    for field in ("plural", "singular", "kind", "listKind"):
        given = names.get(field) or ""
        plain = given.lower() if field in {"kind", "listKind"} else given
        if given and (problem := _label_problem(plain)):
            yield invalid_value(f"spec.names.{field}", given, problem)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        text = "kind and listKind may not be the same"
        yield invalid_value("spec.names.listKind", names["listKind"], text)
    for field in ("shortNames", "categories"):
        for index, given in enumerate(names.get(field) or ()):
            if problem := _label_problem(given):
                yield invalid_value(f"spec.names.{field}[{index}]", given, problem)


def _stored(obj: Body) -> Iterator[Cause]:
    if not obj["status"].get("storedVersions"):
        text = "must have at least one stored version"
        yield invalid_value("status.storedVersions", None, text)


def _version(version: Obj, path: str, schema_path: str) -> Iterator[Cause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        yield from _schema(schema, f"{schema_path}.openAPIV3Schema")
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale(scale, f"{path}.subresources.scale")
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column(column, f"{path}.additionalPrinterColumns[{index}]")


def _scale(scale: Obj, path: str) -> Iterator[Cause]:
    for field, below in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        given, where = scale.get(field), f"{path}.{field}"
        if not given:
            yield required(where)
        elif not given.startswith(f"{below}."):
            yield invalid_value(where, given, f"has to begin with {below}.")
    given, where = scale.get("labelSelectorPath"), f"{path}.labelSelectorPath"
    if given and not given.startswith((".spec.", ".status.")):
        yield invalid_value(where, given, "has to begin with .spec. or .status.")


def _column(column: Obj, path: str) -> Iterator[Cause]:
    kind, where = column.get("type"), column.get("jsonPath")
    one_of = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.get("name"):
        yield required(f"{path}.name")
    if not kind:
        yield required(f"{path}.type", one_of)
    elif kind not in _COLUMN_TYPES:
        yield invalid_value(f"{path}.type", kind, one_of)
    if not where:
        yield required(f"{path}.JSONPath")
    elif not where.startswith("."):
        yield invalid_value(f"{path}.JSONPath", where, "has to begin with a point")


def _schema(schema: Any, path: str) -> Iterator[Cause]:
    found = list(structural_causes(schema, path))
    unsupported = [each for each in found if each.field.rpartition(".")[2] in UNSUPPORTED]
    found = unsupported or found  # what cannot be read hides what is not structural
    for each in _all_below(schema, path):
        found += [*_pattern(*each), *_lists(*each), *_rules_of(*each)]
    if not found:
        found = list(_defaults(schema, path))
    if not found:
        found = list(rule_typing.rule_causes(schema, path))
    yield from found


def _all_below(schema: Any, path: str) -> Iterator[tuple[Obj, str]]:
    if not isinstance(schema, dict):
        return
    yield schema, path
    for name, below in (schema.get("properties") or {}).items():
        yield from _all_below(below, f"{path}.properties[{name}]")
    for keyword in ("additionalProperties", "items"):
        yield from _all_below(schema.get(keyword), f"{path}.{keyword}")


def _pattern(schema: Obj, path: str) -> Iterator[Cause]:
    """Go's expressions are RE2: without looking around and without references back."""
    pattern = schema.get("pattern") or ""
    try:
        re.compile(pattern)
        problem = f"{found[0]} is not in RE2" if (found := _NOT_RE2.search(pattern)) else ""
    except re.error as error:
        problem = str(error)
    if problem:
        yield invalid_value(f"{path}.pattern", pattern, f"is no regular expression: {problem}")


def _lists(schema: Obj, path: str) -> Iterator[Cause]:
    kind, keys, items = schema.get(_LIST_TYPE), schema.get(_KEYS) or [], schema.get("items")
    if kind is None:
        if keys:
            text = f"must be map if {_KEYS} is non-empty"
            yield required(f"{path}.{_LIST_TYPE}", text)
        return
    if schema.get("type") != "array":
        text = f"must be array if {_LIST_TYPE} is specified"
        yield invalid_value(f"{path}.type", schema.get("type", ""), text)
    if kind not in _LIST_TYPES:
        yield not_supported(f"{path}.{_LIST_TYPE}", kind, _LIST_TYPES)
    if keys and kind != "map":
        yield invalid_value(f"{path}.{_LIST_TYPE}", kind, f"must be map if {_KEYS} is non-empty")
    if kind == "map":
        yield from _map_list(keys, items or {}, path)


def _map_list(keys: list[str], items: Obj, path: str) -> Iterator[Cause]:
    if not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if items and items.get("type") != "object":
        text = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid_value(f"{path}.items.type", items.get("type", ""), text)
        return
    known = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in known:
            text = "entries must all be names of item properties"
            yield invalid_value(f"{path}.{_KEYS}", keys, text)
        elif known[key].get("type") in {"array", "object"}:
            text = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", "object", text)
        elif "default" not in known[key] and key not in (items.get("required") or ()):
            where = f"{path}.items.properties[{key}].default"
            text = (
                f"this property is in {_KEYS}, so it must have a default or be a required property"
            )
            yield required(where, text)
        if key in keys[:index]:
            yield invalid_value(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")


def _rules_of(schema: Obj, path: str) -> Iterator[Cause]:
    for index, entry in enumerate(schema.get("x-kubernetes-validations") or ()):
        where = f"{path}.x-kubernetes-validations[{index}]"
        rule, message = (entry.get("rule") or "").strip(), entry.get("message") or ""
        if not rule:
            yield required(f"{where}.rule", "rule is not specified")
        elif message and not message.strip():
            yield invalid_value(f"{where}.message", message, "must be non-empty if specified")
        elif "\n" in message.strip():
            yield invalid_value(f"{where}.message", message, "must not contain line breaks")
        elif "\n" in rule and not message:
            text = "message must be specified if rule contains line breaks"
            yield required(f"{where}.message", text)
        reason = entry.get("reason")
        if reason is not None and reason not in rule_typing.REASONS:
            yield not_supported(f"{where}.reason", reason, sorted(rule_typing.REASONS))


def _defaults(schema: Obj, path: str) -> Iterator[Cause]:
    """A default has to be valid where it stands."""
    for below, where in _all_below(schema, path):
        if below.get("default") is None:
            continue
        holder = Schema({"type": "object", "properties": {"default": below}})
        complete = holder.defaulted({"default": below["default"]})
        for cause in holder.causes(complete):
            yield replace(cause, field=f"{where}.{cause.field}")
