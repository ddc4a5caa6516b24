"""Mutants of the health check of a container."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_FILE = "services/chassis/running/health_checks.py"
_CHECKS = "tests/unit/chassis/running/test_health_checks.py"
_RESTING = "tests/unit/chassis/running/test_resting.py"

MUTANTS = (
    Mutant(
        "a container is healthy although its work lies still",
        _FILE,
        "problem_of",
        "now.waiting and before.waiting and now.work == before.work",
        "False",
        (_CHECKS,),
    ),
    Mutant(
        "a container is healthy before its restore",
        _FILE,
        "problem_of",
        "status != OK",
        "status == NOT_FOUND",
        (_CHECKS,),
    ),
    Mutant(
        "a container is healthy although no request is answered",
        _FILE,
        "problem_of",
        "now.unanswered > before.unanswered and now.answered == before.answered",
        "False",
        (_CHECKS,),
    ),
    Mutant(
        "counters of a process that ended are compared",
        _FILE,
        "problem_of",
        "before is None or not before.is_before(now)",
        "before is None",
        (_CHECKS,),
    ),
    Mutant(
        "the last key that leaves the queue seems to wait for ever",
        "services/chassis/running/reconciling.py",
        "StageRunner._reconcile",
        "self._show_state()",
        "",
        (_RESTING,),
    ),
)
