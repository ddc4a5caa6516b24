"""Which plans there are for a scenario: every mishap at every effect where it means something.

Plans that cannot be told apart are played once (`_is_another_s_twin`).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from contracts.topics import DECISIONS, DEFAULT_PREFIX
from tests.simulation.effects import Effect, Kind, Mishap

_DOING = (
    *(Mishap.CRASH_BEFORE, Mishap.CRASH_AFTER),
    *(Mishap.LOST_APPLIED, Mishap.LOST_UNAPPLIED),
)
MISHAPS: Mapping[Kind, Sequence[Mishap]] = {
    Kind.WRITE: (*_DOING, Mishap.ZOMBIE),
    Kind.APPEND: (*_DOING, Mishap.DUPLICATE, Mishap.ZOMBIE),
    Kind.COMMIT: (*_DOING, Mishap.ZOMBIE),
    Kind.READ: (
        *(Mishap.CRASH_BEFORE, Mishap.CRASH_AFTER),
        *(Mishap.DUPLICATE, Mishap.REDELIVERY, Mishap.ZOMBIE),
    ),
    Kind.EVENT: (
        *(Mishap.CRASH_BEFORE, Mishap.CRASH_AFTER, Mishap.DUPLICATE, Mishap.LATE_WATCH),
        *(Mishap.OLD_WATCH, Mishap.OLD_LIST, Mishap.EXPIRED),
    ),
}
CRASHES = (Mishap.CRASH_BEFORE, Mishap.CRASH_AFTER)
DECISIONS_TOPIC = DECISIONS.name(DEFAULT_PREFIX)
"""Nobody acts on records of decisions: of their fates only the service's own counts."""
HEARD = (Kind.READ, Kind.EVENT)
RANDOM_MISHAPS = (2, 5)


@dataclass(frozen=True, slots=True)
class Plan:
    """Mishaps at effects of a scenario, by the effects' numbers in the undisturbed run."""

    scenario: str
    mishaps: tuple[tuple[int, Mishap], ...]
    seed: int = 0

    @property
    def name(self) -> str:
        """What `--plan` takes: `crash-before:17`, several joined by commas."""
        return ",".join(f"{mishap}:{number}" for number, mishap in self.mishaps)

    @property
    def kind(self) -> str:
        """The class that the plan is counted under."""
        return str(self.mishaps[0][1]) if len(self.mishaps) == 1 else "random"

    @property
    def reference_seed(self) -> int:
        """The seed of the undisturbed run that it is compared with, and is numbered by."""
        return 0 if self.kind == "random" else self.seed

    @property
    def command(self) -> str:
        """The line that plays this plan again, with its trace."""
        return (
            f"python -m tests.simulation --scenario {self.scenario} --plan {self.name}"
            f" --seed {self.seed}"
        )


def parsed(text: str) -> tuple[tuple[int, Mishap], ...]:
    """Mishaps as `Plan.name` writes them; ArgumentTypeError where they are not."""
    found = []
    for part in text.split(","):
        mishap, _, number = part.rpartition(":")
        if mishap not in set(Mishap) or not number.isdecimal():
            raise argparse.ArgumentTypeError(f"{part!r} is not MISHAP:NUMBER; see --list")
        found.append((int(number), Mishap(mishap)))
    return tuple(found)


def misses(plan: Plan, trace: Sequence[Effect]) -> Iterator[str]:
    """Mishaps of a plan that no effect of the undisturbed run can meet, a sentence each."""
    for number, mishap in plan.mishaps:
        if number >= len(trace):
            yield f"{mishap}:{number} cannot be met: the run has only {len(trace)} effects"
        elif mishap not in MISHAPS[trace[number].kind]:
            kind = trace[number].kind
            known = ", ".join(MISHAPS[kind])
            yield f"{mishap}:{number} cannot be met: effect {number} is a {kind} (it has {known})"


def every_plan(scenario: str, trace: Sequence[Effect], seed: int) -> Iterator[Plan]:
    """Every mishap at every effect, effect by effect."""
    for number, effect in enumerate(trace):
        for mishap in MISHAPS[effect.kind]:
            if not _is_another_s_twin(mishap, trace, number):
                yield Plan(scenario, ((number, mishap),), seed)


def _is_another_s_twin(mishap: Mishap, trace: Sequence[Effect], number: int) -> bool:
    """Whether another plan cannot be distinguished from this one.

    What a service has heard and not yet acted on dies with it. So between two things that it does
    there is one moment to die or to fall asleep, and one list of a kind that comes again. Where a
    Lease is renewed and nothing else happens, the first and the last renewal say all.
    """
    effect = trace[number]
    if all(each.is_renewal for each in trace[max(0, number - 1) : number + 2]):
        return 0 < number < len(trace) - 1
    if effect.kind not in HEARD:
        return DECISIONS_TOPIC in effect.text and mishap not in CRASHES
    if mishap is Mishap.CRASH_AFTER:
        return any(each.service == effect.service for each in trace[number + 1 :])
    if mishap in (Mishap.CRASH_BEFORE, Mishap.ZOMBIE):
        return bool(_heard_before(trace, number))
    if mishap in (Mishap.OLD_WATCH, Mishap.OLD_LIST, Mishap.EXPIRED):
        return effect.subject in {each.subject for each in _heard_before(trace, number)}
    return False


def _heard_before(trace: Sequence[Effect], number: int) -> list[Effect]:
    """What the same service has heard since it last did something."""
    heard: list[Effect] = []
    for each in reversed(trace[:number]):
        if each.service != trace[number].service:
            continue
        if each.kind not in HEARD:
            break
        heard.append(each)
    return heard


def shared(plans: Sequence[Plan], one_in: int) -> list[Plan]:
    """The first of each class, and every so manieth after it; a stable choice."""
    counts: dict[str, int] = {}
    chosen = []
    for plan in plans:
        place = counts[plan.kind] = counts.get(plan.kind, -1) + 1
        if place % one_in == (len(counts) * 7) % one_in or place == 0:
            chosen.append(plan)
    return chosen


def random_plan(scenario: str, trace: Sequence[Effect], seed: int) -> Plan:
    """Several mishaps at several effects; those that a disturbed run does not reach are not met."""
    dice = random.Random(f"{scenario}/{seed}")
    count = min(dice.randint(*RANDOM_MISHAPS), len(trace))
    numbers = sorted(dice.sample(range(len(trace)), count))
    chosen = ((number, dice.choice(MISHAPS[trace[number].kind])) for number in numbers)
    return Plan(scenario, tuple(chosen), seed)
