"""Chooses the execution of an operator, and begins sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.channels import begin_channel
from millrace.graph import Operator
from millrace.runtime.clock import Clock
from millrace.runtime.operators import Execution, bound
from millrace.runtime.stores import Single
from millrace.runtime.tuple_functions import AsyncExecution, PlainExecution
from millrace.runtime.windowing import CountWindows, TimeWindows


def execution_of(operator: Operator, values: Mapping[str, Any], clock: Clock) -> Execution:
    """An instance of an operator that takes tuples."""
    if operator.window is not None and operator.window.by == "count":
        return CountWindows(operator, values)
    if operator.window is not None:
        return TimeWindows(operator, values, clock)
    if operator.is_async:
        return AsyncExecution(operator, values)
    return PlainExecution(operator, values)


def single_of(operator: Operator) -> Single[Any] | None:
    """A store for the state of a source; None if it has no state."""
    return None if operator.state is None else Single(operator.state.type, operator.state.type)


def begun(
    operator: Operator,
    values: Mapping[str, Any],
    store: Single[Any] | None,
    channel: tuple[int, int],
) -> Any:
    """What a source gives: an iterable, plain or async. `channel`: its number, and of how many."""
    local = (channel[0],) if operator.region is not None else ()  # a source is in no nested region
    begin_channel(*channel, local)
    function = bound(operator, values)
    return function() if store is None else function(store.value)
