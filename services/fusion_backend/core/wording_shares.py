"""What a Job says of pods that have more than its `spec.resources`, until they do not any more."""

from __future__ import annotations

from decimal import Decimal

from contracts.reasons import Reason
from contracts.resources.conditions import WITHIN_RESOURCES
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.scheduling.quantities import EXACT, quantity_of
from contracts.scheduling.requests import CPU
from contracts.showing import shown
from services.fusion_backend.core.conditions import condition, is_current
from services.fusion_backend.core.effects import Announcement, DesiredCondition
from services.fusion_backend.core.shares import Field, Shares
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.wording_conditions import PES_NAMED_MAX

_NAME = WITHIN_RESOURCES
_DECIMALS = Decimal("0.001")


def within_resources(situation: Situation) -> tuple[DesiredCondition, ...]:
    """The condition WithinResources; none where the job never had more than its resources."""
    shares = situation.shares
    if shares.whole and shares.excess:
        text = shown(_text(situation, shares), MESSAGE_CHARS_MAX)
        return (DesiredCondition(_NAME, "False", Reason.RESOURCES_EXCEEDED, text),)
    if condition(situation.job.status, _NAME):
        return (DesiredCondition(_NAME, "True", Reason.RESOURCES_KEPT),)
    return ()


def excess_announced(situation: Situation) -> tuple[Announcement, ...]:
    """The Warning that the pods have too much, once for each plan."""
    for desired in within_resources(situation):
        if desired.status == "False" and not is_current(situation.job.status, desired):
            generation = situation.plan.record.generation
            return (Announcement(desired.reason, desired.message, generation, warning=True),)
    return ()


def _text(situation: Situation, shares: Shares) -> str:
    """By how much, whose pods, and why."""
    over = [_over(shares, *each) for each in shares.excess]
    pes = sorted({pe for field, *_ in shares.excess for pe in shares.too_large(field)})
    named = ", ".join(map(str, pes[:PES_NAMED_MAX])) + ", …" * (len(pes) > PES_NAMED_MAX)
    text = f"{'; '.join(over)}. More than an equal share have the pods of PEs: {named}."
    obstacles = list(shares.obstacles())
    if not obstacles:
        return (
            f"{text} A resize did not change these PEs, and their pods were not resized in place;"
            " raise spec.resources, or submit the job again"
        )
    name, why = obstacles[0]
    return f"{text} {why}. To give {name} its share: kubectl annotate stp {name} {_RESTART}"


_RESTART = 'streams.ibm.com/restart="$(date)" --overwrite'


def _over(shares: Shares, field: Field, has: int, whole: int) -> str:
    part, name = field
    written = shares.whole[part][name]
    amounts = (_amount(name, each, written) for each in (has, whole, has - whole))
    has_text, whole_text, more = amounts
    return (
        f"{part}.{name} of the pods is {has_text}, {more} more than {whole_text} of spec.resources"
    )


def _amount(name: str, amount: int, like: object) -> str:
    """An amount in the unit in which the Job has the whole."""
    value = Decimal(amount) / 1000 if name == CPU else Decimal(amount)
    unit = quantity_of(like)
    if unit is None:
        return f"{value.normalize():f}"
    power = unit.units.index("") - unit.place
    scaled = EXACT.divide(value, EXACT.power(Decimal(unit.step), power))
    text = f"{scaled.quantize(_DECIMALS):f}".rstrip("0").rstrip(".")
    return f"{text}{unit.suffix}"
