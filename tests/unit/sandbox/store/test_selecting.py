"""Selectors: which objects a list finds."""

from __future__ import annotations

import pytest

from sandbox.store.resources import CONFIG_MAP, EVENT, POD
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import (
    config_map,
    definition,
    pod,
    refusal,
    serve,
    widget,
)

LABELLED = {
    "a": {"app": "web", "tier": "front"},
    "b": {"app": "web", "tier": "back"},
    "c": {"app": "db"},
    "d": {},
}


@pytest.fixture
def maps(store: Store) -> Store:
    for name, labels in LABELLED.items():
        store.create(CONFIG_MAP, "default", config_map(name, metadata={"labels": labels}))
    return store


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("", "abcd"),
        ("app=web", "ab"),
        ("app==web", "ab"),
        ("app!=web", "cd"),
        ("app", "abc"),
        ("!app", "d"),
        ("app in (web, db)", "abc"),
        ("app notin (web)", "cd"),
        ("app in (web),tier=back", "b"),
        ("app,tier notin (front,back)", "c"),
        ("app=", ""),
        ("example.com/x=1", ""),
    ],
)
def test_label_selectors_follow_the_grammar(maps: Store, selector: str, found: str) -> None:
    listed = maps.list(CONFIG_MAP, "default", labels=selector).items
    assert "".join(obj["metadata"]["name"] for obj in listed) == found


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (" app = web ", "ab"),
        ("app in (web,)", "ab"),
        ("app in ()", ""),
        ("app notin (,)", "abcd"),
        ("!app,!tier", "d"),
        ("in", ""),
        ("app!=", "abcd"),
        ("tier in (in,notin,back)", "b"),
    ],
)
def test_words_may_be_left_out_or_look_like_operators(
    maps: Store, selector: str, found: str
) -> None:
    listed = maps.list(CONFIG_MAP, "default", labels=selector).items
    assert "".join(obj["metadata"]["name"] for obj in listed) == found


def test_numbers_are_compared_as_numbers(store: Store) -> None:
    for name, size in (("a", "9"), ("b", "10"), ("c", "x"), ("d", "99999999999999999999")):
        body = config_map(name, metadata={"labels": {"size": size}})
        store.create(CONFIG_MAP, "default", body)
    for selector, found in (("size>9", "b"), ("size < 10", "a"), ("size>8", "ab")):
        listed = store.list(CONFIG_MAP, "default", labels=selector).items
        assert "".join(obj["metadata"]["name"] for obj in listed) == found


@pytest.mark.parametrize(
    "selector",
    [
        *("a=b=c", "!a=b", "a in b", "a in (b", "a in (=)", "a in (b,=)", "a=!", "!", "a b", "=x"),
        *("a,,b", "a,", "-a=b", "a=-b", "a>x", "a>-1", "a in (b,c d)"),
    ],
)
def test_a_label_selector_that_cannot_be_read_is_refused(maps: Store, selector: str) -> None:
    assert refusal(lambda: maps.list(CONFIG_MAP, "default", labels=selector)).code == 400


def test_field_selectors_know_names(maps: Store) -> None:
    for fields, found in (("metadata.name=b", "b"), ("metadata.name!=b", "acd")):
        listed = maps.list(CONFIG_MAP, None, fields=fields).items
        assert "".join(obj["metadata"]["name"] for obj in listed) == found


def test_pods_are_found_by_node_and_phase(store: Store) -> None:
    for name in ("a", "b"):
        store.create(POD, "default", pod(name))
    store.bind("default", "a", "n1")
    on_node = store.list(POD, None, fields="spec.nodeName=n1").items
    unscheduled = store.list(POD, None, fields="spec.nodeName=,status.phase=Pending").items
    assert [obj["metadata"]["name"] for obj in on_node] == ["a"]
    assert [obj["metadata"]["name"] for obj in unscheduled] == ["b"]


def test_events_are_found_by_what_they_are_about(store: Store) -> None:
    for name, about in (("e1", "x"), ("e2", "y")):
        body = {
            "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", "name": about, "namespace": "default"},
            "reason": "Killed",
            "type": "Warning",
        }
        store.create(EVENT, "default", body)
    fields = "involvedObject.kind=Pod,involvedObject.name=y,type=Warning,reason=Killed"
    listed = store.list(EVENT, "default", fields=fields).items
    assert [obj["metadata"]["name"] for obj in listed] == ["e2"]


@pytest.mark.parametrize("fields", ["spec.nodeName=x", "nonsense", "data=x"])
def test_a_field_that_cannot_be_selected_by_is_a_bad_request(maps: Store, fields: str) -> None:
    assert refusal(lambda: maps.list(CONFIG_MAP, None, fields=fields)).code == 400


@pytest.mark.parametrize(
    "fields", ["metadata.name", r"metadata.name=a\x", "metadata.name=a=b", " metadata.name=a"]
)
def test_a_field_selector_that_cannot_be_read_is_refused(maps: Store, fields: str) -> None:
    assert refusal(lambda: maps.list(CONFIG_MAP, None, fields=fields)).code == 400


def test_empty_terms_select_everything(maps: Store) -> None:
    for fields in ("=", ",", "!=,metadata.name!=x"):
        assert len(maps.list(CONFIG_MAP, None, fields=fields).items) == len(LABELLED)


def test_an_escaped_value_is_compared_without_its_backslashes(store: Store) -> None:
    for name, reason in (("a", "x,y"), ("b", "x")):
        body = {"metadata": {"name": name}, "involvedObject": {}, "reason": reason}
        store.create(EVENT, "default", body)
    listed = store.list(EVENT, "default", fields=r"reason=x\,y").items
    assert [obj["metadata"]["name"] for obj in listed] == ["a"]


def test_a_definition_can_add_selectable_fields(store: Store) -> None:
    rt = serve(store, definition(selectableFields=[{"jsonPath": ".spec.color"}]))
    for name, color in (("a", "red"), ("b", "blue")):
        store.create(rt, "default", widget({"color": color}, name=name))
    listed = store.list(rt, None, fields="spec.color=blue").items
    assert [obj["metadata"]["name"] for obj in listed] == ["b"]


def test_lists_are_ordered_by_namespace_and_name(maps: Store) -> None:
    listed = maps.list(CONFIG_MAP, None)
    assert [obj["metadata"]["name"] for obj in listed.items] == ["a", "b", "c", "d"]
    assert listed.resource_version == maps.version
