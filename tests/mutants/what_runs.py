"""Mutants of what a Job says of PEs that run and do not run."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/fusion_backend/core"
_TESTS = ("tests/unit/fusion_backend/test_what_runs.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the message of a job counts PEs that do not run",
        f"{_CORE}/wording_conditions.py",
        "running",
        "len(record.pes) - len(situation.not_running) - done",
        "len(record.pes) - done",
        _TESTS,
    ),
    Mutant(
        "the pauses of Healthy stay short",
        f"{_CORE}/health_due.py",
        "health_due_at",
        "max(HEALTH_PAUSE_S_MIN, reported - changed)",
        "HEALTH_PAUSE_S_MIN",
        _TESTS,
    ),
    Mutant(
        "pods of a resize have no time where the job was not healthy before",
        f"{_CORE}/health_due.py",
        "health_due_at",
        "return max(changed, began) + HEALTH_PAUSE_S_MIN",
        "return changed + HEALTH_PAUSE_S_MIN",
        _TESTS,
    ),
    Mutant(
        "Healthy freezes while it is False",
        f"{_CORE}/wording_conditions.py",
        "is_health_due",
        "return not is_same or is_unreported(situation)",
        "return is_unreported(situation)",
        _TESTS,
    ),
    Mutant(
        "pods of a resize that do not come up are not warned of",
        f"{_CORE}/wording_conditions.py",
        "is_health_due",
        "return not is_same or is_unreported(situation)",
        "return not is_same",
        _TESTS,
    ),
    Mutant(
        "each report of PEs that do not run is an Event",
        f"{_CORE}/wording.py",
        "health_seen",
        "is_news = not is_known or is_unreported(situation)",
        "is_news = True",
        _TESTS,
    ),
    Mutant(
        "restarts that are exhausted look like pods that come up",
        f"{_CORE}/wording_conditions.py",
        "health",
        "Reason.TOO_MANY_RESTARTS if exhausted else Reason.SOME_NOT_RUNNING",
        "Reason.SOME_NOT_RUNNING",
        _TESTS,
    ),
    Mutant(
        "a job is healthy although a PE reports missing connections",
        "services/fusion_backend/core/wording_conditions.py",
        "_connected",
        "if lacking := unconnected(situation):",
        "if lacking := unconnected(situation)[:0]:",
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "missing_connections"),
    ),
    Mutant(
        "a job is healthy although a PE waits at a tuple",
        "services/fusion_backend/core/wording_conditions.py",
        "_connected",
        "(Reason.OPERATOR_FAILED, waiting(situation)),",
        "(Reason.OPERATOR_FAILED, []),",
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "waits_at_a_tuple"),
    ),
    Mutant(
        "why says that nothing is wrong with a PE that waits at a tuple",
        "history/why/health.py",
        "_pe",
        "or is_in_trouble(case)",
        "or False",
        ("tests/unit/history", "-k", "fails"),
    ),
    Mutant(
        "what an older launch reported makes a job unhealthy",
        "services/fusion_backend/core/connecting.py",
        "_reported",
        'runtime.get("launch") == seen.launch_count',
        "bool(runtime)",
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "reports_nothing"),
    ),
)
