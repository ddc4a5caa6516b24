"""Reports that wait: a queue whose head is sent until pe-gateway answers.

Of connectivity, rest and trouble only the newest counts, so a waiting older one is left out. Lost
and skipped tuples are reported as a total, too: a request whose answer was lost is sent again, and
must not count twice. A report that pe-gateway has taken and not yet recorded is sent again later: a
gateway that ends meanwhile takes it along.
"""

from __future__ import annotations

from collections import deque

from millrace.protocol import Connectivity, Lost, Report, Resting, Skipped, Trouble

_NEWEST = (Connectivity, Resting, Lost, Skipped, Trouble)


class Outgoing:
    """Reports that wait for their answer, and those that are not recorded yet."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._waiting: deque[Report] = deque()
        self._is_head_sent = False
        self._taken: dict[type[Report], Report] = {}

    def add(self, report: Report) -> None:
        """Put a report at the end; it replaces a waiting one that it makes superfluous."""
        if isinstance(report, _NEWEST):
            kept = [
                each
                for place, each in enumerate(self._waiting)
                if type(each) is not type(report) or (place == 0 and self._is_head_sent)
            ]
            self._waiting = deque(kept)
        self._waiting.append(report)

    def head(self) -> Report | None:
        """The report to send, again until it is answered; None if nothing waits."""
        self._is_head_sent = bool(self._waiting)
        return self._waiting[0] if self._waiting else None

    def answered(self, *, is_recorded: bool = True) -> None:
        """The head is answered: it waits no more, or until `again`."""
        report = self._waiting.popleft()
        self._is_head_sent = False
        self._taken.pop(type(report), None)
        if not is_recorded:
            self._taken[type(report)] = report

    def keep(self, kind: type[Report]) -> None:
        """Forget what waits and is of another kind; what was taken of this one waits again."""
        self._taken = {each: report for each, report in self._taken.items() if each is kind}
        self.again()
        self._waiting = deque(each for each in self._waiting if isinstance(each, kind))
        self._is_head_sent = False

    @property
    def has_taken(self) -> bool:
        """Whether reports were answered that are not recorded, as far as we know."""
        return bool(self._taken)

    def again(self) -> None:
        """Let reports that were not recorded wait once more, but those that are out of date."""
        newer = {type(each) for each in self._waiting}
        taken, self._taken = self._taken, {}
        self._waiting.extend(each for kind, each in taken.items() if kind not in newer)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)
