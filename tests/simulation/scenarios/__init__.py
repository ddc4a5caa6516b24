"""The scenarios by name; each is undisturbed first, and its effects are what faults meet."""

from tests.simulation.scenarios import (
    admitting,
    ending,
    handing_over,
    lacking,
    losing,
    lost_nodes,
    marking,
    placing,
    provisioning,
    resizing,
    submitting,
)
from tests.simulation.scenarios.scenario import Scenario

_ALL = (
    *submitting.SCENARIOS,
    *resizing.SCENARIOS,
    *handing_over.SCENARIOS,
    *losing.SCENARIOS,
    *lost_nodes.SCENARIOS,
    *marking.SCENARIOS,
    *placing.SCENARIOS,
    *lacking.SCENARIOS,
    *provisioning.SCENARIOS,
    *ending.SCENARIOS,
    *admitting.SCENARIOS,
)
SCENARIOS: dict[str, Scenario] = {each.name: each for each in _ALL}

__all__ = ["SCENARIOS", "Scenario"]
