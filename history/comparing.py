"""Compares a decision as it was recorded with what the code of today decides on the same records.

1. The objects in the snapshot, by their digests: where they differ, the code that makes snapshots
   reads others, or records are missing that nothing else shows.
2. The rules, the reason and all effects: where they alone differ, a rule or an action changed.
3. What could not be made again is unknown, and never equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson

from contracts.canonical import plain
from contracts.decisions import DecisionRecord, EffectRecord, EffectsDecided, ObjectsRead
from contracts.showing import counted
from history.differing import short
from services.chassis.running.carrying_out import CarriedOut
from services.chassis.running.decision_log import decided_of, effects_recorded
from services.chassis.running.stage import Decision

NOT_CARRIED_OUT: Final = ""


class Verdict(StrEnum):
    """What a comparison found."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Again:
    """A decision that was made again; a core that raised has `crash` and decided nothing."""

    key: Hashable
    snapshot: Any
    objects: ObjectsRead
    rules: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    decided: EffectsDecided = field(default_factory=EffectsDecided)
    values: tuple[Any, ...] = ()
    requeue_at: float | None = None
    crash: str = ""

    def effects(self) -> tuple[EffectRecord, ...]:
        """The first effects as a record has them; none was carried out."""
        outcomes = [(effect, NOT_CARRIED_OUT) for effect in self.values]
        _, records = effects_recorded(self.values, CarriedOut(outcomes))
        plain_ones = (orjson.loads(orjson.dumps(each.to_json(), default=plain)) for each in records)
        return tuple(map(EffectRecord.of_json, plain_ones))


@dataclass(frozen=True, slots=True)
class Compared:
    """A verdict; `what` is the first thing that differs, in `sentence` with both values.

    Of an unknown decision the sentence says what is missing.
    """

    verdict: Verdict
    sentence: str = ""
    what: str = ""


EQUAL: Final = Compared(Verdict.EQUAL)


def unknown(why: str) -> Compared:
    """What cannot be compared, and why."""
    return Compared(Verdict.UNKNOWN, why)


def again_of(key: Hashable, snapshot: Any, objects: ObjectsRead, decision: Decision[Any]) -> Again:
    """A decision of today's core."""
    decided = decided_of(decision.effects)
    return Again(
        key,
        snapshot,
        objects,
        dict(decision.rules),
        decision.reason,
        decided,
        tuple(decision.effects),
        decision.requeue_at,
    )


def compared(recorded: DecisionRecord, again: Again, *, has_digests: bool = True) -> Compared:
    """What differs first.

    A redacted recording has no digests that could be compared; its names and values are others, and
    so may be what is decided on them: what comes out otherwise is unknown.
    """
    if has_digests and recorded.objects != again.objects:
        return Compared(Verdict.DIFFERENT, _objects_differ(recorded.objects, again), "objects")
    if not has_digests and (recorded.objects.sha256 or recorded.decided.sha256):
        return Compared(Verdict.DIFFERENT, "it is called redacted, and has digests", "redacted")
    what, sentence = _decided_otherwise(recorded, again, has_digests=has_digests)
    if not what:
        return EQUAL
    if not has_digests:
        return unknown(f"{_REDACTED}: {sentence}")
    return Compared(Verdict.DIFFERENT, f"the snapshot has the same objects, and {sentence}", what)


_REDACTED: Final = "the recording is redacted, so it may be for other names and values"


def _decided_otherwise(
    recorded: DecisionRecord, again: Again, *, has_digests: bool
) -> tuple[str, str]:
    """What differs first on the same objects, and a sentence; empty if nothing does."""
    if again.crash:
        return "crash", f"this release raises {again.crash}"
    if dict(recorded.rules) != dict(again.rules):
        return "rules", f"other rules hold: {_rules_differ(recorded.rules, again.rules)}"
    if recorded.reason != again.reason:
        return "reason", f"the reason was {recorded.reason} and is {again.reason}"
    if has_digests and recorded.decided != again.decided:
        return "effects", f"the same rules hold; {_effects_differ(recorded, again)}"
    return "", ""


def _objects_differ(recorded: ObjectsRead, again: Again) -> str:
    found = again.objects
    begin = "the inputs differ, so it is no rule, but how this release makes snapshots, or a gap: "
    if recorded.names and found.names and recorded.names != found.names:
        lost = [each for each in recorded.names if each not in found.names]
        new = [each for each in found.names if each not in recorded.names]
        return f"{begin}recorded only: {_listed(lost)}; now only: {_listed(new)}"
    if recorded.count != found.count:
        had = counted(recorded.count, "object")
        return f"{begin}the snapshot had {had}, and has {found.count} now"
    if (recorded.count, recorded.sha256) != (found.count, found.sha256):
        return f"{begin}one of the {found.count} objects has another version, uid or name"
    return f"{begin}the views are folded from other objects ({recorded.views}, now {found.views})"


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "nothing"


def _rules_differ(recorded: Mapping[str, str], now: Mapping[str, str]) -> str:
    return "; ".join(
        f"{what} was {recorded.get(what, 'not decided')} and is {now.get(what, 'not decided')}"
        for what in dict.fromkeys((*recorded, *now))
        if recorded.get(what) != now.get(what)
    )


def _effects_differ(recorded: DecisionRecord, again: Again) -> str:
    """The first effect that differs, as far as the record has effects."""
    counts = f"{recorded.decided.count} effects were decided, and {again.decided.count} are now"
    was = {_effect_text(each): each for each in recorded.effects if each.name != "…"}
    now = {_effect_text(each): each for each in again.effects() if each.name != "…"}
    only_now = next((text for text in now if text not in was), "")
    only_was = next((text for text in was if text not in now), "")
    parts = [f"recorded only: {short(only_was)}"] if only_was else []
    parts += [f"now only: {short(only_now)}"] if only_now else []
    return "; ".join([counts, *parts])


def _effect_text(effect: EffectRecord) -> str:
    """An effect without its outcome."""
    value = orjson.dumps(effect.value, option=orjson.OPT_SORT_KEYS).decode()
    return f"{effect.name} {effect.subject} {effect.sha256 or value}"
