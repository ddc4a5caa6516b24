"""The share of a commit: which pieces of the long suites CI plays for it, and why.

1. The pieces of a suite are dealt into quarters that take about equally long. The hash of HEAD
   chooses the quarter, so the same commit always has the same share, and each piece is in one of
   four commits.
2. A piece that covers a file that one of the last 50 commits touched is added, newest commit first,
   as long as there is time (`SHARE_S_MAX`); what the share has on one ground comes last on another.
   What finds no time is named.
3. Parts of a suite that differ by their seed alone cover the same files, and each quarter has one.

Everything here is plain: hashes, files and seconds are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from tests.pieces.suites import SUITE, Piece

QUARTERS = 4
COMMITS = 50
SHARE_S_MAX = 1100.0
"""Seconds of CI for pieces: of half an hour, what the tests that are always played leave."""
UNKNOWN_S = 30.0
"""Of a piece whose suite was never measured."""

Seconds = Mapping[str, float]
"""Of the tests of each piece by its name, one after another."""


@dataclass(frozen=True, slots=True)
class Share:
    """What CI plays for a commit. `added` has the touched file that each added piece covers."""

    seed: str
    quarter: tuple[str, ...]
    added: Mapping[str, str]
    without_time: Mapping[str, str]
    left_out: tuple[str, ...]

    @property
    def chosen(self) -> frozenset[str]:
        """The names of the pieces that are played."""
        return frozenset({*self.quarter, *self.added})


class NoHash(ValueError):
    """The hash that was given is not the hash of a commit."""


def number_of(head: str) -> int:
    """The quarter of a commit, by its hash or the beginning of it. Raises NoHash."""
    if not re.fullmatch("[0-9a-f]+", head):
        raise NoHash(f"{head!r} is no hash of a commit; git rev-parse tells it")
    return int(head[0], 16) % QUARTERS


def choose(
    pieces: Sequence[Piece],
    head: str,
    covered: Callable[[Piece], str],
    recency: Callable[[str], int],
    seconds: Seconds,
) -> Share:
    """The share of a commit; `covered` is the newest touched file that a piece covers, or empty.

    `recency` is smaller for what was touched later.
    """
    takes_s = {each: seconds_of(each, pieces, seconds) for each in pieces}
    dealt = deal(pieces, seconds)
    quarter = [each for each in pieces if dealt[each.name] == number_of(head)]
    others = [each for each in pieces if each not in quarter and SUITE[each.suite].parts == 1]
    touched = {each: path for each in others if (path := covered(each))}

    def place(piece: Piece) -> tuple[int, float]:
        return recency(touched[piece]), Run().with_(piece, takes_s[piece]).takes_s

    newest = sorted(touched, key=place)
    added: dict[str, str] = {}
    without_time: dict[str, str] = {}
    run = Run()
    for piece in quarter:
        run = run.with_(piece, takes_s[piece])
    for piece in _once_then_again(newest, quarter):
        longer = run.with_(piece, takes_s[piece])
        if longer.takes_s <= SHARE_S_MAX:
            added[piece.name], run = touched[piece], longer
        else:
            without_time[piece.name] = touched[piece]
    names = tuple(each.name for each in quarter)
    left_out = (each.name for each in pieces if each.name not in {*added, *names})
    return Share(head, names, added, without_time, tuple(left_out))


def _once_then_again(wanted: Iterable[Piece], chosen: Iterable[Piece]) -> Iterator[Piece]:
    """The same tests on a second ground come after all that is played on no ground yet."""
    seen = {each.modules for each in chosen}
    again: list[Piece] = []
    for piece in wanted:
        if piece.modules in seen:
            again.append(piece)
        else:
            seen.add(piece.modules)
            yield piece
    yield from again


def everything(pieces: Sequence[Piece], head: str) -> Share:
    """All pieces, as SHARE=all wants."""
    return Share(head, tuple(each.name for each in pieces), {}, {}, ())


def deal(pieces: Sequence[Piece], seconds: Seconds) -> Mapping[str, int]:
    """The quarter of each piece, by its name: all quarters take about as long.

    Suite by suite, the longest piece first, each into the quarter that takes least: so a quarter
    with the real node has less of the others. Parts by seeds have a quarter each. Where the same
    tests are played on two grounds, no quarter has them on both: half of all commits play each.
    """
    runs = dict.fromkeys(range(QUARTERS), Run())
    dealt: dict[str, int] = {}
    order = list(SUITE)

    def place(piece: Piece) -> tuple[int, float, str]:
        return order.index(piece.suite), -seconds_of(piece, pieces, seconds), piece.name

    for piece in sorted(pieces, key=place):
        takes_s = seconds_of(piece, pieces, seconds)
        longer = {number: run.with_(piece, takes_s) for number, run in runs.items()}
        number = min(longer, key=lambda each: (longer[each].takes_s, each))
        if SUITE[piece.suite].parts > 1:
            number = int(piece.part) % QUARTERS
        if (twin := f"{SUITE[piece.suite].twin}/{piece.part}") in dealt:
            number = (dealt[twin] + QUARTERS // 2) % QUARTERS
        dealt[piece.name], runs[number] = number, longer[number]
    return dealt


@dataclass(frozen=True, slots=True)
class Run:
    """How long a run of some pieces takes: in seconds alone, and of each track beside others."""

    alone_s: float = 0.0
    tracks_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def takes_s(self) -> float:
        """The tracks take as long as the longest."""
        return self.alone_s + max(self.tracks_s.values(), default=0.0)

    def with_(self, piece: Piece, tests_s: float) -> Run:
        """The run with a piece whose tests take so long one after another."""
        suite = SUITE[piece.suite]
        takes_s = tests_s / suite.at_once
        if not suite.track:
            return Run(self.alone_s + takes_s, self.tracks_s)
        track_s = self.tracks_s.get(suite.track, 0.0) + takes_s
        return Run(self.alone_s, {**self.tracks_s, suite.track: track_s})


def seconds_of(piece: Piece, pieces: Sequence[Piece], seconds: Seconds) -> float:
    """Of a piece that is new, the mean of its suite."""
    if piece.name in seconds:
        return seconds[piece.name]
    known = [
        seconds[each.name] for each in pieces if each.suite == piece.suite and each.name in seconds
    ]
    return fmean(known) if known else UNKNOWN_S
