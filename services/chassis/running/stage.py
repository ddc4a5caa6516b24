"""What a service declares, and the chassis runs: facts → table → snapshot → decide → carry out.

A stage is the only seam between a service and the chassis. Everything here is domain-free.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from services.chassis.table.entries import Change, Index, TableReading
from services.chassis.table.viewing import View

K = TypeVar("K", bound=Hashable)
S = TypeVar("S")
E = TypeVar("E", bound=Hashable)
E_co = TypeVar("E_co", bound=Hashable, covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)


class Urgency(IntEnum):
    """Which of the effects that are to be carried out go first; an effect says it itself."""

    PROMPT = 0
    """Something waits for it."""
    PATIENT = 1
    """Nothing waits for it: it is put off behind what is prompt."""


def urgency_of(effect: object) -> Urgency:
    """An effect's `urgency`; one that says nothing is prompt."""
    urgency: Urgency = getattr(effect, "urgency", Urgency.PROMPT)
    return urgency


class Because(NamedTuple):
    """What an effect follows from: the rule that held, by the name of its observation, and why."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Decision(Generic[E_co]):
    """What a core decided for one key.

    `effects` run concurrently, begun in their order but for their urgency; each must be a frozen,
    hashable value (a failed one backs off under its own value). `requeue_at` (unix seconds) wakes
    the key when no fact would. `reason`, `rules` (the rule that held, by what it decides on) and
    `detail` go into the decision record. `because` has what each effect follows from; where it is
    empty, all follow from the only rule.
    """

    effects: tuple[E_co, ...]
    reason: str
    requeue_at: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    because: tuple[Because, ...] = ()


class TellsOfEffects(Protocol):
    """A stage that states what its effects are for, in the words of its service."""

    def about(self, key: Any, effect: Any) -> Mapping[str, str | int]:
        """Fields of the log lines and spans of an effect beside its object; None: of all of a key.

        No secret and no text of other people may be in them, but for the names of objects.
        """
        ...


class EndedWith(NamedTuple):
    """What ends when an effect is carried out: its name, and when it began (unix seconds)."""

    name: str
    began_s: float


class TellsOfEnds(Protocol):
    """A stage that knows what ends with an effect, for spans."""

    def ended_with(self, key: Any, effect: Any) -> Sequence[EndedWith]:
        """What ended with an effect that was carried out."""
        ...


@runtime_checkable
class HasViews(Protocol):
    """A stage whose snapshots would cost too much if they were made of entries alone."""

    views: Sequence[View]
    """The state that is folded from its table before each snapshot."""


@runtime_checkable
class TakesInObservations(Protocol):
    """A stage that uses what is neither a fact nor an answer of the API server."""

    def take_in(self, what: str, content: Mapping[str, Any]) -> None:
        """Let an observation count that was entered before, as `Wiring.enter` says."""
        ...


def views_of(stage: object) -> Sequence[View]:
    """The views of a stage; few have any."""
    return stage.views if isinstance(stage, HasViews) else ()


class Stage(Protocol[K, S, E]):
    """One service's logic, as the chassis sees it."""

    name: str
    """The service's name, e.g. `pod-state-machine`; User-Agent and source of its records."""

    kinds: frozenset[str]
    """The kinds of facts it reads (their topics follow from contracts/facts.py)."""

    indexes: Mapping[str, Index]
    """Secondary indexes of its table."""

    def keys(self, change: Change, table: TableReading) -> Iterable[K]:
        """The keys whose snapshot or fence a change alters; `table` has the new entry.

        A change that a key's snapshot does not show wakes nobody. One without an old entry has all
        keys of the object. What is raised where both entries are there makes the change two: one
        object goes, and another comes.
        """
        ...

    def all_keys(self, table: TableReading) -> Iterable[K]:
        """Every key, for the one reconciliation after a full resync."""
        ...

    def snapshot(self, table: TableReading, key: K) -> S:
        """Everything that `decide` may look at, as a frozen value."""
        ...

    def decide(self, snapshot: S, now: float) -> Decision[E]:
        """The core: a plain function."""
        ...

    def fence(self, table: TableReading, key: K) -> Hashable:
        """The inputs which, when they change, stop the carrying out of an older decision."""
        ...

    async def carry_out(self, key: K, snapshot: S, effect: E) -> str:
        """Execute one effect; returns its outcome in a word.

        Raises `services.chassis.process.errors.Transient` (tried again with back-off),
        `Rejected` (the API server refused it for good: logged, backed off at the cap) or
        `Superseded` (the input is newer: stop, decide again).
        """
        ...

    def subject(self, key: K) -> tuple[str, str]:
        """(namespace, name) that a key is about: its decision records are kept under it."""
        ...
