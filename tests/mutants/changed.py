"""The mutants of what the last commits touched: a file with bugs planted in it, or their tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from tests.mutants.planting import Mutant
from tests.pieces.choosing import COMMITS
from tests.pieces.commits import head_of, touched_in
from tests.places import ROOT

LONG = ("tests/e2e", "tests/simulation", "tests/histories")
"""Where a test takes so long that several mutants of unit tests are planted meanwhile."""


def changed(mutants: Iterable[Mutant]) -> Sequence[Mutant]:
    """Those of the files that the last commits touched, in the order in which to plant them."""
    return ordered(mutants, touched_in(ROOT, COMMITS), head_of(ROOT))


def ordered(mutants: Iterable[Mutant], touched: Mapping[str, int], head: str) -> Sequence[Mutant]:
    """Newest commit first; there is no time for all, so others of a commit come in its next ones.

    `touched` has the place of each touched file, `head` is the hash by which they are mixed.
    """

    def places(mutant: Mutant) -> list[int]:
        paths = (mutant.path, *(word.partition("::")[0] for word in mutant.caught_by))
        return [touched[path] for path in paths if path in touched]

    def place(mutant: Mutant) -> tuple[int, bool, bytes]:
        mixed = hashlib.sha256(f"{head} {mutant.name}".encode()).digest()
        return min(places(mutant)), any(word.startswith(LONG) for word in mutant.caught_by), mixed

    return sorted(filter(places, mutants), key=place)
