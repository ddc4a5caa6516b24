"""The share of a checkout as a file that the stages of `.ci/run` read, and as lines for people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.pieces.choosing import COMMITS, QUARTERS, Share, choose, everything, number_of
from tests.pieces.commits import head_of, touched_in
from tests.pieces.covering import first_covered, globs_of, records_of_mutants
from tests.pieces.seconds import read
from tests.pieces.suites import SUITES, Piece, pieces


def share_of(root: Path, *, everything_wanted: bool, head: str = "") -> Share:
    """The share of HEAD in a checkout, or of another hash with the same files."""
    found, head = pieces(root), head or head_of(root)
    if everything_wanted:
        return everything(found, head)
    touched = touched_in(root, COMMITS)
    records = records_of_mutants()

    def covered(piece: Piece) -> str:
        return first_covered(piece, globs_of(piece, root), records, touched)

    return choose(found, head, covered, touched.__getitem__, read().pieces)


def write(share: Share, path: Path) -> None:
    """Keep a share; `pieces` has the names of what is played."""
    content = {**asdict(share), "pieces": sorted(share.chosen)}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def read_share(path: Path) -> Share:
    """The share in a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return Share(
        content["seed"],
        tuple(content["quarter"]),
        content["added"],
        content["without_time"],
        tuple(content["left_out"]),
    )


def lines_of_share(share: Share) -> Iterator[str]:
    """How the log of CI begins: the share, its seed, and why each piece is in it."""
    if not share.left_out:
        yield f"share: all pieces (SHARE=all), seed {share.seed}"
        return
    number = number_of(share.seed) + 1
    yield f"share: quarter {number} of {QUARTERS}, seed {share.seed}; SHARE=all plays everything"
    yield "  always: checks, the wheel, and all unit, contract and architecture tests"
    yield from _lines_by_suite(share.quarter)
    if share.added:
        yield f"  added, since one of the last {COMMITS} commits touched what they cover:"
    for name, path in share.added.items():
        yield f"    {name:<32} {path}"
    if share.without_time:
        yield "  no time for these, which cover touched files, too:"
        yield from _lines_by_suite(tuple(share.without_time))


def lines_left_out(share: Share) -> Iterator[str]:
    """How the log of CI ends: what was left out."""
    if not share.left_out:
        yield "left out: nothing"
        return
    played = len(share.chosen)
    yield f"left out: {len(share.left_out)} of {played + len(share.left_out)} pieces"
    yield from _lines_by_suite(share.left_out)
    if share.without_time:
        yield f"  of these {len(share.without_time)} cover files that were touched: no time left"
    yield "SHARE=all .ci/run, or make everything, plays all of them"


def counts_of(share: Share) -> Mapping[str, int]:
    """How many pieces of each suite are played."""
    return Counter(name.partition("/")[0] for name in share.chosen)


def _lines_by_suite(names: Sequence[str]) -> Iterator[str]:
    for suite in SUITES:
        prefix = f"{suite.name}/"
        if parts := [each.removeprefix(prefix) for each in names if each.startswith(prefix)]:
            yield f"  {suite.name:<12} {suite.says}: {', '.join(parts)}"
