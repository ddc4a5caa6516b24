"""Guards and sentences about writes of services that fail again and again.

No status says so: what is tried again may succeed a moment later. The log has the outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contracts.decisions import EffectRecord
from history.entries import Decided
from history.why.case import NODE, Case
from history.why.deciding import newest_decision
from history.why.phrases import about, values_of
from history.why.things import Thing
from services.chassis.running.effect_spans import FAILURES

_REJECTED: Final = "rejected"


@dataclass(frozen=True, slots=True)
class Failing:
    """The newest decision about an object with an effect that failed."""

    subject: Thing
    service: str
    effect: EffectRecord


def _failing(case: Case) -> Iterator[Failing]:
    """For PEs that do not run, then for the job; nothing of an object that is as it should be."""
    is_busy = case.job is not None and case.job.phase in ("", "Submitting", "Resizing", "Deleting")
    jobs = (case.job,) if case.job is not None and is_busy and case.target.kind != NODE else ()
    for thing in (*case.idle, *jobs):
        found = newest_decision(case, thing)
        effect = _failed_of(found) if found is not None else None
        if found is not None and effect is not None:
            yield Failing(thing, found.decision.service, effect)


def _failed_of(entry: Decided) -> EffectRecord | None:
    return next((each for each in entry.decision.effects if each.outcome in FAILURES), None)


def failing(case: Case) -> Thing | None:
    """Guard: what the service of an object wrote last failed, and is tried again."""
    return next((each.subject for each in _failing(case)), None)


def _of(case: Case, subject: Thing) -> Failing:
    return next(each for each in _failing(case) if each.subject == subject)


def of_failing(case: Case, subject: Thing) -> str:
    """Which service fails, with what, and how."""
    found = _of(case, subject)
    alike = [each.subject for each in _failing(case) if each.subject.kind == subject.kind]
    how = "refuses it" if found.effect.outcome == _REJECTED else "answers with an error"
    return (
        f"{found.service} tries {found.effect.name} {found.effect.subject} for"
        f" {about(case, subject, alike)} again and again: the API server {how}"
    )


def cure_failing(case: Case, subject: Thing) -> str:
    """Where the words of the API server are, and what causes such answers."""
    found, values = _of(case, subject), values_of(case, subject)
    look = f"millrace logs --service {found.service} --job {values['job']} -n {values['ns']}"
    if found.effect.outcome == _REJECTED:
        cure = (
            f"give {found.service} the right that it lacks (`millrace upgrade` or the chart creates"
            " its roles; so does `millrace up` when it starts)"
        )
    else:
        cure = (
            "mend or remove the webhook that it names (kubectl get"
            " validatingwebhookconfigurations,mutatingwebhookconfigurations)"
        )
    return f"See what the API server answers ({look}), then {cure}"
