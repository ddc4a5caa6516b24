"""What the API server answers is read, also where a part of it nests deeper than a reader goes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.projections import MANAGED_FIELDS_TOO_LARGE
from contracts.unreadable import ObjectUnreadable, Unreadable
from services.chassis.kube.salvaging import (
    MANAGED_FIELDS_BYTES_MAX,
    READER_DEPTH_MAX,
    read_event,
    read_list,
    read_object,
)

DEPTHS = [READER_DEPTH_MAX + 1, 9_000]


def nested(levels: int) -> bytes:
    return b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


def an_object(name: str, *, spec: bytes = b"{}", managed: bytes = b"[]") -> bytes:
    return (
        b'{"kind":"Job","metadata":{"name":"%s","managedFields":%s,"uid":"u-%s"},'
        b'"spec" : %s ,\n"status":{"text":"}]\\"{,\\\\"}}'
    ) % (name.encode(), managed, name.encode(), spec)


def lean(name: str) -> dict[str, Any]:
    """The object without its managed fields."""
    found: dict[str, Any] = orjson.loads(an_object(name))
    del found["metadata"]["managedFields"]
    return found


@pytest.mark.parametrize("levels", DEPTHS)
def test_one_item_of_a_list_that_nests_too_deep_costs_no_other(levels: int) -> None:
    """It keeps what can be read of it: its metadata and its status."""
    items = b",".join((an_object("a"), an_object("b", spec=nested(levels)), an_object("c")))
    found, metadata = read_list(b'{"items":[%s],"metadata":{"resourceVersion":"7"}}' % items)
    assert metadata == {"resourceVersion": "7"}
    assert [each["metadata"]["name"] for each in found] == ["a", "b", "c"]
    assert found[0] == lean("a")
    assert found[1]["status"] == {"text": '}]"{,\\'}
    assert isinstance(found[1]["spec"], Unreadable)
    assert f"spec nests {levels:,} levels deep" in found[1]["spec"].why


@pytest.mark.parametrize("levels", DEPTHS)
def test_the_object_of_an_event_is_known_by_its_metadata(levels: int) -> None:
    """Else the watch would meet the same event again, for ever."""
    line = b'{"type":"ADDED","object":%s}' % an_object("b", spec=nested(levels))
    type_, found = read_event(line)
    assert (type_, found["metadata"]["uid"]) == ("ADDED", "u-b")
    with pytest.raises(ObjectUnreadable):
        found["spec"]["width"]


def test_managed_fields_are_not_kept() -> None:
    """A list of a hundred objects with 1.2 MB of them took a gigabyte until its last page."""
    found, _ = read_list(b'{"metadata":{},"items":[%s]}' % an_object("a", managed=b'[{"x":1}]'))
    assert found == [lean("a")]
    _, found_in_event = read_event(b'{"type":"ADDED","object":%s}' % an_object("a"))
    assert found_in_event == lean("a")
    assert read_object(an_object("a", managed=b'[{"x":1}]')) == lean("a")


@pytest.mark.parametrize(
    "managed",
    [
        b'[{"fieldsV1":%s}]' % nested(300),
        b'[{"fieldsV1":%s}]' % nested(9_000),
        b'[{"fieldsV1":{"f:%s":{}}}]' % (b"x" * MANAGED_FIELDS_BYTES_MAX),
    ],
    ids=["deep", "very deep", "large"],
)
def test_managed_fields_of_any_depth_and_size_make_nothing_unreadable(managed: bytes) -> None:
    """People can send them for every kind; who writes the object has to know that they are there.

    The object is the same in a list, in an event and in an answer: else it would seem to change.
    """
    expected = lean("b")
    expected["metadata"][MANAGED_FIELDS_TOO_LARGE] = True
    text = an_object("b", managed=managed)
    beside = read_object(an_object("b", managed=managed, spec=nested(9_000)))
    assert beside["metadata"] == expected["metadata"]
    assert read_object(text) == expected
    assert read_list(b'{"metadata":{},"items":[%s]}' % text)[0] == [expected]
    assert read_event(b'{"type":"ADDED","object":%s}' % text)[1] == expected


def test_an_item_whose_metadata_cannot_be_read_has_nothing() -> None:
    """No API server sends it; the list is read all the same."""
    bad = b'{"metadata":{"labels":%s}}' % nested(2_000)
    found, _ = read_list(b'{"metadata":{},"items":[%s,%s,5]}' % (bad, an_object("a")))
    assert found == [{}, lean("a"), {}]


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b'"', b'{"a', b"<html>", b"[]", b"null", b"5", b'{"a":1}}', b"\xff", b'{"items":['],
)
def test_text_that_is_no_object_is_refused(text: bytes) -> None:
    """A proxy's page, or an answer that was cut off."""
    for read in (read_object, read_list, read_event):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
            read(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text().filter(lambda key: key != "metadata"), _VALUES, max_size=5))
def test_all_members_beside_one_that_cannot_be_read_are_read_as_they_are(
    members: dict[str, object],
) -> None:
    """Whatever quotes, backslashes and brackets stand in their text."""
    members.pop("deep", None)
    text = orjson.dumps(members | {"deep": 0})[:-2] + nested(2_000) + b"}"
    found = read_object(text)
    assert isinstance(found.pop("deep"), Unreadable)
    assert found == members
