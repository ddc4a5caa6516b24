"""Mutants of resizes on full nodes: what starts last, what wakes it, what a Warning names."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/fusion_backend/core"
_GATE = "services/pod_state_machine/adapters/starting.py"
_ORDER = "tests/unit/fusion_backend/test_starting.py"
_FIRST_PODS = "tests/unit/pod_state_machine/test_starting.py"

MUTANTS = (
    Mutant(
        "new PEs of a resize start at once on full nodes",
        f"{_CORE}/starting.py",
        "in_turn",
        "if not new or has_room(snapshot, plan):",
        "if new or not new:",
        (_ORDER, "-k", "start_last_and_are_created"),
    ),
    Mutant(
        "PEs that start last are created before changed ones are patched",
        f"{_CORE}/starting.py",
        "in_turn",
        "is_unpatched = PE in kinds_written",
        "is_unpatched = False",
        (_ORDER, "-k", "start_last_and_are_created"),
    ),
    Mutant(
        "a resize on full nodes ends with a Normal event",
        f"{_CORE}/wording.py",
        "_of_generation",
        "if not (situation.is_resize and idle):",
        "if True:",
        (_ORDER, "-k", "warning_that_names"),
    ),
    Mutant(
        "the first pod of a PE that starts last waits for nothing",
        _GATE,
        "awaited_pe",
        "return _first_awaited(table, pe.namespace, pe.job)",
        'return ""',
        (_FIRST_PODS, "-k", "waits_for_each_pe"),
    ),
    Mutant(
        "a bound pod does not wake the PEs that start last",
        _GATE,
        "starting_after",
        "if not table.count(STARTING_LAST, (namespace, job)):",
        "if job:",
        (_FIRST_PODS, "-k", "a_pod_that_is_bound"),
    ),
)
