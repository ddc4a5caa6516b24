"""Whatever is written, somebody who follows a watch knows what a list would say."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.store.errors import ApiError
from sandbox.store.resources import CONFIG_MAP, NAMESPACE
from sandbox.store.store import Store
from sandbox.store.watching import Watch
from tests.unit.sandbox.store.building import MERGE, config_map, new_store

NAMESPACES = ("default", "other")
SCOPES: tuple[tuple[str | None, str, str], ...] = (
    (None, "", ""),
    ("other", "", ""),
    (None, "job=1", ""),
    ("default", "job in (1,2),!old", ""),
    (None, "", "metadata.name=b"),
)
writes = st.tuples(
    st.sampled_from(("create", "label", "finalize", "release", "delete", "collect")),
    st.sampled_from(NAMESPACES),
    st.sampled_from(("a", "b", "c")),
    st.sampled_from(("1", "2", None)),
)


def write(store: Store, verb: str, namespace: str, name: str, value: str | None) -> None:
    """One write; a refusal is a fine outcome."""
    labels: dict[str, Any] = {"labels": {"job": value}} if value else {}
    finalizers = ["example.com/a"] if verb == "finalize" else None
    with contextlib.suppress(ApiError):
        if verb == "create":
            store.create(CONFIG_MAP, namespace, config_map(name, metadata=labels))
        elif verb == "label":
            body: dict[str, Any] = {"metadata": {"labels": {"job": value}}}
            store.patch(CONFIG_MAP, namespace, name, body, MERGE)
        elif verb == "delete":
            store.delete(CONFIG_MAP, namespace, name)
        elif verb == "collect":
            for obj in store.list(CONFIG_MAP, namespace, labels="job=1").items:
                store.delete(CONFIG_MAP, namespace, obj["metadata"]["name"])
        else:
            body = {"metadata": {"finalizers": finalizers}}
            store.patch(CONFIG_MAP, namespace, name, body, MERGE)


class Mirror:
    """What a client knows that lists once and then follows a watch."""

    def __init__(self, store: Store, scope: tuple[str | None, str, str]) -> None:
        self._store, self._scope = store, scope
        namespace, labels, fields = scope
        listing = store.list(CONFIG_MAP, namespace, labels=labels, fields=fields)
        self._objects: dict[str, Any] = {self._key(obj): obj for obj in listing.items}
        self._version = listing.resource_version

    def catch_up(self, watch: Watch) -> None:
        for event in watch.take():
            assert event.resource_version > self._version
            self._version = event.resource_version
            key = self._key(event.object)
            if event.type == "DELETED":
                del self._objects[key]
            else:
                assert (key in self._objects) is (event.type == "MODIFIED")
                self._objects[key] = event.object

    def watch(self) -> Watch:
        namespace, labels, fields = self._scope
        return self._store.watch(
            CONFIG_MAP, namespace, labels=labels, fields=fields, since=self._version
        )

    def check(self) -> None:
        namespace, labels, fields = self._scope
        listing = self._store.list(CONFIG_MAP, namespace, labels=labels, fields=fields)
        assert [self._objects[key] for key in sorted(self._objects)] == listing.items

    @staticmethod
    def _key(obj: dict[str, Any]) -> str:
        return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


@settings(max_examples=150, deadline=None)
@given(before=st.lists(writes, max_size=8), after=st.lists(writes, max_size=25))
def test_a_list_followed_by_a_watch_knows_everything(
    before: list[tuple[str, str, str, str | None]], after: list[tuple[str, str, str, str | None]]
) -> None:
    store = new_store()
    store.create(NAMESPACE, None, {"metadata": {"name": "other"}})
    for arguments in before:
        write(store, *arguments)
    mirrors = [Mirror(store, scope) for scope in SCOPES]
    live = [mirror.watch() for mirror in mirrors]
    late = [Mirror(store, scope) for scope in SCOPES]
    for arguments in after:
        write(store, *arguments)
    for mirror, watch in zip(mirrors, live, strict=True):
        mirror.catch_up(watch)
        mirror.check()
    for mirror in late:  # from history instead of live
        mirror.catch_up(mirror.watch())
        mirror.check()
