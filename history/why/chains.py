"""The causal chain: from the object of the question down to what shows the cause, newest first.

Each link is an object and what its status says, since when; below it is who decided that, on which
fact, by the log, then what the link waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contracts.facts import SyncCompleted
from history.entries import Decided, Seen
from history.why.case import JOB, NODE, PE, PLACEMENT, POD, POOL, REGION, Case, event_time, unready
from history.why.closed_nodes import closed_since, closing
from history.why.deciding import first_failure_s, newest_decision
from history.why.health import started_s
from history.why.phrases import brief, node_name_of
from history.why.things import READY, Condition, Thing, moment_s
from services.roster import OWNERS

LINK_CHARS_MAX = 400
EVENTS_SHOWN_MAX = 2
EFFECTS_SHOWN_MAX = 3
_TYPES = {"addition": "was added", "modification": "changed", "deletion": "was deleted"}


@dataclass(frozen=True, slots=True)
class Link:
    """One step: `kind` is `object`, `decision` or `event`; `since_s` is unix seconds.

    `place` is where in the log the step is recorded; empty for a status.
    """

    kind: str
    text: str
    since_s: float | None = None
    place: str = ""
    below: tuple[Link, ...] = ()


def chain_of(case: Case, subject: Thing) -> tuple[Link, ...]:
    """The chain, as one tree; its first link is the object of the question."""
    link: Link | None = None
    for thing in reversed([*_path(case, subject)]):
        below = (*_decisions(case, thing), *_events(case, thing), *((link,) if link else ()))
        link = Link("object", _stands(thing), _since(case, thing), below=below)
    return (link,) if link else ()


def _path(case: Case, subject: Thing) -> Iterator[Thing]:
    """From the object of the question to the subject, and to the node behind it."""
    yield case.target
    target = (case.target.kind, case.target.name)
    above = [subject]
    if subject.kind == POD and (pe := case.pe_of(subject)) is not None:
        above.insert(0, pe)
    if subject.role == PE and (pod := case.pod_of(subject)) is not None:
        above.append(pod)
    yield from (each for each in above if (each.kind, each.name) != target)
    name = node_name_of(case, subject)
    node = case.node(name) if subject.role in (PE, POD) else None
    if node is not None and (unready(node) or closing(node)):
        yield node


# --------------------------------------------------------------------------- objects


def _stands(thing: Thing) -> str:
    """What the status of an object says."""
    state = ", ".join(each for each in _state(thing) if each)
    message = _message(thing)
    text = f"{thing.title}{f' is {state}' if state else ''}{f': {message}' if message else ''}"
    return brief(text, LINK_CHARS_MAX)


def _state(thing: Thing) -> Iterator[str]:
    if thing.is_deleting:
        yield "being deleted"
    yield thing.phase
    yield thing.reason if thing.reason != thing.phase else ""
    if thing.kind == NODE:
        yield "not ready" if unready(thing) else "ready"
        yield from (each.removeprefix("it is ") for each in closing(thing)[:1])
    if thing.kind == POD:
        node = thing.spec.get("nodeName")
        yield f"on node {node}" if node else "on no node"


def _message(thing: Thing) -> str:
    condition = _telling(thing)
    if thing.kind in (POD, NODE):
        return brief(condition.message, LINK_CHARS_MAX) if condition else ""
    words = f"{condition.type} is {condition.status}: {condition.message}" if condition else ""
    if thing.role == JOB and thing.phase == "Submitted" and words:
        return f"{thing.message}; {words}"
    return thing.message or words


def _telling(thing: Thing) -> Condition | None:
    """The condition of an object that says most of why it is not well."""
    wanted = {
        JOB: tuple((type_, "False") for type_ in ("Healthy", "Placed", "Submitted", "Accepted")),
        PE: tuple(
            (type_, "True")
            for type_ in ("PodBlocked", "StuckTerminating", "RestartsExhausted", "BackingOff")
        ),
        POD: (("PodScheduled", "False"), (READY, "False")),
        NODE: ((READY, "False"), (READY, "Unknown")),
        PLACEMENT: (("Placed", "False"), ("Placed", "Unknown")),
        POOL: ((READY, "False"),),
        REGION: (("Accepted", "False"),),
    }
    if thing.role == JOB and thing.phase != "Submitted":  # nothing runs yet, so health says less
        wanted[JOB] = (("Submitted", "False"), *wanted[JOB])
    found = (thing.condition(*each) for each in wanted.get(thing.role, ()))
    return next((each for each in found if each is not None), None)


def _since(case: Case, thing: Thing) -> float | None:
    if thing.is_deleting:
        return thing.deleted_s
    condition = _telling(thing)
    is_attempt = thing.role == JOB and condition is not None and condition.type == "Submitted"
    if is_attempt and condition is not None and condition.since_s is not None:
        # Each attempt states it again.
        recorded_s = moment_s(thing.status.get("firstFailedAt"))
        logged_s = first_failure_s(case, thing, condition.reason)
        known = (condition.since_s, recorded_s, logged_s)
        return min(each for each in known if each is not None)
    if thing.kind == NODE and condition is None and closing(thing):
        return closed_since(thing)
    if condition is not None and condition.since_s is not None:
        return condition.since_s
    completed = thing.condition("Completed", "True") if thing.role == JOB else None
    if completed is not None and completed.since_s is not None:
        return completed.since_s
    pod = case.pod_of(thing) if thing.role == PE and thing.phase == "Running" else None
    running_s = started_s(pod) if pod is not None else None
    return running_s or moment_s(thing.status.get("startedAt")) or thing.created_s


# --------------------------------------------------------------------------- the log


def _decisions(case: Case, thing: Thing) -> Iterator[Link]:
    """The newest decision that explains the status of an object, and the fact that led to it."""
    entry = newest_decision(case, thing, _reasons(case, thing))
    if entry is not None:
        text = brief(_decided(case, entry), LINK_CHARS_MAX)
        yield Link("decision", text, entry.decision.now, str(entry.place))


def _reasons(case: Case, thing: Thing) -> frozenset[str]:
    """The reasons that the status states; empty for an object whose status has none of ours."""
    if thing.kind == NODE:
        return frozenset()
    of = (case.pe_of(thing) or thing) if thing.kind == POD else thing
    condition = _telling(of)
    stating = [condition] if condition is not None else of.conditions
    return frozenset({of.reason, *(each.reason for each in stating)} - {""})


def _decided(case: Case, entry: Decided) -> str:
    decision = entry.decision
    # A service with one rule for each decision; of the others the reason says more.
    rules = ", ".join(sorted({*decision.rules.values()})) if decision.service == OWNERS[PE] else ""
    shown = decision.effects[:EFFECTS_SHOWN_MAX]
    effects = ", ".join(_effect(each.name, each.subject, each.outcome) for each in shown)
    more = len(decision.effects) - len(shown)
    return (
        f"{decision.service} decided {decision.reason}{f' (rule {rules})' if rules else ''}"
        f" on {_fact(case, decision.cause)}: {effects}{f' and {more} more' if more else ''}"
    )


def _effect(name: str, subject: str, outcome: str) -> str:
    return f"{name}{f' {subject}' if subject else ''} ({outcome})"


def _fact(case: Case, cause: str) -> str:
    """The fact of an id, by its record if that was read, else by the id: uid@version/kind/type."""
    for entry in case.gathered.log.entries:
        if isinstance(entry, Seen) and entry.envelope.id == cause:
            if isinstance(entry.fact, SyncCompleted):
                return f"a resync ({entry.place})"
            kind_of = entry.fact.type.rpartition(".")[2]
            does = _TYPES.get(kind_of, kind_of)
            return f"the fact that {entry.fact.kind} {entry.fact.name} {does} ({entry.place})"
    parts = cause.split("/")
    if len(parts) > 2:
        kind_of = f" ({parts[2]})" if parts[2] in _TYPES else ""
        return f"a fact about a {parts[1]}{kind_of}"
    return "what it had seen before" if not cause else f"the fact {cause}"


def _events(case: Case, thing: Thing) -> Iterator[Link]:
    """The newest warnings about a pod or a node, in the words of the cluster."""
    if thing.kind not in (POD, NODE):
        return
    for event in case.events_of(thing)[:EVENTS_SHOWN_MAX]:
        text = f"Event {event.obj.get('reason')}: {brief(str(event.obj.get('message') or ''))}"
        yield Link("event", brief(text, LINK_CHARS_MAX), moment_s(event_time(event)))
