"""Chooses the execution of an operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.graph import Operator
from millrace.runtime.clock import Clock
from millrace.runtime.operators import AsyncExecution, Execution, PlainExecution
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
