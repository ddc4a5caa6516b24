"""What is wrong with a replay, in lines as `millrace replay --diff` words it."""

from __future__ import annotations

from collections.abc import Iterator

from cli.replay_views import first_difference_of
from history.tallying import Tally


def sentences_of(tally: Tally) -> Iterator[str]:
    """The first difference, gaps and problems; nothing of a replay that is equal."""
    if tally.first is not None:
        yield from first_difference_of(tally.first)
    yield from (f"gap: {gap}: {count} decisions are unknown" for gap, count in tally.gaps.items())
    yield from tally.problems
