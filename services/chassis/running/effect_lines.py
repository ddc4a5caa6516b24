"""One log line for each effect that was carried out, so that a person can follow what happens.

A line names the service, what the effect is for (the stage knows), its object, the rule and the
reason that it follows from, how it ended, and the seconds that it took. Nothing of an effect's
content is in a line: it may hold what is secret. Where nothing was changed the line is of level
debug. Of many effects of one decision the first lines are written, then one line that counts the
others; what fails is always written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from contracts.unreadable import ObjectUnreadable
from services.chassis.kube.writing import Outcome
from services.chassis.process.log_lines import Log
from services.chassis.running.stage import Because, Decision, EndedWith, Stage

EFFECT_LINES_MAX: Final = 200
"""Of one decision, as its record has effects (`decision_log.py`)."""
Tell = Callable[[Any, Any], Mapping[str, str | int]]
"""`TellsOfEffects.about` of a stage that has it."""
Ends = Callable[[Any, Any], Sequence[EndedWith]]
"""`TellsOfEnds.ended_with` of a stage that has it."""
UNCHANGED: Final = frozenset({str(Outcome.EXISTED), str(Outcome.UNCHANGED)})
"""Outcomes of effects that changed nothing."""


class EffectLines:
    """The lines of one decision about one key."""

    def __init__(
        self, log: Log, stage: Stage[Any, Any, Any], key: Hashable, decision: Decision[Any]
    ) -> None:
        self._log = log
        ends: Ends | None = getattr(stage, "ended_with", None)
        self.ended_with = partial(ends, key) if ends is not None else lambda _effect: ()
        self._about = partial(about, stage, key)
        self._key = key
        self._decision = decision
        self._because = because_of(decision)
        self._written = 0
        self._others: Counter[str] = Counter()

    def fields_of(self, effect: Any) -> dict[str, Any]:
        """What lines and spans state of an effect, its outcome excepted."""
        because = self._because.get(id(effect)) or Because("", str(self._decision.reason))
        return {
            **self._about(effect),
            "object": object_of(self._key, effect),
            "effect": type(effect).__name__,
            "rule": because.rule,
            "reason": str(because.reason),
        }

    def write(self, effect: Any, outcome: str, took_s: float) -> None:
        """The line of an effect that was carried out."""
        if outcome in UNCHANGED:
            self._log.debug("effect", **self._ended(effect, outcome, took_s))
            return
        if self._written == EFFECT_LINES_MAX:
            self._others[f"{type(effect).__name__} {outcome}"] += 1
            return
        self._written += 1
        self._log.info("effect", **self._ended(effect, outcome, took_s))

    def write_failed(
        self, level: str, effect: Any, outcome: str, took_s: float, problem: Exception
    ) -> None:
        """The line of an effect that did not take place, or whose answer is lost."""
        meaning = {"meaning": type(problem).__name__, "problem": str(problem)}
        getattr(self._log, level)(
            "effect_failed", **self._ended(effect, outcome, took_s), **meaning
        )

    def write_crashed(self, effect: Any, outcome: str, took_s: float) -> None:
        """The line of a defect, with the traceback of the exception that is handled now."""
        self._log.exception("effect_crashed", **self._ended(effect, outcome, took_s))

    def close(self) -> None:
        """Count the effects that have no line of their own; call it when all have ended."""
        if self._others:
            self._log.info(
                "more_effects",
                **self._about(None),
                reason=str(self._decision.reason),
                count=self._others.total(),
                outcomes=dict(sorted(self._others.items())),
            )

    def _ended(self, effect: Any, outcome: str, took_s: float) -> dict[str, Any]:
        ended = {"outcome": outcome, "seconds": round(took_s, 6)}
        return self.fields_of(effect) | ended


def about(stage: Stage[Any, Any, Any], key: Hashable, effect: Any) -> Mapping[str, str | int]:
    """What an effect is for, as its stage states it; else its key."""
    try:
        tell: Tell | None = getattr(stage, "about", None)  # a check of the protocol costs as a line
        return {"key": str(key)} if tell is None else tell(key, effect)
    except ObjectUnreadable:  # what it is for may be what cannot be read
        return {"key": str(key)}


def object_of(key: Hashable, effect: Any) -> str:
    """The object that an effect writes or reads, as kind/name.

    What the effect does not name is that of its key. `kind/*` are all objects of a kind that belong
    to the key.
    """
    kind, name = getattr(effect, "kind", ""), getattr(effect, "name", "")
    if kind and not name:
        return f"{kind}/*"
    kind = kind or getattr(key, "kind", "")
    return f"{kind}/{name or getattr(key, 'name', key)}"


def because_of(decision: Decision[Any]) -> Mapping[int, Because]:
    """What each effect of a decision follows from, by the identity of the effect."""
    because = decision.because
    if not because and len(decision.rules) == 1:
        (only,) = decision.rules.values()
        because = (Because(only, decision.reason),) * len(decision.effects)
    return {id(each): why for each, why in zip(decision.effects, because, strict=False)}
