"""What a scenario is: how it begins, what people do, and when that has come about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.simulation.faulted_world import FaultedWorld

Act = Callable[[FaultedWorld], Awaitable[None]]
Holds = Callable[[FaultedWorld], bool]


@dataclass(frozen=True)
class Scenario:
    """`act` is what faults are planned for; `prepare` is over and quiet before it begins.

    `loose` says why the order of events may choose among several right ends: then numbers of
    launches and generations, and how often something was created, may differ from the undisturbed
    run. Empty: nothing may. `excuse` says of one run why it may have ended otherwise (empty: it may
    not); without `excuses_counts` as many objects of each kind are created and deleted even
    then. Of a large scenario one plan in `one_in` of each class is played.
    """

    name: str
    says: str
    act: Act
    is_done: Holds
    prepare: Act
    loose: str = ""
    one_in: int = 1
    excuse: Callable[[FaultedWorld], str] = lambda _world: ""
    excuses_counts: bool = True
