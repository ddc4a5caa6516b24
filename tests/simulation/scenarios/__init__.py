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

_MODULES = (
    submitting,
    resizing,
    handing_over,
    losing,
    lost_nodes,
    marking,
    placing,
    lacking,
    provisioning,
    ending,
    admitting,
)
BY_TOPIC: dict[str, dict[str, Scenario]] = {
    module.__name__.rpartition(".")[2]: {each.name: each for each in module.SCENARIOS}
    for module in _MODULES
}
SCENARIOS: dict[str, Scenario] = {
    name: each for topic in BY_TOPIC.values() for name, each in topic.items()
}

__all__ = ["BY_TOPIC", "SCENARIOS", "Scenario"]
