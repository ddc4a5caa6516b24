"""Exponential back-off with jitter: failures of keys and effects, remembered; growing pauses."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

H = TypeVar("H", bound=Hashable)

BASE_S = 0.25
CAP_S = 60.0
REMEMBERED_MAX = 20_000
FORGOTTEN_AFTER_CAPS = 4
AWAY_MAX_S = 2.0
_AWAY_GROWTH = 1.6
_DOUBLINGS_MAX = 30
"""More than these no pause needs, and a float cannot hold any number of them."""


def doubling_s(first_s: float, failures: int, most_s: float) -> float:
    """The pause after so many failures in a row, from 1: it doubles, up to `most_s` (seconds)."""
    return min(most_s, first_s * 2.0 ** min(failures - 1, _DOUBLINGS_MAX))


class GrowingPause:
    """How long to wait before a peer that is away is tried again: seconds, longer each time."""

    def __init__(self, first_s: float, jitter: Callable[[], float]) -> None:
        self._first_s = first_s
        self._jitter = jitter
        self._pause_s = first_s

    def begin(self) -> None:
        """It has just gone away."""
        self._pause_s = self._first_s

    def next_s(self) -> float:
        """The next pause, at most `AWAY_MAX_S`; by jitter (a number in 0..1) up to half shorter."""
        pause_s = self._pause_s
        self._pause_s = min(AWAY_MAX_S, pause_s * _AWAY_GROWTH)
        return pause_s * (0.5 + self._jitter() / 2)


@dataclass(slots=True)
class _Failures:
    count: int
    until: float


class Backoffs(Generic[H]):
    """Who failed, how often in a row, and until when it waits (unix seconds)."""

    def __init__(
        self, randomness: random.Random, *, base_s: float = BASE_S, cap_s: float = CAP_S
    ) -> None:
        self._random = randomness
        self._base_s = base_s
        self._cap_s = cap_s
        self._failures: OrderedDict[H, _Failures] = OrderedDict()

    def mark_failed(self, who: H, now: float, *, at_least_s: float = 0.0) -> float:
        """One more failure; returns until when `who` waits, no less than a server demanded."""
        known = self._failures.get(who)
        if known is None or now > known.until + FORGOTTEN_AFTER_CAPS * self._cap_s:
            known = _Failures(0, now)
        known.count += 1
        delay_s = doubling_s(self._base_s, known.count, self._cap_s)
        delay_s *= 0.5 + self._random.random() / 2
        return self._remember(who, known, now + max(delay_s, at_least_s))

    def mark_superseded(self, who: H, now: float) -> float:
        """Superseded: the first time it may try again at once, then it backs off."""
        if who in self._failures:
            return self.mark_failed(who, now)
        return self._remember(who, _Failures(1, now), now)

    def mark_refused(self, who: H, now: float) -> float:
        """Refused for good as long as nothing changes: it waits as long as anything may."""
        known = self._failures.get(who) or _Failures(0, now)
        known.count += 1
        delay_s = self._cap_s * (0.5 + self._random.random() / 2)
        return self._remember(who, known, now + delay_s)

    def mark_succeeded(self, who: H) -> None:
        """Forget the failures."""
        self._failures.pop(who, None)

    def waiting_until(self, who: H, now: float) -> float | None:
        """Until when it still waits, or None if it may try."""
        known = self._failures.get(who)
        return known.until if known is not None and known.until > now else None

    def _remember(self, who: H, failures: _Failures, until: float) -> float:
        failures.until = until
        self._failures[who] = failures
        self._failures.move_to_end(who)
        if len(self._failures) > REMEMBERED_MAX:
            self._failures.popitem(last=False)
        return until
