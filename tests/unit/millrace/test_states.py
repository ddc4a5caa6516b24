"""Saved states: damaged ones are refused, and each group gets to one owner exactly once."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from millrace.runtime.barriers import Origin, Route, Spot
from millrace.runtime.endings import Ending, StateRefused
from millrace.runtime.resuming import Position, SavedSender
from millrace.runtime.splitting import channel_of
from millrace.runtime.states import (
    SavedOperator,
    SavedPe,
    decoded,
    encoded,
    merged,
    of_channel,
)

GROUPS = 8


def saved(pe: int, channels: dict[int, SavedOperator], launch: int = 1) -> SavedPe:
    named = {str(channel): state for channel, state in channels.items()}
    return SavedPe(job=7, pe=pe, launch=launch, operators={"Counted": named})


def keyed(*groups: int, of: int = GROUPS) -> SavedOperator:
    return SavedOperator(groups={each: b"%d" % each for each in groups}, groups_of=of)


def at_width(width: int) -> list[SavedPe]:
    """One PE for each channel, each with all groups of its channel."""
    return [
        saved(pe, {pe: keyed(*(g for g in range(GROUPS) if channel_of(g, width, GROUPS) == pe))})
        for pe in range(width)
    ]


# ---------------------------------------------------------------- the file


WHOLE = SavedPe(
    job=7,
    pe=4,
    launch=2,
    generation=5,
    operators={
        "Counted": {"0": keyed(1, 2)},
        "Source": {"": SavedOperator(single=b"\x00\xff")},
    },
    positions=(Position(Origin(1, 0, 0), (Spot("epoch", 17),), is_exact=True),),
    outboxes=((Route(7, 4, 0, 2, 0), SavedSender("epoch", 15)),),
    ended=(Origin(1, 0, 0),),
)


def test_a_state_is_decoded_as_it_was_saved() -> None:
    assert decoded(encoded(WHOLE), "a.state") == WHOLE
    assert encoded(WHOLE) == encoded(decoded(encoded(WHOLE), "a.state"))


@pytest.mark.parametrize("place", [0, 16, 20, 60, -1])
def test_a_state_with_one_other_byte_is_refused(place: int) -> None:
    data = bytearray(encoded(WHOLE))
    data[place] ^= 1
    with pytest.raises(StateRefused, match=r"a\.state") as caught:
        decoded(bytes(data), "a.state")
    assert caught.value.ending is Ending.STATE_REFUSED


@pytest.mark.parametrize("length", [0, 1, 17, 18, 40, 80])
def test_a_state_that_was_cut_off_is_refused(length: int) -> None:
    with pytest.raises(StateRefused, match=r"no saved state|is damaged"):
        decoded(encoded(WHOLE)[:length], "a.state")


def test_a_state_of_another_version_names_both() -> None:
    data = encoded(WHOLE).replace(b"state 2\n", b"state 1\n", 1)
    with pytest.raises(StateRefused, match=r"version .1. of the format, and .* reads version 2"):
        decoded(data, "a.state")


@pytest.mark.parametrize("body", [b"", b"\xc1", msgspec.msgpack.encode({"job": "shop"})])
def test_a_state_with_other_content_is_refused(body: bytes) -> None:
    data = b"millrace state 2\n" + hashlib.sha256(body).digest() + body
    with pytest.raises(StateRefused, match="other content"):
        decoded(data, "a.state")


def test_other_files_are_refused_with_a_short_sentence() -> None:
    for data in (b"\n", b"PK\x03\x04" * 1_000, b"millrace state " + b"1" * 10_000 + b"\n"):
        with pytest.raises(StateRefused) as caught:
            decoded(data, "a.state")
        assert len(str(caught.value)) < 200


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize(("before", "after"), [(3, 5), (5, 2), (1, 8), (8, 1), (3, 3)])
def test_each_group_gets_to_one_owner_exactly_once(before: int, after: int) -> None:
    states = at_width(before)
    owners = [merged(states, "Counted", channel, after, GROUPS) for channel in range(after)]
    owned = [group for owner in owners for group in owner]
    assert sorted(owned) == list(range(GROUPS))
    for channel, owner in enumerate(owners):
        assert all(channel_of(group, after, GROUPS) == channel for group in owner)
        assert all(data == b"%d" % group for group, data in owner.items())


def test_channels_of_one_pe_are_merged_as_well() -> None:
    states = [saved(1, {0: keyed(0, 1), 1: keyed(4, 5)}), saved(2, {2: keyed(7)})]
    assert list(merged(states, "Counted", 0, 1, GROUPS)) == [0, 1, 4, 5, 7]


def test_a_group_that_two_have_is_refused_and_both_are_named() -> None:
    states = [saved(1, {0: keyed(2, 3)}, launch=4), saved(2, {1: keyed(3)}, launch=9)]
    with pytest.raises(
        StateRefused, match=r"group 3 .* both PE 1 \(launch 4\) and PE 2 \(launch 9\)"
    ):
        merged(states, "Counted", 0, 1, GROUPS)


def test_a_group_of_another_owner_does_not_matter() -> None:
    states = [saved(1, {0: keyed(0, 7)}), saved(2, {1: keyed(7)})]
    assert list(merged(states, "Counted", 0, 2, GROUPS)) == [0]


def test_seals_win_over_what_is_left_of_pes_that_are_gone() -> None:
    seal = saved(1, {0: SavedOperator(groups={0: b"sealed"}, groups_of=GROUPS)})
    rest = saved(2, {1: SavedOperator(groups={0: b"old", 1: b"left"}, groups_of=GROUPS)})
    found = merged([seal], "Counted", 0, 1, GROUPS, fallbacks=[rest])
    assert found == {0: b"sealed", 1: b"left"}


def test_two_that_are_gone_cannot_have_one_group() -> None:
    rest = [saved(1, {0: keyed(0)}), saved(2, {1: keyed(0)})]
    with pytest.raises(StateRefused, match="both PE 1"):
        merged([], "Counted", 0, 1, GROUPS, fallbacks=rest)


def test_another_number_of_groups_is_refused() -> None:
    with pytest.raises(StateRefused, match="saved 128 groups of keys, and the job has 8"):
        merged([saved(1, {0: keyed(0, of=128)})], "Counted", 0, 1, GROUPS)


def test_a_single_value_is_no_groups() -> None:
    with pytest.raises(StateRefused, match="saved no groups"):
        merged([saved(1, {0: SavedOperator(single=b"1")})], "Counted", 0, 1, GROUPS)


def test_operators_that_nobody_saved_have_nothing() -> None:
    assert merged(at_width(3), "Other", 0, 1, GROUPS) == {}
    assert of_channel(at_width(3), "Other", "0") is None


def test_other_state_stays_with_its_channel() -> None:
    states = [
        saved(1, {0: SavedOperator(single=b"a")}),
        saved(2, {1: SavedOperator(single=b"b")}),
    ]
    assert of_channel(states, "Counted", "1") == SavedOperator(single=b"b")
    assert of_channel(states, "Counted", "2") is None


def test_a_channel_that_two_have_is_refused_and_both_are_named() -> None:
    states = [saved(pe, {0: SavedOperator(single=b"a")}) for pe in (1, 2)]
    with pytest.raises(StateRefused, match=r"both PE 1 \(launch 1\) and PE 2 \(launch 1\)"):
        of_channel(states, "Counted", "0")
