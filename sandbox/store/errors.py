"""What the API server refuses, as the Status that Kubernetes answers with.

Lives here: the exception, its causes, and one factory per kind of refusal. When to refuse is
decided by the modules that raise; turning a Status into a response is the business of HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sandbox.store.folding import Folded, written
from sandbox.store.json_text import BeyondDouble

OPTIMISTIC_LOCK = (
    "the object has been modified; please apply your changes to the latest version and try again"
)

VALUE_CHARS_MAX = 200
"""Of a value in a message."""


class Named(Protocol):
    """What an error says about a resource type (see resources.ResourceType)."""

    @property
    def group(self) -> str: ...

    @property
    def plural(self) -> str: ...

    @property
    def kind(self) -> str: ...


@dataclass(frozen=True)
class Cause:
    """One field that is wrong: `field` is its path, `message` what follows the path."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class ApiError(Exception):
    """A request that is refused. `reason` and `code` are those of metav1.Status.

    `token` leads on from a list that cannot be continued as it began.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        *,
        token: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self._token = token

    def status(self) -> dict[str, Any]:
        """The body of the answer (kind Status)."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self._token} if self._token else {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        if not self.reason:
            del body["reason"]
        if self.details is not None:
            body["details"] = self.details
        return body


def shown(value: Any) -> str:
    """A value as JSON."""
    return cut(written(value).decode())


def cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[:VALUE_CHARS_MAX]}…"


def json_type(value: Any) -> str:
    """What JSON calls a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | BeyondDouble):
        return "number"
    if isinstance(value, str):
        return "string"
    is_object = value.is_object if isinstance(value, Folded) else isinstance(value, dict)
    return "object" if is_object else "array"


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    return Cause(field, f"Invalid value: {shown(value)}: {detail}")


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause(field, f"Invalid value: {shown(value)}: {detail}", "FieldValueTypeInvalid")


def required(field: str, detail: str = "") -> Cause:
    text = f"Required value: {detail}" if detail else "Required value"
    return Cause(field, text, "FieldValueRequired")


def forbidden_field(field: str, detail: str) -> Cause:
    return Cause(field, f"Forbidden: {detail}", "FieldValueForbidden")


def not_supported(field: str, value: Any, allowed: Iterable[Any]) -> Cause:
    listed = ", ".join(map(shown, allowed))
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return Cause(field, text, "FieldValueNotSupported")


def too_long(field: str, bytes_max: int) -> Cause:
    text = f"Too long: may not be more than {bytes_max} bytes"
    return Cause(field, text, "FieldValueTooLong")


def too_many(field: str, count: int, count_max: int) -> Cause:
    text = f"Too many: {count}: must have at most {count_max} items"
    return Cause(field, text, "FieldValueTooMany")


def duplicate(field: str, value: Any, detail: str = "") -> Cause:
    text = f"Duplicate value: {shown(value)}"
    return Cause(field, f"{text}: {detail}" if detail else text, "FieldValueDuplicate")


def not_found(rt: Named, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{_resource(rt)} "{name}" not found', _details(rt, name))


def already_exists(rt: Named, name: str, *, ending: bool = False) -> ApiError:
    """409. `ending` where what is there is being deleted."""
    text = f'{_resource(rt)} "{name}" already exists'
    if ending:
        text = f"object is being deleted: {text}"
    return ApiError(409, "AlreadyExists", text, _details(rt, name))


def conflict(rt: Named, name: str, why: str = OPTIMISTIC_LOCK) -> ApiError:
    text = f'Operation cannot be fulfilled on {_resource(rt)} "{name}": {why}'
    return ApiError(409, "Conflict", text, _details(rt, name))


def invalid(
    rt: Named, name: str, causes: Sequence[Cause], *, by_resource: bool = False
) -> ApiError:
    """422. `by_resource` names the plural instead of the kind, as kube-apiserver's storage does."""
    kind = rt.plural if by_resource else rt.kind
    qualified = f"{kind}.{rt.group}" if rt.group else kind
    texts = list(dict.fromkeys(str(cause) for cause in causes))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(rt, name)
    details["kind"] = kind
    details["causes"] = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes
    ]
    return ApiError(422, "Invalid", f"{qualified} {shown(name)} is invalid: {listed}", details)


def unknown_fields(rt: Named, complaints: Sequence[str]) -> ApiError:
    """400: fieldValidation=Strict and fields that are not known or given twice."""
    return bad_request(f"{rt.kind}: {', '.join(complaints)}")


def patch_leads_astray(why: str) -> ApiError:
    """422: what a patch led to is not an object of its kind."""
    cause = Cause("patch", f"Invalid value: {why}")
    details = {"causes": [{"reason": cause.reason, "message": cause.message, "field": "patch"}]}
    return ApiError(422, "Invalid", str(cause), details)


def patch_rejected() -> ApiError:
    """422: a JSON patch that does not fit the object, for instance a failing test."""
    text = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", text, {})


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(rt: Named, name: str, why: str, causes: Sequence[Cause] = ()) -> ApiError:
    details = _details(rt, name)
    if causes:
        details["causes"] = [
            {"reason": cause.reason, "message": cause.message, "field": cause.field}
            for cause in causes
        ]
    quoted = f' "{name}"' if name else ""
    return ApiError(403, "Forbidden", f"{_resource(rt)}{quoted} is forbidden: {why}", details)


def in_ending_namespace(rt: Named, name: str, namespace: str) -> ApiError:
    ending = f"namespace {namespace} is being terminated"
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(rt, name, why, [Cause("metadata.namespace", ending, "NamespaceTerminating")])


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def future_version(version: int) -> ApiError:
    """500: an exact list of a version that there is not yet, as etcd puts it."""
    return ApiError(500, "", f"etcdserver: mvcc: required revision is a future revision: {version}")


def object_too_large() -> ApiError:
    """500: an object that etcd does not take."""
    return ApiError(500, "", "etcdserver: request is too large")


def internal_error(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}")


def unsupported_media_type(supported: Sequence[str]) -> ApiError:
    text = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(supported)}"
    )
    return ApiError(415, "UnsupportedMediaType", text)


def too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", message)


def method_not_allowed(rt: Named, verb: str) -> ApiError:
    text = f"{verb} is not supported on resources of kind {shown(_resource(rt))}"
    details = {"group": rt.group, "kind": rt.plural} if rt.group else {"kind": rt.plural}
    return ApiError(405, "MethodNotAllowed", text, details)


def _resource(rt: Named) -> str:
    return f"{rt.plural}.{rt.group}" if rt.group else rt.plural


def _details(rt: Named, name: str) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if rt.group:
        details["group"] = rt.group
    details["kind"] = rt.plural
    return details
