"""What a request says besides its path: its body, and the parameters of its verb.

Lives here: decoding of bodies and reading of parameters, with the refusals of kube-apiserver.
What the values mean to objects is decided by the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from sandbox.http.routing import Query, Target
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import (
    ApiError,
    Cause,
    bad_request,
    expired,
    forbidden_field,
    invalid,
    not_supported,
    too_large,
    unsupported_media_type,
)
from sandbox.store.patching import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from sandbox.store.resources import ResourceType

BODY_BYTES_MAX = 3 * 1024 * 1024
NESTING_MAX = 200  # what has fewer brackets than this cannot be too deep
_NESTING_OF_ANSWERS = 32  # levels that lists, tables and events put around an object
FIELD_VALIDATIONS = ("Ignore", "Warn", "Strict")
NOT_OLDER_THAN = "NotOlderThan"
EXACT = "Exact"
_BODY_TYPES = ("application/json", "application/yaml")
_YAML_TYPES = frozenset({"application/yaml", "text/yaml", "application/x-yaml"})
_PATCH_TYPES = frozenset({JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH})


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a resource that exists. Header names are in lower case."""

    rt: ResourceType
    target: Target
    query: Query
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def dry_run(self) -> bool:
        """Whether `dryRun=All` was asked for; 422 for any other value."""
        value = self.query.text("dryRun")
        if value not in {"", "All"}:
            raise _invalid_options("CreateOptions", not_supported("dryRun", value, ("All",)))
        return bool(value)

    def field_validation(self) -> str:
        value = self.query.text("fieldValidation")
        if value and value not in FIELD_VALIDATIONS:
            cause = not_supported("fieldValidation", value, FIELD_VALIDATIONS)
            raise _invalid_options("CreateOptions", cause)
        return value

    def sent_object(self) -> Any:
        """The decoded body of a POST or PUT."""
        kind = self.content_type
        if kind in _YAML_TYPES:
            return _yaml(self.body)
        if kind in {"application/json", ""}:
            return _json(self.body, f"must be of type {self.rt.kind}")
        raise unsupported_media_type(kind, _BODY_TYPES)

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
        if kind not in _PATCH_TYPES:
            served = [JSON_PATCH, MERGE_PATCH]
            if not self.rt.custom:
                served.append(STRATEGIC_MERGE_PATCH)
            said = f"{kind}; server-side apply is not served here" if kind == APPLY_PATCH else kind
            raise unsupported_media_type(said, served)
        return _json(self.body, "must be a patch"), kind

    def delete_options(self) -> DeleteOptions:
        """DeleteOptions of the body or, when there is none, of the query parameters."""
        if self.body:
            sent = self.sent_object()
            if not isinstance(sent, dict):
                raise bad_request("DeleteOptions have to be an object")
            if self.dry_run():
                sent = {**sent, "dryRun": ["All"]}
            return DeleteOptions.from_body(sent)
        said: dict[str, Any] = {}
        if (grace_s := self.query.number("gracePeriodSeconds")) is not None:
            said["gracePeriodSeconds"] = grace_s
        if policy := self.query.text("propagationPolicy"):
            said["propagationPolicy"] = policy
        if self.query.text("orphanDependents"):
            said["orphanDependents"] = self.query.flag("orphanDependents")
        if self.dry_run():
            said["dryRun"] = ["All"]
        return DeleteOptions.from_body(said)

    def version(self) -> int | None:
        """The parameter resourceVersion; None when it is not given."""
        value = self.query.text("resourceVersion")
        if not value:
            return None
        if not value.isdecimal():
            cause = Cause("resourceVersion", f'Invalid value: "{value}": invalid resource version')
            raise _invalid_options("ListOptions", cause)
        return int(value)


def check_size(body: bytes) -> None:
    """413 for a body that is over the limit of kube-apiserver."""
    if len(body) > BODY_BYTES_MAX:
        raise too_large(
            f"Request entity too large: limit is {BODY_BYTES_MAX} bytes, got {len(body)}"
        )


