"""Mutants of streams between jobs, which nobody connects yet: each place says so."""

from __future__ import annotations

from tests.mutants.planting import Mutant

MUTANTS = (
    Mutant(
        "a plan with imports warns of nothing",
        "planner/planning.py",
        "_completed",
        "        crossing_warning(topology),\n",
        "",
        ("tests/unit/planner/test_crossing.py",),
    ),
    Mutant(
        "no condition of a Job says that its streams are not connected",
        "services/fusion_backend/core/wording_conditions.py",
        "steady",
        "        *streams_connected(situation.plan),\n",
        "",
        ("tests/unit/fusion_backend/test_warnings.py",),
    ),
    Mutant(
        "nothing is wrong with a job whose imports get nothing",
        "history/why/health.py",
        "_job",
        "streams_not_connected(case) is not None",
        "False",
        ("tests/unit/history/test_why.py",),
    ),
)
