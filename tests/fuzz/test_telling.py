"""What an object must say of itself is read from its text, however deep it nests."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.raw import nested_lists, nested_maps, written
from tests.fuzz.storable import BODY_BYTES_MAX, Claim, Stranger
from tests.fuzz.telling import UNREADABLE, members_of, problem_of

READABLE = {"type": "Readable", "status": "False", "reason": UNREADABLE, "message": "why"}


def obj(spec: object, *conditions: object, **status: object) -> bytes:
    said = {**status, "conditions": list(conditions)}
    return written({"metadata": {"name": "x"}, "spec": {"extra": spec}, "status": said})


def test_levels_are_counted_for_each_member_and_brackets_in_texts_are_none() -> None:
    text = written({"a": nested_maps(9_000), "b": '[{"', "c": [nested_lists(3), "}"], "d": 1})
    assert {key: each.levels for key, each in members_of(text).items()} == {
        **{"a": 9_000, "b": 0},
        **{"c": 4, "d": 0},
    }
    assert members_of(text)["b"].text == b'"[{\\""'


@pytest.mark.parametrize("plural", ["streamspes", "streamsprs", "streamshostpools"])
def test_a_deep_object_must_have_its_condition_and_an_event_and_no_other_may(plural: str) -> None:
    deep, flat = nested_maps(64), nested_maps(63)
    assert "it says {}" in problem_of(plural, obj(deep), {UNREADABLE})
    assert "no Event" in problem_of(plural, obj(deep, READABLE), set())
    assert problem_of(plural, obj(deep, READABLE), {UNREADABLE}) == ""
    assert "it can be read" in problem_of(plural, obj(flat, READABLE), set())
    assert problem_of(plural, obj(flat), set()) == ""


def test_a_deep_job_must_be_failed_or_its_edit_refused() -> None:
    deep, refused = nested_lists(9_000), {"type": "Accepted", "status": "False", "message": "why"}
    refused["reason"] = "EditRefused"
    assert "does not say why" in problem_of("streamsjobs", obj(deep), set())
    assert "does not say why" in problem_of("streamsjobs", obj(1, phase="Failed"), set())
    assert "nobody can read" in problem_of("streamsjobs", obj(deep, phase="Submitted"), set())
    assert problem_of("streamsjobs", obj(deep, refused, phase="Submitted"), set()) == ""
    assert problem_of("streamsjobs", obj(deep, phase="Submitted"), {"ObjectUnreadable"}) == ""
    assert problem_of("streamsjobs", obj(1, refused, phase="Failed"), set()) == ""
    failed = obj(deep, phase="Failed", reason=UNREADABLE, message="why")
    assert problem_of("streamsjobs", failed, set()) == ""


def test_a_flood_is_made_of_its_seed_and_stays_within_what_a_server_takes() -> None:
    """No object has the depth at which maps make a kind unreadable for kube-apiserver."""

    def drawn(seed: int) -> list[bytes]:
        dice = random.Random(seed)
        ways = Stranger(dice, ("a", "b"), Claim("a", "good")).ways
        return [dice.choice(ways)().body for _ in range(300)]

    bodies = drawn(1)
    assert bodies == drawn(1)
    assert max(map(len, bodies)) < BODY_BYTES_MAX + 10_000
    levels = [each.levels for body in bodies for each in members_of(body).values()]
    assert 9_000 <= max(levels) < 9_100
