"""`replay --break` knows the names of all rules."""

from __future__ import annotations

import pytest

from history.breaking import known_names, why_not_met
from services.chassis.running.service import Decides, loaded
from services.roster import SERVICES

DECIDES = [decides for row in SERVICES for decides in row.decides]


@pytest.mark.parametrize("decides", DECIDES, ids=lambda each: each.rules)
def test_a_rule_that_no_decision_has_exists_all_the_same(decides: Decides) -> None:
    for rule in loaded(decides.rules):
        name = rule.observation.name
        assert name in known_names()
        assert why_not_met(name, ["OTHER"]).startswith(f"no decision has the rule or reason {name}")