def check_list(call: Call, current_version: int) -> None:
    """Refuse lists that cannot be answered from the one state there is.

    410 for old exact versions and for continue tokens (every list comes in one page, so none was
    ever handed out), 504 for versions that do not exist yet.
    """
    if call.query.text("continue"):
        raise expired(
            "The provided continue parameter is not from this server: lists come in one page. "
            "Start a new list without the continue parameter."
        )
    match, wanted = call.query.text("resourceVersionMatch"), call.version()
    if match:
        _check_match(
            match,
            wanted,
            "resourceVersionMatch is forbidden for list unless resourceVersion is provided",
        )
    if wanted is None or wanted == 0:
        return
    if wanted > current_version:
        raise too_large_version(wanted, current_version)
    if match == EXACT and wanted < current_version:
        raise expired(f"The provided resource version is too old: {wanted} ({current_version})")


def check_watch(call: Call) -> bool:
    """Whether the watch begins as a streaming list; 422 for what contradicts itself."""
    match = call.query.text("resourceVersionMatch")
    if not call.query.text("sendInitialEvents"):
        if match:
            raise _invalid_options(
                "ListOptions",
                forbidden_field(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                    "provided",
                ),
            )
        return False
    if match != NOT_OLDER_THAN:
        raise _invalid_options(
            "ListOptions",
            forbidden_field(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ),
        )
    return call.query.flag("sendInitialEvents")


def too_large_version(wanted: int, current: int) -> ApiError:
    """504, as for a version of the future that did not come while the server waited."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    text = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return ApiError(504, "Timeout", text, details)


def _check_match(match: str, wanted: int | None, unless_given: str) -> None:
    if match not in {EXACT, NOT_OLDER_THAN}:
        supported = not_supported("resourceVersionMatch", match, (EXACT, NOT_OLDER_THAN))
        raise _invalid_options("ListOptions", supported)
    if wanted is None:
        raise _invalid_options("ListOptions", forbidden_field("resourceVersionMatch", unless_given))
    if match == EXACT and wanted == 0:
        detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        raise _invalid_options("ListOptions", forbidden_field("resourceVersionMatch", detail))


@dataclass(frozen=True, slots=True)
class _Options:
    kind: str
    group: str = "meta.k8s.io"
    plural: str = ""


def _invalid_options(kind: str, cause: Cause) -> ApiError:
    return invalid(_Options(kind, plural=kind), "", [cause])


def _json(body: bytes, wanted: str) -> Any:
    try:
        sent = orjson.loads(body)
        if body.count(b"{") + body.count(b"[") > NESTING_MAX:
            _refuse_deep_nesting(sent)
        return sent
    except orjson.JSONDecodeError as problem:
        raise bad_request(
            f"the object provided is unrecognized ({wanted}): couldn't get version/kind; "
            f"json parse error: {problem}"
        ) from problem


def _refuse_deep_nesting(sent: Any) -> None:
    """400 for what could be stored and never be written out again: the encoder has a limit."""
    wrapped = sent
    for _ in range(_NESTING_OF_ANSWERS):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except orjson.JSONEncodeError as problem:
        raise bad_request(f"the body is nested too deeply: {problem}") from problem


def _yaml(body: bytes) -> Any:
    """YAML as JSON can say it: what has no JSON form is refused here and not deep in the store."""
    try:
        read = yaml.load(body, _PlainLoader)  # noqa: S506 - a safe loader without time stamps
        sent = orjson.loads(orjson.dumps(read, default=str))
        _refuse_deep_nesting(sent)
        return sent
    except (yaml.YAMLError, orjson.JSONEncodeError, RecursionError) as problem:
        raise bad_request(f"error converting YAML to JSON: {problem}") from problem


class _PlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML without time stamps: Kubernetes reads them as strings."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
