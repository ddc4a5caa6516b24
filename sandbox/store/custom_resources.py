"""Custom resources: what the schema and rules of a CRD version mean for its objects.

definitions.py makes these strategies out of CustomResourceDefinitions; schemas.py and rules.py
do the work on values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.store import rules
from sandbox.store.errors import Cause
from sandbox.store.scaling import ScalePaths, scale_causes
from sandbox.store.schema_causes import ROOT
from sandbox.store.schemas import Schema
from sandbox.store.strategies import Body

_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_NOT_CHECKED = Cause(
    ROOT,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class CustomStrategy:
    """The strategy of one served version of a custom resource."""

    def __init__(
        self, openapi: Mapping[str, Any], *, with_status: bool, scale: ScalePaths | None
    ) -> None:
        """Raises rules.RuleError if a rule cannot be compiled."""
        self._schema = Schema(openapi)
        self._rules = rules.compile_rules(openapi)
        self._with_status = with_status
        self._scale = scale

    def unknown_fields(self, obj: Body) -> list[str]:
        unknown: list[str] = []
        self._schema.pruned(obj, unknown)
        return unknown

    def admit_new(self, obj: Body) -> Body:
        obj = self._schema.pruned(obj)
        if self._with_status:
            obj.pop("status", None)
        return self._schema.defaulted(obj)

    def causes_against_new(self, obj: Body) -> list[Cause]:
        found = self._schema.causes(obj)
        if self._scale is not None:
            found += scale_causes(obj, self._scale)
        return self._causes(obj, found, None)

    def admit_change(self, obj: Body, old: Mapping[str, Any], *, subresource: str) -> Body:
        obj = self._schema.defaulted(self._schema.pruned(obj))
        if subresource == "status":
            return _with_field({**old, "metadata": dict(old["metadata"])}, "status", obj)
        if self._with_status:
            return _with_field(dict(obj), "status", old)
        return obj

    def causes_against_change(
        self, obj: Body, old: Mapping[str, Any], *, subresource: str
    ) -> list[Cause]:
        found = self._schema.causes(obj)
        if found:
            found = [cause for cause in found if not _unchanged(cause, obj, old)]
        if subresource == "status":
            found = [_in_status(cause) for cause in found]
        if self._scale is not None:
            found += scale_causes(obj, self._scale, status_only=subresource == "status")
        return self._causes(obj, found, old)

    def as_stored(self, obj: Body) -> Body:
        return self._schema.read_back(obj)

    def _causes(self, obj: Body, found: list[Cause], old: Mapping[str, Any] | None) -> list[Cause]:
        if self._rules is None:
            return found
        if any(cause.reason in _BLOCKING for cause in found):
            return [*found, _NOT_CHECKED]
        return found + rules.causes(self._rules, self._schema.root, obj, old)


def _with_field(obj: Body, field: str, source: Mapping[str, Any]) -> Body:
    """`obj` with `field` as in `source`, absent if it is absent there."""
    if field in source:
        obj[field] = source[field]
    else:
        obj.pop(field, None)
    return obj


def _in_status(cause: Cause) -> Cause:
    """A change of the status alone is validated by its part of the schema: paths begin there."""
    return replace(cause, field="status") if cause.field == ROOT else cause


def _unchanged(cause: Cause, obj: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether the value that is wrong was stored like that before, and may therefore stay.

    Items of lists have no identity, so a list has to be unchanged as a whole; a field that is
    missing may stay missing while its surroundings are unchanged.
    """
    steps = [name for name, index in _STEP.findall(cause.field.split("[")[0]) if name]
    if cause.reason == "FieldValueRequired" and "[" not in cause.field:
        steps = steps[:-1]
    if not steps or cause.field == ROOT:
        return False
    mine, theirs = _at(obj, steps), _at(old, steps)
    return mine is not None and mine == theirs


def _at(obj: Any, steps: list[str]) -> Any:
    for step in steps:
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(step)
    return obj
