"""Mutants of the planner: graph, fusion, numbers, descriptions of PEs."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_PLANNER = "tests/unit/planner"
_PLANNED_RESIZES = f"{_PLANNER}/test_resizes.py"

MUTANTS = (
    Mutant(
        "the numbers of operators begin anew with each plan",
        "planner/numbering/identity.py",
        "Identities.__init__",
        "self._operator_high = high.operator",
        "self._operator_high = HighWater().operator",
        (_PLANNED_RESIZES,),
    ),
    Mutant(
        "the numbers of PEs begin anew with each plan",
        "planner/numbering/identity.py",
        "Identities.before_pes",
        "found._pe_high = self._high_before.pe",
        "found._pe_high = HighWater().pe",
        (_PLANNED_RESIZES,),
    ),
    Mutant(
        "fusion takes channels that share an operator for one consistent region",
        "planner/drafting.py",
        "_units",
        "consistent.fused_with",
        "consistent.member_of",
        (f"{_PLANNER}/test_consistent.py",),
    ),
    Mutant(
        "consistent regions are counted by whatever widths there are",
        "planner/graph/consistent.py",
        "find_consistent_regions",
        "if is_counted else _numbers(seeds)",
        "",
        (f"{_PLANNER}/test_consistent.py",),
    ),
    Mutant(
        "who shares a PE need not share its host",
        "planner/fusion/contradicting.py",
        "_join_units",
        'groups.join(index, ("unit", unit.operators[0]))',
        "pass",
        (f"{_PLANNER}/test_contradicting.py",),
    ),
    Mutant(
        "an operator that compat numbers anew is gone and new",
        "planner/outline.py",
        "_by_identity",
        "-1 if is_compat else each.index",
        "each.index",
        (f"{_PLANNER}/test_compat.py",),
    ),
    Mutant(
        "an operator of another bundle is the same by its name",
        "planner/numbering/identity.py",
        "Identities.__init__",
        "previous if previous and previous.bundle_digest == bundle_digest else None",
        "previous",
        (_PLANNED_RESIZES,),
    ),
)
