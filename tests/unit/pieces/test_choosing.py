"""The share of a commit: the same for the same hash, and each piece in a quarter of all."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from tests.pieces import seconds
from tests.pieces.choosing import (
    QUARTERS,
    SHARE_S_MAX,
    Run,
    Share,
    choose,
    deal,
    everything,
    number_of,
    seconds_of,
)
from tests.pieces.suites import SUITE, SUITES, Piece, pieces
from tests.places import ROOT
from tests.real.tracks import tracks_of

HASHES = [hashlib.sha1(str(number).encode()).hexdigest() for number in range(1000)]
ALL = pieces(ROOT)
OF_ONE_SUITE = tuple(Piece("faults", f"f{number}", (f"f{number}.py",)) for number in range(8))


def share_of(
    head: str,
    found: Sequence[Piece] = ALL,
    covered: Mapping[str, str] | None = None,
    recency: Mapping[str, int] | None = None,
    takes: Mapping[str, float] | None = None,
) -> Share:
    """A share; `covered` has the touched file of pieces by their names."""
    return choose(
        found,
        head,
        lambda piece: (covered or {}).get(piece.name, ""),
        (recency or {}).__getitem__,
        seconds.read().pieces if takes is None else takes,
    )


def test_each_piece_is_in_a_quarter_of_a_thousand_hashes_and_each_hash_has_one_share() -> None:
    quarters = {number_of(head): share_of(head).quarter for head in HASHES[:20]}
    counts = Counter(name for head in HASHES for name in quarters[number_of(head)])
    assert counts.keys() == {piece.name for piece in ALL}
    assert all(200 < count < 300 for count in counts.values()), counts
    assert [share_of(head) for head in HASHES[:20]] == [share_of(head) for head in HASHES[:20]]


def test_the_quarters_of_a_suite_are_all_its_pieces_once() -> None:
    dealt = deal(ALL, seconds.read().pieces)
    assert dealt.keys() == {piece.name for piece in ALL}
    heads = {number_of(head): head for head in HASHES}
    together = [name for number in range(QUARTERS) for name in share_of(heads[number]).quarter]
    assert sorted(together) == sorted(piece.name for piece in ALL)


def test_each_quarter_takes_about_as_long() -> None:
    takes = {
        f"faults/f{number}": seconds for number, seconds in enumerate((9, 8, 7, 6, 4, 3, 2, 1))
    }
    dealt = deal(OF_ONE_SUITE, takes)
    sums = Counter[int]()
    for name, number in dealt.items():
        sums[number] += takes[name]
    assert set(sums.values()) == {10}


def test_no_quarter_of_all_suites_takes_much_longer_than_another() -> None:
    takes = seconds.read().pieces
    dealt = deal(ALL, takes)
    runs = dict.fromkeys(range(QUARTERS), Run())
    for piece in ALL:
        number = dealt[piece.name]
        runs[number] = runs[number].with_(piece, seconds_of(piece, ALL, takes))
    took_s = [run.takes_s for run in runs.values()]
    assert max(took_s) < 1.15 * min(took_s), took_s


def test_tracks_run_side_by_side_and_take_as_long_as_the_longest() -> None:
    run = Run()
    for suite, tests_s in (("faults", 60.0), ("comparisons", 20.0), ("pair", 50.0), ("exact", 7.0)):
        run = run.with_(Piece(suite, "a", ()), tests_s)
    assert run.takes_s == 80.0 + 7.0
    assert Run().with_(Piece("sandbox", "a", ()), 30.0).takes_s == 30.0 / SUITE["sandbox"].at_once


def test_the_tracks_of_suites_are_those_of_the_command_that_plays_them() -> None:
    tracks = {track.name for track in tracks_of(own_pairs=True, two_tracks=True)}
    assert {each.track for each in SUITES if each.target == "test-real"} == tracks
    assert {each.track for each in SUITES if each.target != "test-real"} == {""}


def test_the_same_tests_on_two_grounds_come_in_different_commits() -> None:
    dealt = deal(ALL, seconds.read().pieces)
    twins = [piece for piece in ALL if SUITE[piece.suite].twin]
    assert len(twins) > 20
    for piece in twins:
        assert dealt[piece.name] != dealt.get(f"{SUITE[piece.suite].twin}/{piece.part}")


@pytest.mark.parametrize("head", HASHES[:40])
def test_what_covers_a_touched_file_is_in_the_share_whatever_the_hash(head: str) -> None:
    covered = {"faults/f3": "a.py", "faults/f5": "b.py"}
    share = share_of(head, OF_ONE_SUITE, covered, {"a.py": 49, "b.py": 0})
    assert covered.keys() <= share.chosen
    assert share.added.items() <= covered.items()
    assert sorted([*share.chosen, *share.left_out]) == sorted(each.name for each in OF_ONE_SUITE)


def test_the_newest_commits_are_covered_first_and_what_finds_no_time_is_named() -> None:
    # Two are in the quarter, a third fits beside them.
    third = SHARE_S_MAX * 0.3
    takes = dict.fromkeys((each.name for each in OF_ONE_SUITE), third)
    head = next(each for each in HASHES if number_of(each) == 0)
    quarter = set(share_of(head, OF_ONE_SUITE, takes=takes).quarter)
    old, new = sorted({each.name for each in OF_ONE_SUITE} - quarter)[:2]
    share = share_of(
        head, OF_ONE_SUITE, {old: "old.py", new: "new.py"}, {"old.py": 9, "new.py": 1}, takes
    )
    assert (share.added, share.without_time) == ({new: "new.py"}, {old: "old.py"})
    assert old in share.left_out


def test_what_is_played_on_one_ground_comes_on_the_other_when_all_else_has_found_time() -> None:
    """A commit of one service leaves no time; each scenario that covers it is played once."""
    found = [piece for piece in ALL if piece.suite in ("pair", "sandbox")]
    takes = dict.fromkeys((piece.name for piece in found), 2 * SHARE_S_MAX / len(found))
    for head in HASHES[:8]:
        covered = dict.fromkeys((piece.name for piece in found), "a.py")
        share = share_of(head, found, covered, {"a.py": 0}, takes)
        played = {name.partition("/")[2] for name in share.chosen}
        assert played == {piece.part for piece in found}
        assert share.without_time


def test_parts_that_differ_by_their_seed_need_no_addition() -> None:
    covered = {piece.name: "a.py" for piece in ALL if piece.suite == "exact"}
    for head in HASHES[:8]:
        share = share_of(head, covered=covered, recency={"a.py": 0})
        assert len([name for name in share.chosen if name in covered]) == 1


def test_all_pieces_are_played_where_all_are_wanted() -> None:
    share = everything(ALL, HASHES[0])
    assert (len(share.chosen), share.left_out) == (len(ALL), ())


def test_a_piece_that_was_never_measured_takes_what_its_suite_takes() -> None:
    takes = {"faults/f0": 10.0, "faults/f1": 30.0}
    assert seconds_of(OF_ONE_SUITE[0], OF_ONE_SUITE, takes) == 10.0
    assert seconds_of(OF_ONE_SUITE[7], OF_ONE_SUITE, takes) == 20.0
