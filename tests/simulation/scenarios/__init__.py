"""The scenarios by name; each is undisturbed first, and its effects are what faults meet."""

from tests.simulation.scenarios import resizing, submitting
from tests.simulation.scenarios.scenario import Scenario

SCENARIOS: dict[str, Scenario] = {
    each.name: each for each in (*submitting.SCENARIOS, *resizing.SCENARIOS)
}

__all__ = ["SCENARIOS", "Scenario"]
