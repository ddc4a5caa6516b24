"""What came of a whole replay, counted by service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from history.accepting import Accepted, Judging, accepted_beside
from history.comparing import Verdict
from history.recordings import RecordingSource
from history.replaying import Replay, Step, Wanted, replayed
from history.sources import Source

GAPS_NAMED_MAX = 20


@dataclass
class Tally:
    """How many decisions came out equal, different or unknown.

    `first` is the first that differs and is not accepted. `gaps` are sentences, each with how many
    decisions are unknown because of it; `problems` are those with what is accepted.
    """

    starts: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)
    meant: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    observations: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    first: Step | None = None

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs but what is accepted, nothing is unknown, and all is listed."""
        return not (self.different or self.unknown or self.gaps or self.problems)

    @property
    def decisions(self) -> int:
        """How many decisions were looked at."""
        counters = (self.equal, self.different, self.meant, self.unknown)
        return sum(each.total() for each in counters)


class Tallying:
    """Counts the steps of a replay as they come."""

    def __init__(self, replay: Replay, accepted: Iterable[Accepted] = ()) -> None:
        self.tally = Tally()
        self._judging = Judging(accepted)
        self.tally.starts.update(each.service for each in replay.starts)
        self.tally.observations.update(replay.found.observations)
        for gap in replay.found.gaps:
            lost = f"records {gap.first} to {gap.end - 1} of {gap.partition}"
            self.tally.gaps[f"{lost} are missing: decisions may be among them"] += 0
        for lacking in replay.lacking():
            self.tally.gaps[lacking] += 0
        for unread in replay.found.unread:
            self.tally.gaps[f"{unread.place} cannot be read: {unread.why}"] += 0

    def add(self, step: Step) -> bool:
        """Count a decision; whether it differs and is not meant to."""
        tally, service = self.tally, step.recorded.decision.service
        is_meant = self._judging.is_meant(step)
        match step.compared.verdict:
            case Verdict.EQUAL:
                tally.equal[service] += 1
            case Verdict.UNKNOWN:
                tally.unknown[service] += 1
                start = step.recorded.decision.position.start
                tally.gaps[f"{service}, start {start}: {step.compared.sentence}"] += 1
            case Verdict.DIFFERENT if is_meant:
                tally.meant[service] += 1
            case Verdict.DIFFERENT:
                tally.different[service] += 1
                tally.first = tally.first or step
                return True
        return False

    def end(self, *, is_whole: bool = True) -> Tally:
        """All that was counted; `is_whole`: every decision of the recording was."""
        if is_whole:
            self._judging.end()
        self.tally.problems = self._judging.problems
        return self.tally


async def tally_of(
    source: Source, accepted: Iterable[Accepted] = (), wanted: Wanted | None = None
) -> Tally:
    """Replay all of a source."""
    async with replayed(source, wanted or Wanted(has_changes=False)) as replay:
        tallying = Tallying(replay, accepted)
        async with aclosing(replay.steps()) as steps:
            async for step in steps:
                tallying.add(step)
    return tallying.end()


async def replay_file(path: Path) -> Tally:
    """Replay one recording, with what is accepted beside it.

    Raises RecordingRefused or AcceptedMalformed.
    """
    return await tally_of(RecordingSource(path), accepted_beside(path))
