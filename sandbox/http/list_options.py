"""What a LIST or a WATCH asks for, read and refused in the order of kube-apiserver.

1. Numbers (400). 2. The grammar of both selectors (400). 3. Options that contradict each other
(422). 4. Fields that the resource does not select by (400). 5. The name in the path of a watch.
Versions and tokens come last: paging.py reads those of lists, api.py those of watches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sandbox.http.requests import Call, invalid_options
from sandbox.store.errors import ApiError, Cause, bad_request, forbidden_field, not_supported
from sandbox.store.label_selectors import label_requirements
from sandbox.store.selecting import field_terms, selector_of

NOT_OLDER_THAN = "NotOlderThan"
EXACT = "Exact"


@dataclass(frozen=True, slots=True)
class ListOptions:
    """meta/v1 ListOptions. `initial_events` None leaves it to the version; `limit` 0: no limit."""

    labels: str
    fields: str
    limit: int
    timeout_s: int
    version: str
    match: str
    token: str
    initial_events: bool | None
    bookmarks: bool

    @property
    def selects(self) -> bool:
        return bool(self.labels or self.fields)

    @property
    def name(self) -> str:
        """The only name that can match, if the fields say so."""
        return next(
            (term.value for term in field_terms(self.fields) if term.path == _NAME and term.wanted),
            "",
        )


_NAME = "metadata.name"


def list_options(call: Call, *, watch: bool = False) -> ListOptions:
    """The options of a LIST, of a DELETE of a collection or, with `watch`, of a WATCH."""
    query = call.query
    options = ListOptions(
        labels=query.text("labelSelector"),
        fields=query.text("fieldSelector"),
        timeout_s=max(query.number("timeoutSeconds") or 0, 0),
        limit=max(query.number("limit") or 0, 0),
        version=query.text("resourceVersion"),
        match=query.text("resourceVersionMatch"),
        token=query.text("continue"),
        initial_events=query.choice("sendInitialEvents"),
        bookmarks=query.flag("allowWatchBookmarks"),
    )
    label_requirements(options.labels)
    field_terms(options.fields)
    if watch:
        options = _defaulted(options)
    if causes := _watch_causes(options) if watch else _list_causes(options):
        raise invalid_options("ListOptions", *causes)
    selector_of(call.rt, options.labels, options.fields)
    return _of_one(options, call.target.name) if call.target.name else options


def _defaulted(options: ListOptions) -> ListOptions:
    """A watch without a version is a streaming list, whether it says so or not."""
    says = options.initial_events is not None or options.match
    if says or options.version not in {"", "0"}:
        return options
    return replace(options, initial_events=True, match=NOT_OLDER_THAN)


def _of_one(options: ListOptions, name: str) -> ListOptions:
    """The options of a watch of one object, which its path names."""
    if field_terms(options.fields) and options.name != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return replace(options, fields=options.fields or f"{_NAME}={name}")


def _list_causes(options: ListOptions) -> list[Cause]:
    match, causes = options.match, []
    if match:
        if not options.version:
            causes.append(_forbidden_match("is forbidden unless resourceVersion is provided"))
        if options.token:
            causes.append(_forbidden_match("is forbidden when continue is provided"))
        if match not in {EXACT, NOT_OLDER_THAN}:
            allowed = (EXACT, NOT_OLDER_THAN, "")
            causes.append(not_supported("resourceVersionMatch", match, allowed))
        if match == EXACT and options.version == "0":
            causes.append(_forbidden_match('"exact" is forbidden for resourceVersion "0"'))
    if options.initial_events is not None:
        detail = "sendInitialEvents is forbidden for list"
        causes.append(forbidden_field("sendInitialEvents", detail))
    return causes


def _watch_causes(options: ListOptions) -> list[Cause]:
    match, causes = options.match, []
    if options.initial_events is not None and match != NOT_OLDER_THAN:
        detail = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        causes.append(forbidden_field("resourceVersionMatch", detail))
    if match:
        if options.initial_events is None:
            causes.append(
                _forbidden_match("is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != NOT_OLDER_THAN:
            causes.append(not_supported("resourceVersionMatch", match, (NOT_OLDER_THAN,)))
        if options.token:
            causes.append(_forbidden_match("is forbidden when continue is provided"))
    return causes


def _forbidden_match(detail: str) -> Cause:
    return forbidden_field("resourceVersionMatch", f"resourceVersionMatch {detail}")


def version_number(value: str, *, of_list: bool = False) -> int | None:
    """A resourceVersion; None where it is not given.

    400 for a list that gives no number; elsewhere kube-apiserver takes that for its own fault.
    """
    if not value:
        return None
    if value.isdecimal() and value.isascii():
        return int(value)
    text = f"resourceVersion {value} is no number"
    raise bad_request(text) if of_list else ApiError(500, "", text)


def too_large_version(wanted: int, current: int) -> ApiError:
    """504, as for a version of the future that did not come while the server waited."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    text = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return ApiError(504, "Timeout", text, details)
