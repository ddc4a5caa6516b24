"""A replay as people and programs read it: a decision, its comparison, and what came of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from contracts.decisions import EffectRecord
from contracts.moments import micro_moment_of
from contracts.showing import agreeing, counted
from history.comparing import Verdict
from history.differing import short
from history.replaying import Step
from history.tallying import GAPS_NAMED_MAX, Tally

EFFECTS_SHOWN_MAX: Final = 10
_INDENT: Final = "    "
_VERDICTS: Final = {
    Verdict.EQUAL: "as it was recorded",
    Verdict.DIFFERENT: "DIFFERS",
    Verdict.UNKNOWN: "UNKNOWN",
}


def head_of(step: Step) -> str:
    """A decision in one line."""
    decision = step.recorded.decision
    decided = step.again or decision
    rules = ", ".join(f"{what} {rule}" for what, rule in decided.rules.items())
    verdict = _VERDICTS[step.compared.verdict]
    return (
        f"#{step.number} {step.place} {_moment(decision.now)} {decision.service} {decision.key}:"
        f" {decided.reason} ({rules or 'no rule'}), {verdict}"
    )


def lines_of(step: Step) -> Iterator[str]:
    """A decision with its snapshot, what changed in it, its effects, and how it compares."""
    yield head_of(step)
    again, decision = step.again, step.recorded.decision
    if again is None:
        yield f"{_INDENT}{step.compared.sentence}"
        yield from _side("recorded", decision.rules, decision.reason, decision.effects)
        return
    objects = again.objects
    named = f": {', '.join(objects.names)}" if objects.names else ""
    yield f"{_INDENT}snapshot: {counted(objects.count, 'object')}{named}"
    yield from _changed(step)
    if step.compared.verdict is Verdict.DIFFERENT:
        yield from difference_of(step)
        return
    yield from _effects(again.effects() if again.values else (), decision.effects)


def first_difference_of(step: Step) -> Iterator[str]:
    """The first decision of a replay that differs, whole."""
    yield f"the first decision that differs: {head_of(step)}"
    yield from difference_of(step)


def difference_of(step: Step) -> Iterator[str]:
    """Both decisions of one that differs, with the inputs of both."""
    again, decision = step.again, step.recorded.decision
    yield f"{_INDENT}{step.compared.sentence}"
    if again is None:
        return
    for name, objects in (("recorded", decision.objects), ("this release", again.objects)):
        views = f", views {objects.views}" if objects.views else ""
        what = f"{counted(objects.count, 'object')} {objects.sha256[:16]}"
        yield f"{_INDENT}inputs, {name}: {what}{views}"
    yield from _side("recorded", decision.rules, decision.reason, decision.effects)
    if again.crash:
        yield f"{_INDENT}this release raises {again.crash}"
    else:
        yield from _side("this release", again.rules, again.reason, again.effects())


def _changed(step: Step) -> Iterator[str]:
    if step.changes is None:
        yield f"{_INDENT}changed: the first decision of its key here"
        return
    if not step.changes:
        yield f"{_INDENT}changed: nothing but the time"
    for change in step.changes.first:
        yield f"{_INDENT}changed: {change}"
    if step.changes.has_more:
        yield f"{_INDENT}changed: more than these"


def _effects(effects: Iterable[EffectRecord], recorded: Iterable[EffectRecord]) -> Iterator[str]:
    """Today's effects, with what became of the same ones."""
    outcomes = {(each.name, each.subject): each.outcome for each in recorded}
    shown = list(effects)
    for each in shown[:EFFECTS_SHOWN_MAX]:
        outcome = outcomes.get((each.name, each.subject), "was not carried out")
        yield f"{_INDENT}effect: {_effect(each)}: {outcome}"
    if len(shown) > EFFECTS_SHOWN_MAX:
        yield f"{_INDENT}effect: {len(shown) - EFFECTS_SHOWN_MAX} more"
    if not shown:
        yield f"{_INDENT}effect: none"


def _side(name: str, rules: Any, reason: str, effects: Iterable[EffectRecord]) -> Iterator[str]:
    ruled = ", ".join(f"{what} {rule}" for what, rule in rules.items()) or "no rule"
    shown = list(effects)
    yield f"{_INDENT}{name}: {reason} ({ruled}), {len(shown)} effects"
    for each in shown[:EFFECTS_SHOWN_MAX]:
        outcome = f": {each.outcome}" if each.outcome else ""
        yield f"{_INDENT}{_INDENT}{_effect(each)}{outcome}"


def _effect(effect: EffectRecord) -> str:
    value = f" {short(effect.value)}" if effect.value is not None else ""
    return f"{' '.join(filter(None, (effect.name, effect.subject)))}{value}"


def _moment(unix_s: float) -> str:
    try:
        return micro_moment_of(unix_s)
    except (OverflowError, ValueError, OSError):
        return f"{unix_s} s"


def summary_of(tally: Tally) -> Iterator[str]:
    """What came of a replay, with every gap."""
    counts = [f"{tally.equal.total()} equal", f"{tally.different.total()} different"]
    if tally.meant:
        counts.append(f"{tally.meant.total()} different and accepted")
    counts.append(f"{tally.unknown.total()} unknown")
    starts = counted(tally.starts.total(), "start")
    yield f"{counted(tally.decisions, 'decision')} of {starts}: {', '.join(counts)}"
    for number, (gap, behind) in enumerate(tally.gaps.items()):
        if number == GAPS_NAMED_MAX:
            yield f"gap: {len(tally.gaps) - GAPS_NAMED_MAX} more"
            return
        unknown = (
            f"; {counted(behind, 'decision')} behind it {agreeing(behind, 'are')} unknown"
            if behind
            else ""
        )
        yield f"gap: {gap}{unknown}"


def document_of(step: Step) -> dict[str, Any]:
    """A decision of a replay for programs."""
    recorded, again = step.recorded.decision, step.again
    document: dict[str, Any] = {
        "number": step.number,
        "place": str(step.place),
        "namespace": step.recorded.namespace,
        "subject": step.recorded.job,
        "verdict": step.compared.verdict,
        "differs": step.compared.what,
        "why": step.compared.sentence,
        "recorded": recorded.to_json(),
        "again": None,
        "changes": None,
    }
    if again is not None:
        document["again"] = {
            "objects": again.objects.to_json(),
            "rules": dict(again.rules),
            "reason": again.reason,
            "decided": again.decided.to_json(),
            "effects": [each.to_json() for each in again.effects()],
            "requeueAt": again.requeue_at,
            "raises": again.crash,
        }
    if step.changes is not None:
        document["changes"] = {
            "first": [
                {"path": each.path, "before": each.before, "after": each.after}
                for each in step.changes.first
            ],
            "hasMore": step.changes.has_more,
        }
    return orjson.loads(orjson.dumps(document))  # type: ignore[no-any-return]


def summary_document(tally: Tally, notes: Iterable[str]) -> dict[str, Any]:
    """What came of a replay, for programs: the last line of its output."""
    return {
        "decisions": tally.decisions,
        "starts": dict(tally.starts),
        "equal": dict(tally.equal),
        "different": dict(tally.different),
        "accepted": dict(tally.meant),
        "unknown": dict(tally.unknown),
        "gaps": dict(tally.gaps),
        "problems": tally.problems,
        "notes": list(notes),
    }
