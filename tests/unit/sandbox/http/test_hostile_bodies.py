"""What a real API server takes is taken, served and watched, however hostile; the rest is refused.

tests/real/differential/exchanges (nesting, decoding, managing, sizing) holds all of it to the real
one; here is what must not break where that is not at hand.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.http.api import Api
from sandbox.http.in_process import InProcess
from sandbox.store import json_text
from sandbox.store.folding import Folded, folded, measured, unfolded, written
from tests.unit.sandbox.http.asking import CONFIG_MAPS, MERGE, WIDGETS, Asker

STATUS = f"{WIDGETS}/a/status"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ENTRY = (
    b'{"manager":"me","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z",'
    b'"fieldsType":"FieldsV1","fieldsV1":%s}'
)

pytestmark = pytest.mark.usefixtures("with_widgets")


def lists(levels: int, inner: bytes = b"1") -> bytes:
    return b"[" * levels + inner + b"]" * levels


def maps(levels: int, inner: bytes = b"1", name: bytes = b"a") -> bytes:
    return b'{"%s":' % name * levels + inner + b"}" * levels


def store_widget(asker: Asker, value: bytes) -> int:
    head = b'"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"a"}'
    asker.ask("POST", WIDGETS, b'{%s,"spec":{"width":1}}' % head)
    return merge_status(asker, value)


def merge_status(asker: Asker, value: bytes) -> int:
    answer = asker.ask("PATCH", STATUS, b'{"status":{"v":%s}}' % value, content_type=MERGE)
    return answer.status


@pytest.mark.parametrize(
    "value",
    [lists(79), lists(81), lists(255), lists(1_100), lists(9_998), maps(300), maps(9_990)],
    ids=lambda value: f"{len(value)} bytes",
)
def test_what_is_deep_is_stored_and_shown_everywhere(asker: Asker, value: bytes) -> None:
    before = asker.json("GET", WIDGETS)["metadata"]["resourceVersion"]
    watch = asker.watch(f"{WIDGETS}?watch=1&resourceVersion={before}")
    assert store_widget(asker, value) == 200
    for path in (f"{WIDGETS}/a", WIDGETS):
        assert value in asker.ask("GET", path).body
    assert value in asker.ask("GET", f"{WIDGETS}?includeObject=Object", accept=TABLE).body
    _, changed = watch.watch.take()
    assert value in watch.line(changed)
    assert asker.ask("DELETE", f"{WIDGETS}/a").status == 200


def test_a_write_that_changes_nothing_far_down_is_none(asker: Asker) -> None:
    store_widget(asker, maps(500, b'{"x":1,"y":2}'))
    first = asker.ask("GET", f"{WIDGETS}/a").body
    assert merge_status(asker, maps(500, b'{"y":2}')) == 200
    assert asker.ask("GET", f"{WIDGETS}/a").body == first
    assert merge_status(asker, maps(500, b'{"y":3}')) == 200
    assert b'{"x":1,"y":3}' in asker.ask("GET", f"{WIDGETS}/a").body


def test_a_json_patch_reaches_far_down(asker: Asker) -> None:
    store_widget(asker, maps(500, b'{"x":1}'))
    path = "/status/v" + "/a" * 500
    operations = [
        {"op": "test", "path": f"{path}/x", "value": 1},
        {"op": "replace", "path": f"{path}/x", "value": 2},
        {"op": "copy", "from": path, "path": "/status/w"},
    ]
    kind = "application/json-patch+json"
    answer = asker.ask("PATCH", STATUS, operations, content_type=kind)
    assert answer.status == 200
    assert maps(500, b'{"x":2}') in answer.body
    assert b'"w":{"x":2}' in answer.body


def test_a_patch_far_down_leaves_what_was_stored_before_alone(asker: Asker) -> None:
    """Watches and lists of an older version still show it."""
    store_widget(asker, maps(100, b"{}"))
    version = asker.json("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
    operation = {"op": "add", "path": "/status/v" + "/a" * 101, "value": 1}
    kind = "application/json-patch+json"
    assert maps(101) in asker.ask("PATCH", STATUS, [operation], content_type=kind).body
    before = f"{WIDGETS}?resourceVersion={version}&resourceVersionMatch=Exact"
    assert maps(100, b"{}") in asker.ask("GET", before).body


@pytest.mark.parametrize(
    "body",
    [lists(9_999), maps(9_999), b"[" * 1_000_000, maps(100_000)],
    ids=["lists", "objects", "lists without end", "many objects"],
)
def test_more_than_10000_levels_are_refused(asker: Asker, body: bytes) -> None:
    answer = asker.json("PATCH", STATUS, b'{"status":{"v":%s}}' % body, content_type=MERGE)
    why = "the patch is not JSON: nested deeper than 10,000 levels"
    assert (answer["code"], answer["message"]) == (400, why)


def test_managed_fields_that_a_client_sends_reach_lists_and_watches(asker: Asker) -> None:
    """However deep they are, and whatever the schema of the kind says."""
    entry = ENTRY % maps(5_000, b"{}", b"f:a")
    meta = b'{"metadata":{"name":"a","managedFields":[%s]}}' % entry
    assert asker.ask("POST", CONFIG_MAPS, meta).status == 201
    assert entry in asker.ask("GET", CONFIG_MAPS).body
    asker.ask("PATCH", f"{CONFIG_MAPS}/a", b'{"data":{"b":"c"}}', content_type=MERGE)
    assert entry in asker.ask("GET", f"{CONFIG_MAPS}/a").body
    reset = b'{"metadata":{"managedFields":[{}]}}'
    asker.ask("PATCH", f"{CONFIG_MAPS}/a", reset, content_type=MERGE)
    assert b"managedFields" not in asker.ask("GET", f"{CONFIG_MAPS}/a").body


def test_managed_fields_that_cannot_be_read_leave_those_that_were_there(asker: Asker) -> None:
    good, bad = ENTRY % b'{"f:x":{}}', ENTRY % b'{"no step":{}}'
    asker.ask("POST", CONFIG_MAPS, b'{"metadata":{"name":"a","managedFields":[%s]}}' % good)
    patch = b'{"metadata":{"managedFields":[%s]}}' % bad
    assert asker.ask("PATCH", f"{CONFIG_MAPS}/a", patch, content_type=MERGE).status == 200
    assert good in asker.ask("GET", f"{CONFIG_MAPS}/a").body


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"\udc00\ud800"', "\ufffd\ufffd"),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\\ud800\ud800"', "\\ud800\ufffd"),
        (b'"\xff\xc3("', "\ufffd\ufffd("),
        (b'"\xed\xa0\x80\xe2\x82"', "\ufffd" * 5),
        (rb'"\u0000\u001b\u202e"', "\0\x1b\u202e"),
        (b"9223372036854775808", 9223372036854776000),
        (b"1" * 300, float("1" * 300)),
    ],
)
def test_texts_and_numbers_are_kept_as_go_keeps_them(asker: Asker, sent: bytes, kept: Any) -> None:
    assert store_widget(asker, sent) == 200
    assert asker.json("GET", f"{WIDGETS}/a")["status"]["v"] == kept


@pytest.mark.parametrize("number", [b"1e400", b"-1e309", b"1" * 5_000])
def test_a_number_that_no_double_holds_is_refused(asker: Asker, number: bytes) -> None:
    patch = b'{"status":{"v":%s}}' % number
    store_widget(asker, b"1")
    answer = asker.json("PATCH", STATUS, patch, content_type=MERGE)
    assert answer["code"] == 400
    assert answer["message"] == f"the number {number.decode()} is too large"


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b'{"a":1', b"{} {}", b"[1,]", b"[1 2]", b'{"a" 1}', b'{"a":1 "b"', b"{1:2}"),
        *(b"[NaN]", b"[-Infinity]", b"[1.]", b"[1e]", b"[trux]", b'["\t"]', b'["\\x"]'),
        *(b'["\\u12g4"]', b"\xef\xbb\xbf{}", b"[\xff]"),
    ],
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(json_text.Unreadable):
        json_text.parsed(text)


def test_an_object_that_a_core_kind_is_sent_twice_becomes_one(asker: Asker) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"a":"1","a":"2"},"data":{"b":"3"}}'
    assert asker.json("POST", CONFIG_MAPS, body)["data"] == {"a": "2", "b": "3"}


def test_a_field_said_twice_far_down_is_named(asker: Asker) -> None:
    value = maps(300, b'{"x":1,"x":2}')
    store_widget(asker, b"1")
    patch = b'{"status":{"v":%s}}' % value
    answer = asker.ask("PATCH", STATUS, patch, content_type=MERGE)
    (warning,) = answer.warnings
    assert warning.endswith('.a.x\\""')
    assert "duplicate field" in warning


async def test_the_transport_in_this_process_carries_what_is_deep(api: Api, asker: Asker) -> None:
    value = lists(2_000)
    store_widget(asker, value)
    transport = InProcess(api)
    answer = await transport.request("GET", WIDGETS, body=None, headers={})
    assert value in answer.body
    version = asker.json("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
    watched = f"{WIDGETS}?watch=1&resourceVersion={version}"
    async with transport.stream(watched, headers={}, silence_s=60) as lines:
        merge_status(asker, lists(3_000))
        assert lists(3_000) in await anext(lines)


def test_folding_keeps_the_value_and_says_how_deep_it_is() -> None:
    value = json.loads(maps(90, b'{"b":[1.0,2.5,null,"x"],"a":{}}'))
    kept, depth = measured(value)
    assert depth == 92
    assert isinstance(_at(kept, 80), Folded)
    assert written(kept) == maps(90, b'{"a":{},"b":[1,2.5,null,"x"]}')
    assert unfolded(kept) == value
    assert folded(kept) == kept


def _at(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = value["a"]
    return value
