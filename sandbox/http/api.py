"""One request in, one answer out: the API server as a plain function, without sockets.

Lives here: routing of verbs to the store. Paths and parameters are read in routing.py and
requests.py, answers are rendered in rendering.py, and what a write means is the store's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from sandbox.http import rendering
from sandbox.http.answers import (
    Answer,
    StreamAnswer,
    WatchAnswer,
    json_answer,
    refusal,
    success,
    with_warnings,
)
from sandbox.http.discovery import Discovery
from sandbox.http.kept_logs import FindLog, kept_log_answer
from sandbox.http.list_options import (
    ListOptions,
    list_options,
    too_large_version,
    version_number,
)
from sandbox.http.measuring import measured
from sandbox.http.metrics import METRICS_TYPE, RequestMetrics
from sandbox.http.negotiation import shape_of, unacceptable
from sandbox.http.older_autoscalers import answered
from sandbox.http.paging import Page, key_of, page_of, too_old, wanted
from sandbox.http.played_logs import log_answer
from sandbox.http.pod_proxy import ProxyAnswer, proxy_answer
from sandbox.http.requests import Call, check_size
from sandbox.http.reviewing import review
from sandbox.http.routing import Query, Target, no_such_method, no_such_path, split_path, target_of
from sandbox.http.served import AUTOSCALER_V1, MEASURED, Served
from sandbox.http.tokens import Tokens
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import ApiError, bad_request, method_not_allowed, not_found
from sandbox.store.resources import (
    CUSTOM_RESOURCE_DEFINITION,
    SELF_SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
    ResourceType,
)
from sandbox.store.store import Store
from sandbox.store.watching import StoredObject

WATCH_TIMEOUT_S = 45 * 60.0  # of watches that do not say how long they want to last
_OBJECT_SUBRESOURCES = frozenset({"", "status", "scale", "resize"})
# Kinds whose DELETE answers with the object itself, where others show a Status.
_SHOWN_WHEN_GONE = frozenset({"pods", "services", "serviceaccounts", "persistentvolumeclaims"})

_PLAIN = {"content-type": "text/plain; charset=utf-8"}


_NOTHING_THERE = Answer(404, b"404 page not found\n", _PLAIN)


class NoSuchGroup(Exception):
    """A path below a group or version that is not served; the answer is not even a Status."""


AnyAnswer = Answer | WatchAnswer | StreamAnswer | ProxyAnswer


class Api:
    """The API server in process. `now` gives unix seconds, for the ages in tables.

    `logs` finds the logs of pods that are processes; those of the others are played.
    """

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], float],
        has_metrics: bool = False,
        logs: FindLog | None = None,
    ) -> None:
        self.store = store
        self.metrics = RequestMetrics()
        self._now = now
        self._served = Served(store, has_metrics=has_metrics)
        self.tokens = Tokens(store, now)
        self._logs = logs
        self._discovery = Discovery(self._served, self._schema_of)
        self._verbs: dict[str, Callable[[Call], AnyAnswer]] = {
            "GET": self._get,
            "LIST": self._list,
            "WATCH": self._watch,
            "POST": self._create,
            "PUT": self._replace,
            "PATCH": self._patch,
            "DELETE": self._delete,
            "DELETECOLLECTION": self._delete_collection,
        }

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AnyAnswer:
        """Answer a request. `path` includes the query string; header names are in lower case."""
        passed_on = proxy_answer(method, path, headers, self.store)
        if passed_on is not None:
            agent = headers.get("user-agent", "")
            self.metrics.count(method, "pods", "proxy", passed_on.status, agent)
            return passed_on
        bare, query = split_path(path)
        target = target_of(bare)
        if target is None:
            return self._describe(method, bare, headers)
        verb = _verb_of(method, target, query)
        warnings: list[str] = []
        try:
            check_size(body)
            rt = self._type_of(target)
            answer = self._answer(verb, Call(rt, target, query, headers, body, warnings))
        except NoSuchGroup:
            answer = _NOTHING_THERE
        except ApiError as error:
            answer = refusal(error)
        if warnings and isinstance(answer, Answer):
            answer = with_warnings(answer, warnings)
        agent = headers.get("user-agent", "")
        self.metrics.count(verb, target.plural, target.subresource, answer.status, agent)
        return answer

    def _describe(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if path == "/metrics":
            return Answer(200, self.metrics.text(), {"content-type": METRICS_TYPE})
        try:
            accept = headers.get("accept", "")
            found = self.tokens.published(path, accept) or self._discovery.answer(path, accept)
        except ApiError as error:
            return refusal(error)
        if found is None or method not in {"GET", "HEAD"}:
            return refusal(no_such_path()) if path.startswith("/api/") else _NOTHING_THERE
        return found

    def _type_of(self, target: Target) -> ResourceType:
        """The resource that a path names; 404 if nothing like it is served."""
        rt = self._served.find(target.group, target.version, target.plural)
        if rt is None and target.group and not self._is_built_in(target.group):
            raise NoSuchGroup
        if rt is None or (target.namespace is not None and not rt.namespaced):
            raise no_such_path()
        if rt.namespaced and target.namespace is None and target.name:
            raise no_such_path()
        return rt

    def _is_built_in(self, group: str) -> bool:
        return any(rt.group == group and not rt.custom for rt in self._served.all())

    def _answer(self, verb: str, call: Call) -> AnyAnswer:
        if call.rt.key == SELF_SUBJECT_ACCESS_REVIEW.key:
            return review(verb, call)
        if call.rt.key == TOKEN_REVIEW.key:
            return self.tokens.review(verb, call)
        if call.rt == AUTOSCALER_V1:
            return answered(verb, call, self.store)
        if call.rt in MEASURED:
            return measured(verb, call, self.store, self._now)
        answer_verb = self._verbs.get(verb)
        target = call.target
        elsewhere = call.rt.namespaced and target.namespace is None
        if answer_verb is None or (elsewhere and verb not in {"LIST", "WATCH"}):
            raise no_such_method()
        if verb in {"PUT", "PATCH"} and not target.name:
            raise no_such_method()
        if target.subresource in _OBJECT_SUBRESOURCES:
            _require_subresource(call)
            return answer_verb(call)
        return self._answer_action(verb, call)

    def _answer_action(self, verb: str, call: Call) -> AnyAnswer:
        """Subresources that are actions: binding, eviction, finalize, log, token."""
        subresource = call.target.subresource
        if call.rt.key == "pods" and subresource == "log" and verb == "GET":
            kept = kept_log_answer(call, self.store, self._logs, self._now) if self._logs else None
            return kept or log_answer(call, self.store)
        _require_subresource(call)
        if subresource == "token" and verb == "POST":
            return self.tokens.issue(call)
        if subresource == "binding" and verb == "POST":
            return self._bind(call)
        if subresource == "eviction" and verb == "POST":
            return self._evict(call)
        if subresource == "finalize" and verb == "PUT":
            return self._replace(call)
        raise method_not_allowed(call.rt, verb.lower())

    # Reading

    def _get(self, call: Call) -> Answer:
        target = call.target
        shape = _shape(call)
        version = version_number(call.query.text("resourceVersion"))
        if version and version > self.store.version:
            raise too_large_version(version, self.store.version)
        if target.subresource == "scale":
            found = self.store.get(call.rt, target.namespace, target.name, subresource="scale")
        else:
            found = self.store.get(call.rt, target.namespace, target.name)
        return rendering.one(call, 200, found, shape, self._now)

    def _list(self, call: Call) -> Answer:
        shape = _shape(call, of_list=True)
        page, version = self._page(call, list_options(call))
        return rendering.listing(call, page, version, shape, self._now)

    def _page(self, call: Call, options: ListOptions) -> tuple[Page, int]:
        """A page of a collection, and the version that it shows."""
        page = wanted(options, self.store.version)
        where = (call.rt, call.target.namespace)
        try:
            found = self.store.list(
                *where, labels=options.labels, fields=options.fields, as_of=page.as_of
            )
        except ApiError as error:
            if page.after is not None and error.code == HTTPStatus.GONE:
                raise too_old(page) from error
            raise
        collection = found.items
        if page.limit and options.selects and not options.name:
            collection = self.store.list(*where, as_of=page.as_of).items
        last = key_of(collection[-1]) if collection else None
        return page_of(found.items, found.resource_version, page, last), found.resource_version

    def _watch(self, call: Call) -> WatchAnswer:
        line = rendering.line_of(call, _shape(call, of_list=True), self._now)
        options = list_options(call, watch=True)
        since = version_number(options.version)
        watch = self.store.watch(
            call.rt,
            call.target.namespace,
            labels=options.labels,
            fields=options.fields,
            since=since or self.store.version,
            bookmarks=options.bookmarks,
            initial_events=options.initial_events,
        )
        if options.initial_events and since and since > self.store.version:
            watch.fail(too_large_version(since, self.store.version))
        return WatchAnswer(
            watch, line, float(options.timeout_s or WATCH_TIMEOUT_S), options.bookmarks
        )

    # Writing

    def _create(self, call: Call) -> Answer:
        if call.target.name:
            raise no_such_method()
        sent = call.sent_object()
        created = self.store.create(
            call.rt,
            call.target.namespace,
            sent,
            validation=call.validation_of(sent),
            dry_run=call.dry_run(),
        )
        return self._shown(call, 201, created)

    def _replace(self, call: Call) -> Answer:
        target, sent = call.target, call.sent_object()
        stored = self.store.replace(
            call.rt,
            target.namespace,
            target.name,
            sent,
            subresource=target.subresource,
            validation=call.validation_of(sent),
            dry_run=call.dry_run(),
        )
        return self._shown(call, 200, stored)

    def _patch(self, call: Call) -> Answer:
        target = call.target
        patch, content_type = call.sent_patch()
        call.check_patch_options()
        stored = self.store.patch(
            call.rt,
            target.namespace,
            target.name,
            patch,
            content_type,
            subresource=target.subresource,
            validation=call.validation_of(patch),
            dry_run=call.dry_run(),
        )
        return self._shown(call, 200, stored)

    def _delete(self, call: Call) -> Answer:
        target = call.target
        removal = self.store.remove(call.rt, target.namespace, target.name, call.delete_options())
        if removal.gone and call.rt.key not in _SHOWN_WHEN_GONE:
            return json_answer(200, success(_details(call.rt, removal.object)))
        return self._shown(call, 200, removal.object)

    def _delete_collection(self, call: Call) -> Answer:
        shape = _shape(call)
        page, version = self._page(call, list_options(call))
        options = call.delete_options()
        for obj in page.items:
            self.store.remove(call.rt, *key_of(obj), options)
        return rendering.listing(call, page, version, shape, self._now)

    def _bind(self, call: Call) -> Answer:
        target = call.sent_part("target")
        node = target.get("name")
        if not isinstance(node, str) or not node:
            raise bad_request("a Binding has to name its target")
        if not call.dry_run():
            self.store.bind(call.target.namespace or "", call.target.name, node)
        return json_answer(201, _created())

    def _evict(self, call: Call) -> Answer:
        options = DeleteOptions.from_body(call.sent_part("deleteOptions"))
        if call.dry_run():
            options = replace(options, dry_run=True)
        self.store.evict(call.target.namespace or "", call.target.name, options)
        return json_answer(201, _created())

    def _shown(self, call: Call, status: int, obj: StoredObject) -> Answer:
        shape = _shape(call)
        return rendering.one(call, status, obj, shape, self._now)

    def _schema_of(self, rt: ResourceType) -> dict[str, Any] | None:
        """The schema that a CRD gives to the version of a resource."""
        if not rt.custom:
            return None
        found = self.store.get(CUSTOM_RESOURCE_DEFINITION, None, rt.key)
        for version in found["spec"]["versions"]:
            if version["name"] == rt.version:
                schema: dict[str, Any] | None = (version.get("schema") or {}).get("openAPIV3Schema")
                return schema
        return None


def _verb_of(method: str, target: Target, query: Query) -> str:
    """The verb as kube-apiserver counts it."""
    if method == "GET":
        if target.watched or (query.flag("watch") and not target.name):
            return "WATCH"
        return "GET" if target.name else "LIST"
    if target.watched:
        return f"{method} of a watch"
    if method == "DELETE" and not target.name:
        return "DELETECOLLECTION"
    return method


def _shape(call: Call, *, of_list: bool = False) -> str:
    """In which shape the answer is wanted; 406 for one that is not served."""
    shape = shape_of(call.headers.get("accept", ""))
    if shape is None:
        raise unacceptable(custom=call.rt.custom, of_list=of_list)
    return shape


def _require_subresource(call: Call) -> None:
    subresource = call.target.subresource
    if subresource and subresource not in call.rt.subresources:
        raise not_found(call.rt, call.target.name) if call.rt.custom else no_such_path()


def _details(rt: ResourceType, obj: StoredObject) -> dict[str, Any]:
    details = {"name": obj["metadata"]["name"]}
    if rt.group:
        details["group"] = rt.group
    details["kind"] = rt.plural
    details["uid"] = obj["metadata"]["uid"]
    return details


def _created() -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
