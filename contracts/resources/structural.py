"""From a model to the structural OpenAPI v3 schema that a CustomResourceDefinition demands.

pydantic writes JSON Schema 2020-12; the API server refuses most of its idioms:

1. `$ref` is replaced by what it refers to; the field's own description and default win.
2. `anyOf` with null becomes the other branch, `nullable` unless the field or an enum forbids it.
   The API server compares null with the members of an enum. It drops null from a field that is
   not nullable, so such a field accepts null, too.
3. Numeric `exclusiveMinimum` and `exclusiveMaximum` of integers become inclusive bounds.
4. `title` is dropped. A default of null or of an empty list is dropped, too: it means the same
   as absence, but the API server would write it into what people and services sent.
5. Integers without a `format` get the format `int64`.

The result has no `$ref`, `anyOf`, `allOf`, `const` or null. An idiom that has no rule here raises
`NotStructural` and never reaches a cluster.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from .fields import Fields

Schema = dict[str, Any]

_KEPT: Final = frozenset(
    {
        "type",
        "format",
        "description",
        "enum",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "required",
        "nullable",
    }
)
_DROPPED: Final = frozenset({"title"})
_REWRITTEN: Final = frozenset(
    {"default", "properties", "items", "additionalProperties", "exclusiveMinimum"}
    | {"exclusiveMaximum"}
)
_NESTING_MAX: Final = 16


class NotStructural(ValueError):
    """A model uses an idiom that has no structural form here."""


@cache
def structural(model: type[Fields]) -> Schema:
    """The structural schema of a model, with keys in a stable order; nobody may change it."""
    document = model.model_json_schema(by_alias=True, mode="validation")
    definitions = document.pop("$defs", {})
    return _convert(document, definitions, place=model.__name__, depth=0)


def _convert(schema: Schema, definitions: dict[str, Schema], *, place: str, depth: int) -> Schema:
    if depth > _NESTING_MAX:
        raise NotStructural(f"{place}: nested deeper than {_NESTING_MAX}")
    flat = _flattened(schema, definitions, place)
    converted: Schema = {}
    for key in sorted(flat):
        if key in _KEPT or key.startswith("x-kubernetes-"):
            converted[key] = flat[key]
        elif key not in _REWRITTEN and key not in _DROPPED:
            raise NotStructural(f"{place}: {key} has no structural form")
    _convert_children(flat, converted, definitions, place=place, depth=depth)
    _convert_bounds(flat, converted)
    if flat.get("default") not in (None, []):
        converted["default"] = flat["default"]
    if converted.get("type") == "integer":
        converted.setdefault("format", "int64")
    if not converted.get("nullable", True):
        del converted["nullable"]
    return converted


def _flattened(schema: Schema, definitions: dict[str, Schema], place: str) -> Schema:
    """The schema with `$ref` and `anyOf` with null resolved; outer keys win."""
    if "$ref" in schema:
        outer = {key: value for key, value in schema.items() if key != "$ref"}
        target = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        return {**_flattened(target, definitions, place), **outer}
    if "anyOf" in schema:
        outer = {key: value for key, value in schema.items() if key != "anyOf"}
        branches = [each for each in schema["anyOf"] if each != {"type": "null"}]
        if len(branches) != 1 or len(branches) == len(schema["anyOf"]):
            raise NotStructural(f"{place}: only one alternative besides null can be expressed")
        inner = _flattened(branches[0], definitions, place)
        return {"nullable": "enum" not in inner, **inner, **outer}
    return dict(schema)


def _convert_children(
    flat: Schema, converted: Schema, definitions: dict[str, Schema], *, place: str, depth: int
) -> None:
    if "properties" in flat:
        converted["properties"] = {
            name: _convert(child, definitions, place=f"{place}.{name}", depth=depth + 1)
            for name, child in flat["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if key in flat:
            converted[key] = _convert(
                flat[key], definitions, place=f"{place}[{key}]", depth=depth + 1
            )


def _convert_bounds(flat: Schema, converted: Schema) -> None:
    if "exclusiveMinimum" in flat:
        converted["minimum"] = flat["exclusiveMinimum"] + 1
    if "exclusiveMaximum" in flat:
        converted["maximum"] = flat["exclusiveMaximum"] - 1
