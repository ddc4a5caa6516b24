"""The answer: cause, remedy and chain of the first rule that holds, and what else is not as usual.

Pure: what was gathered in, an `Answer` out; `wording.py` makes text and JSON of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contracts.moments import moment_of
from history.why.case import NODE, Case
from history.why.chains import Link, chain_of
from history.why.gathered import Gathered
from history.why.health import Well, impact_of, share_running, started_s, well
from history.why.of_losses import first_loss_s
from history.why.of_operators import skips
from history.why.of_sources import gives_again
from history.why.phrases import about, brief, values_of, word_of
from history.why.rules import RULES, Rule, Trouble
from history.why.things import Thing, number_of

ALSO_MAX: Final = 5
_T: Final = Trouble
_PLACES: Final = frozenset({_T.NODES_CLOSED, _T.UNPLACED, _T.UNSCHEDULABLE, _T.NODE_LOST})
_MOUNTS: Final = frozenset({_T.SECRET_MISSING, _T.CLAIM_MISSING, _T.CLAIM_UNBOUND})
_REFUSALS: Final = frozenset({_T.QUOTA, _T.ACCOUNT_MISSING, _T.ADMISSION_POLICY, _T.POD_REFUSED})
_JOBS: Final = frozenset({_T.BUNDLE_AWAY, _T.BUNDLE_INVALID, _T.NAME_TAKEN, _T.NODE_QUOTA})
_SAME: Final = (
    (_PLACES, _PLACES | {_T.JOB_REFUSED, _T.GATES_CLOSED, _T.SILENT_POD, _T.OWN_STATUS}),
    (_MOUNTS, frozenset({_T.NOT_MOUNTED, _T.NOT_STARTED, _T.UNSCHEDULABLE, _T.NOT_READY})),
    (_REFUSALS, frozenset({_T.POD_REFUSED, _T.JOB_REFUSED})),
    (_JOBS, _PLACES | {_T.JOB_REFUSED}),
    (frozenset({_T.NODE_NOT_READY}), frozenset({_T.NODE_CLOSED})),
    (
        frozenset({_T.OPERATOR_FAILS}),
        frozenset({_T.BACKING_OFF, _T.POD_FAILED, _T.NOT_CONNECTED, _T.NOT_READY}),
    ),
    (frozenset({_T.FAILS_EACH_TIME}), frozenset({_T.BACKING_OFF, _T.POD_FAILED, _T.NOT_READY})),
    (frozenset(_T), frozenset({_T.NOT_READY})),
)
"""Where the first trouble is the cause, the others say the same, or follow from it."""
_SHOWN_BY_JOB: Final = frozenset(
    {_T.OPERATOR_FAILS, _T.CHECKPOINTS_FAIL, _T.NOT_CONNECTED, _T.BACKING_OFF, _T.FAILS_EACH_TIME}
)
"""Troubles of PEs whose statuses do not say when they began; Healthy turns False with them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Why an object is as it is.

    `trouble` is None if nothing is wrong, and then `cause` says so, with since when. `also` are
    troubles that are not the cause. `limits` say on what the answer does not rest. `is_in_doubt`:
    nothing is wrong now, but launches failed a short time ago.
    """

    title: str
    trouble: str | None
    cause: str
    remedy: str
    since_s: float | None
    chain: tuple[Link, ...]
    also: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    is_in_doubt: bool = False


@dataclass(frozen=True, slots=True)
class Impact:
    """What a trouble means for a job: in words, and the share of its PEs that runs (0 to 1)."""

    text: str
    running: float


def impact_on(gathered: Gathered, answer: Answer) -> Impact:
    """What the trouble of an answer means for its job."""
    case = Case(gathered)
    return Impact(impact_of(case, answer.trouble), share_running(case))


def answer_of(gathered: Gathered) -> Answer:
    """Why the object is as it is."""
    case = Case(gathered)
    limits = tuple(_limits(gathered))
    fine = well(case)
    if fine is not None:
        return _of_well(case, fine, limits)
    holding = [(rule, subject) for rule in RULES if (subject := rule.guard(case)) is not None]
    if not holding:
        return _of_unknown(case, limits)
    rule, subject = holding[0]
    chain = chain_of(case, subject)
    return Answer(
        title=case.target.title,
        trouble=rule.trouble.name,
        cause=rule.cause(case, subject),
        remedy=rule.remedy(case, subject),
        since_s=_began_s(case, rule.trouble, _oldest(chain)),
        chain=chain,
        also=tuple(_others(case, rule, holding))[:ALSO_MAX],
        limits=limits,
    )


def _began_s(case: Case, trouble: Trouble, shown_s: float | None) -> float | None:
    """Since when a trouble is there; `shown_s`: since when what shows it is as it is.

    A PE that runs shows since when it runs, and one that fails again and again when it did last.
    """
    if trouble is _T.TUPLES_LOST:
        return first_loss_s(case)
    if trouble not in _SHOWN_BY_JOB or case.job is None:
        return shown_s
    if first_loss_s(case) is not None:  # Healthy may be False since then
        return shown_s if trouble is _T.BACKING_OFF else None
    healthy = case.job.condition("Healthy", "False")
    return healthy.since_s if healthy else None


def _oldest(chain: tuple[Link, ...]) -> float | None:
    """Since when the last object of the chain is as it is: what shows the cause."""
    since = None
    while chain:
        link = next((each for each in reversed(chain) if each.kind == "object"), None)
        if link is None:
            break
        since, chain = link.since_s or since, link.below
    return since


def _of_well(case: Case, fine: Well, limits: tuple[str, ...]) -> Answer:
    target = case.target
    noted = "".join(f"; {each}" for each in (skips(case), gives_again(case)) if each)
    cause = f"nothing is wrong: {target.title} {brief(fine.does)}{noted}"
    remedy, since_s = "Nothing is to be done", fine.since_s
    if fine.but:
        since_s = None  # the sentence has it
        cause = f"{target.title} {brief(fine.does)}, but {_just_failed(case, fine.but)}"
        log = values_of(case, fine.but[0])["log"]
        remedy = f"Wait some minutes, and ask again. {log} if it fails again"
    return Answer(
        title=target.title,
        trouble=None,
        cause=cause,
        remedy=remedy,
        since_s=since_s,
        chain=chain_of(case, target),
        also=(*_repeats(case if fine.but else None), *_idle_services(case)),
        limits=limits,
        is_in_doubt=bool(fine.but),
    )


def _just_failed(case: Case, pes: tuple[Thing, ...]) -> str:
    """Since when PEs run, and how many launches failed before."""
    first = pes[0]
    pod, count = case.pod_of(first), number_of(first.status.get("restarts"))
    began_s = started_s(pod) if pod is not None else None
    passed = f" only since {case.gathered.now_s - began_s:.0f} s" if began_s is not None else ""
    in_a_row = f" (restarts in a row: {count})" if count > 1 else ""
    return f"{about(case, first, pes)} runs{passed}, and its launch before failed{in_a_row}"


def _of_unknown(case: Case, limits: tuple[str, ...]) -> Answer:
    """No rule knows it: its own words, and where to look."""
    target = case.target
    words = brief(target.message or target.reason or target.phase or "it has no status")
    namespace = "" if target.kind == NODE else f" -n {case.namespace}"
    return Answer(
        title=target.title,
        trouble="UNKNOWN",
        cause=f"{target.title} is not well, for a cause that is not known here: {words}",
        remedy=f"See its Events: kubectl describe {word_of(target.kind)} {target.name}{namespace}",
        since_s=target.created_s,
        chain=chain_of(case, target),
        limits=limits,
    )


def _others(case: Case, first: Rule, holding: list[tuple[Rule, Thing]]) -> Iterator[str]:
    """Other troubles: they are there, and not the cause."""
    named = {first.trouble, Trouble.IN_PROGRESS, *_implied(first.trouble)}
    for rule, subject in holding[1:]:
        if rule.trouble not in named:
            named |= {rule.trouble, *_implied(rule.trouble)}
            yield rule.cause(case, subject)
    yield from _repeats(case)
    is_of_services = first.trouble in (Trouble.SERVICE_DOWN, Trouble.LOG_AWAY)
    yield from () if is_of_services else _idle_services(case)


def _repeats(case: Case | None) -> Iterator[str]:
    """Sources that may have given tuples again."""
    if case is not None and (text := gives_again(case)):
        yield text


def _implied(trouble: Trouble) -> frozenset[Trouble]:
    """Troubles that are the same one, seen less closely."""
    return next((rest for first, rest in _SAME if trouble in first), frozenset())


def _idle_services(case: Case) -> Iterator[str]:
    """Services that do not run, although nothing waits for them now."""
    for service in case.gathered.services or ():
        if service.problem:
            yield f"{service.name} {service.problem}"


def _limits(gathered: Gathered) -> Iterator[str]:
    for kind, why in sorted(gathered.unread.items()):
        yield f"without {kind}s: {brief(why)}"
    for kind, count in sorted(gathered.partly.items()):
        yield f"of {kind}s only the first {count} were read"
    if gathered.services is None and gathered.services_unread:
        yield f"without the state of the services: {brief(gathered.services_unread)}"
    if gathered.log.since_s is not None:
        yield f"the log was read back to {moment_of(gathered.log.since_s)}"
    if gathered.log.absent:
        yield f"from status alone, without the log: {brief(gathered.log.absent)}"
