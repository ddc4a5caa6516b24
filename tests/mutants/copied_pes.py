"""Mutants of what becomes of a copy of a PE under another name."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_STRAY = "tests/simulation/test_stray_pes.py"

MUTANTS = (
    Mutant(
        "a copy of a PE is taken for one of the plan",
        "services/pod_state_machine/core/references.py",
        "wrong_reference",
        "pe.name != _planned_name(pe)",
        "False",
        (_STRAY,),
    ),
    Mutant(
        "a copy of a PE that is reported is launched all the same",
        "services/pod_state_machine/core/references.py",
        "decide_reference",
        "return Decision((), Reason.INVALID_REFERENCE)  # nor is it launched",
        "return None",
        (_STRAY,),
    ),
)
