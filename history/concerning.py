"""What concerns one job or other root, of all that its partitions have: in words, nothing twice.

Facts of a job are those of its objects, its host pools and its Placement. A fact about something
else, such as a node, and a decision about something else, such as the marks of a node, concern the
job where one is the cause of the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, TypeVar

from contracts.belonging import is_root
from contracts.facts import Fact
from contracts.reasons import Reason
from history.belonging import is_of_job, job_observed, job_seen, service_of
from history.entries import Decided, Entry, Gap, Observed, Seen
from history.wording import Worded, object_of, worded

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

OBJECTS_MAX: Final = 5_000
"""Objects whose last state is remembered."""
CAUSES_MAX: Final = 5_000
"""Facts that a later decision may name as its cause."""
NOTABLE: Final = frozenset(
    {"PlanMade", "PlanDeclined", "PlanningFailed", "EffectFailed", "PlanDamaged", "NameTaken"}
)
"""Observations that are shown: the others follow from facts and decisions beside them."""
_SHADOWS: Final = frozenset({"BoundPod"})
"""Kinds whose facts say again what those of another kind say."""


class Concerning:
    """Picks and words what concerns a job; entries come in order of time.

    `services` names those that are shown; empty: all. `everything`: what repeats is shown as well.
    """

    def __init__(
        self,
        namespace: str,
        job: str,
        *,
        services: frozenset[str] = frozenset(),
        everything: bool = False,
    ) -> None:
        self._namespace = namespace
        self._job = job
        self._services = services
        self._everything = everything
        self._uids: set[str] = set()
        self._objects: OrderedDict[tuple[str, str], tuple[str, int, Any]] = OrderedDict()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._others: OrderedDict[str, Seen] = OrderedDict()
        self._pools: OrderedDict[str, None] = OrderedDict()
        self._reasons: OrderedDict[tuple[str, str], str] = OrderedDict()

    def take(self, entry: Entry) -> Iterator[tuple[Entry, Worded]]:
        """What is to be shown because of an entry: it, and the fact that caused it, or nothing."""
        for each, words in self._taken(entry):
            if not self._services or service_of(each) in self._services or isinstance(each, Gap):
                yield each, words

    def _taken(self, entry: Entry) -> Iterator[tuple[Entry, Worded]]:
        match entry:
            case Seen(fact=Fact() as fact):
                yield from self._take_fact(entry, fact)
            case Decided():
                yield from self._take_decision(entry)
            case Observed():
                if self._is_observed(entry):
                    yield entry, worded(entry)
            case Gap():
                yield entry, worded(entry)
            case _:
                if self._everything:
                    yield entry, worded(entry)

    # ------------------------------------------------------------------ facts

    def _take_fact(self, entry: Seen, fact: Fact) -> Iterator[tuple[Entry, Worded]]:
        _keep(self._names, entry.envelope.id, object_of(entry))
        if fact.kind == "Node":
            _keep(self._others, entry.envelope.id, entry)
        if not self._is_ours(fact):
            return
        if is_root(fact.kind):
            self._uids.add(fact.uid)
        if fact.job == "":  # of the cluster: what is decided because of it concerns the job
            _keep(self._pools, entry.envelope.id, None)
        if fact.kind in _SHADOWS and not self._everything:
            return
        uid, version, before = self._objects.get((fact.kind, fact.name), ("", -1, None))
        is_known = uid == fact.uid and version >= fact.resource_version
        if not is_known:
            known = fact.uid, fact.resource_version, fact.data
            _keep(self._objects, (fact.kind, fact.name), known, OBJECTS_MAX)
        if not is_known or self._everything:
            yield entry, worded(entry, before=before if uid == fact.uid else None)

    def _is_ours(self, fact: Fact) -> bool:
        if fact.namespace != self._namespace:
            return False
        return job_seen(fact) == self._job or (fact.kind, fact.name) in self._objects

    # ------------------------------------------------------------------ decisions

    def _take_decision(self, entry: Decided) -> Iterator[tuple[Entry, Worded]]:
        decision = entry.decision
        is_ours = entry.namespace == self._namespace and is_of_job(entry, self._job)
        if not is_ours and decision.cause not in self._pools:
            return
        key = decision.service, decision.key
        is_repeated = self._reasons.get(key) == decision.reason
        _keep(self._reasons, key, decision.reason)
        is_quiet = is_repeated or decision.reason == Reason.NOTHING_TO_CHANGE
        if is_quiet and not decision.effects and not self._everything:
            return
        cause = self._others.pop(decision.cause, None)
        if cause is not None:
            yield cause, worded(cause)
        yield entry, worded(entry, why=self._why(decision.cause))

    def _why(self, cause: str) -> str:
        """The cause as people read it; its object where its fact came by."""
        if not cause:
            return ""
        if cause in self._names:
            return f"because of {self._names[cause]}"
        if cause.startswith("sync/"):
            return "because of a resync"
        kinds = cause.split("/")[1:2]
        return f"because of a {kinds[0]}" if kinds else ""

    # ------------------------------------------------------------------ observations

    def _is_observed(self, entry: Observed) -> bool:
        observation = entry.observation
        if observation.what not in NOTABLE and not self._everything:
            return False
        content = observation.content
        uid = content.get("job_uid") if isinstance(content, Mapping) else None
        return uid in self._uids if uid else job_observed(content) == self._job


def _keep(memory: OrderedDict[K, V], key: K, value: V, at_most: int = CAUSES_MAX) -> None:
    """Remember a value; of many the oldest one is forgotten."""
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > at_most:
        memory.popitem(last=False)
