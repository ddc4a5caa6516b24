"""What a request says besides its path: its body, and the parameters of its verb.

Lives here: decoding of bodies and reading of parameters, with the refusals of kube-apiserver.
What the values mean to objects is decided by the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.http import bodies, protobuf
from sandbox.http.routing import Query, Target
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import (
    ApiError,
    Cause,
    bad_request,
    forbidden_field,
    invalid,
    json_type,
    not_supported,
    too_large,
    unsupported_media_type,
)
from sandbox.store.json_text import Unreadable
from sandbox.store.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, patch_types
from sandbox.store.repeating import repeated, written_fields
from sandbox.store.resources import ResourceType
from sandbox.store.validation import IGNORE, FieldValidation

BODY_BYTES_MAX = 3 * 1024 * 1024
FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_DELETE_OPTIONS = "DeleteOptions"
BODY_TYPES = ("application/json", "application/yaml", protobuf.PROTOBUF)
_YAML_TYPES = frozenset({"application/yaml", "text/yaml", "application/x-yaml"})
_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})
_PATCH_TYPES = frozenset({JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH})
_JSON_TYPES = _PATCH_TYPES | {"application/json", ""}


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a resource that exists. Header names are in lower case."""

    rt: ResourceType
    target: Target
    query: Query
    headers: Mapping[str, str]
    body: bytes
    warnings: list[str] = field(default_factory=list)  # of the answer

    @property
    def content_type(self) -> str:
        header = self.headers.get("content-type", "")
        return header.partition(";")[0].strip().lower() or header

    def dry_run(self) -> bool:
        """Whether `dryRun=All` was requested; 422 for any other value."""
        value = self.query.text("dryRun")
        if value not in {"", "All"}:
            raise invalid_options("CreateOptions", not_supported("dryRun", [value], ("All",)))
        return bool(value)

    def validation_of(self, sent: Any) -> FieldValidation:
        """How to look at the fields of what was sent, and at those of a patch itself."""
        how = self._field_validation()
        if how == IGNORE or self.content_type not in _JSON_TYPES:
            return FieldValidation(how, warnings=self.warnings)
        written = written_fields(self.body, sent)
        if self.content_type != JSON_PATCH:
            return FieldValidation(how, written, warnings=self.warnings)
        complaints = [f'json patch duplicate field "{path}"' for path in repeated(written)]
        complaints += _unknown_of_operations(sent)
        return FieldValidation(how, complaints=complaints, warnings=self.warnings)

    def _field_validation(self) -> str:
        value = self.query.text("fieldValidation")
        if value and value not in FIELD_VALIDATIONS:
            cause = not_supported("fieldValidation", value, FIELD_VALIDATIONS)
            raise invalid_options("CreateOptions", cause)
        return value

    def sent_object(self) -> Any:
        """The decoded body of a POST or PUT."""
        kind = self.content_type
        if kind in _YAML_TYPES:
            return bodies.yaml_object(self.body)
        if kind in {"application/json", ""}:
            return bodies.json_object(self.body, self.rt)
        if kind == protobuf.PROTOBUF and not self.rt.custom:
            return protobuf.sent_object(self.body, self.rt.kind)
        raise unsupported_media_type(BODY_TYPES)

    def sent_part(self, name: str) -> dict[str, Any]:
        """An object inside the body of an action; empty if it is absent, 400 if it is not one."""
        sent = self.sent_object()
        part = sent.get(name) if isinstance(sent, dict) else None
        if part is not None and not isinstance(part, dict):
            raise bad_request(f"{name} has to be an object")
        return part or {}

    def sent_patch(self) -> tuple[Any, str]:
        """The decoded patch and its kind; 415 for kinds that are not served."""
        kind = self.content_type
        if kind not in _PATCH_TYPES or (self.rt.custom and kind == STRATEGIC_MERGE_PATCH):
            raise unsupported_media_type(patch_types(self.rt))
        return bodies.json_patch_body(self.body), kind

    def check_patch_options(self) -> None:
        """422 for parameters of a patch that only server-side apply has, or nobody."""
        causes = []
        if "force" in self.query.values:
            causes.append(forbidden_field("force", "may not be specified for non-apply patch"))
        if (value := self.query.text("dryRun")) not in {"", "All"}:
            causes.append(not_supported("dryRun", [value], ("All",)))
        if causes:
            raise invalid_options("PatchOptions", *causes)

    def _sent_options(self) -> dict[str, Any]:
        if self.content_type not in {"application/json", ""}:
            return _options_of(self.sent_object())
        try:
            return _options_of(bodies.decoded(self.body))
        except Unreadable as problem:
            raise bad_request(f"the options are not JSON: {problem}") from problem

    def delete_options(self) -> DeleteOptions:
        """DeleteOptions of the body or, without a body, of the query parameters."""
        if self.body:
            sent = self._sent_options()
            if self.dry_run():
                sent = {**sent, "dryRun": ["All"]}
            return DeleteOptions.from_body(sent)
        options: dict[str, Any] = {}
        if (grace_s := self.query.number("gracePeriodSeconds")) is not None:
            options["gracePeriodSeconds"] = grace_s
        if policy := self.query.text("propagationPolicy"):
            options["propagationPolicy"] = policy
        if self.query.text("orphanDependents"):
            options["orphanDependents"] = self.query.flag("orphanDependents")
        if self.dry_run():
            options["dryRun"] = ["All"]
        return DeleteOptions.from_body(options)


def _unknown_of_operations(operations: Any) -> list[str]:
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations if isinstance(operations, list) else ())
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION_FIELDS
    ]


def _options_of(sent: Any) -> dict[str, Any]:
    """400 for a body that is no DeleteOptions, whose group is nobody's business."""
    if sent is None:
        return {}
    if not isinstance(sent, dict):
        raise bad_request(f"the options cannot be of type {json_type(sent)}")
    kind, version = sent.get("kind") or _DELETE_OPTIONS, sent.get("apiVersion") or "meta.k8s.io/v1"
    if kind != _DELETE_OPTIONS:
        raise bad_request(f"the options have to be {_DELETE_OPTIONS}, and not {kind} of {version}")
    return sent


def check_size(body: bytes) -> None:
    """413 for a body that is over the limit of kube-apiserver."""
    if len(body) > BODY_BYTES_MAX:
        raise too_large(f"Request entity too large: limit is {BODY_BYTES_MAX}")


@dataclass(frozen=True, slots=True)
class _Options:
    kind: str
    group: str = "meta.k8s.io"
    plural: str = ""


def invalid_options(kind: str, *causes: Cause) -> ApiError:
    """422 for parameters, as if they were an object of their own."""
    return invalid(_Options(kind, plural=kind), "", causes)
