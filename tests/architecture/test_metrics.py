"""Every metric that code counts is in the catalogue: one that is not would crash what counts it."""

from __future__ import annotations

import ast

from contracts.metrics import METRICS
from tests.architecture.source import modules

COUNTING = frozenset({"count", "set_gauge", "observe"})


def _counted() -> set[str]:
    """The names of metrics in calls such as `metrics.count("millrace_sleeps_total")`."""
    calls = (
        node
        for _, tree in modules("services", with_words=("metrics",))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
    )
    return {
        call.args[0].value
        for call in calls
        if call.func.attr in COUNTING  # type: ignore[attr-defined]
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
        and "metrics" in ast.unparse(call.func)
    }


def test_every_metric_that_is_counted_is_in_the_catalogue() -> None:
    counted = _counted()
    assert "millrace_crashes_total" in counted
    assert counted - METRICS.keys() == set()
