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
        "reason = Reason.TOO_MANY_RESTARTS",
        "pass",
        _TESTS,
    ),
    Mutant(
        "a job is healthy although a PE reports missing connections",
        "services/fusion_backend/core/wording_conditions.py",
        "_unconnected",
        "elif found := unconnected(situation):",
        "if found := unconnected(situation)[:0]:",
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "missing_connections"),
    ),
    Mutant(
        "a job is healthy although a PE waits at a tuple",
        "services/fusion_backend/core/wording_conditions.py",
        "_failing",
        "if found := failing(situation):",
        "if found := failing(situation)[:0]:",
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
    Mutant(
        "a PE that fails at a tuple again and again looks like one that comes up",
        "contracts/failures.py",
        "_words",
        'return "" if is_past or age_s >= REMEMBERED_S else str(over.get("message") or "")',
        'return ""',
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "launches_that_follow"),
    ),
    Mutant(
        "a PE is past the tuple as soon as it is connected",
        "contracts/failures.py",
        "_words",
        "_is_connected(status) and age_s >= PASSED_S",
        "_is_connected(status)",
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "launches_that_follow"),
    ),
    Mutant(
        "the operator that fails is named when the pause of pods that come up is over",
        "services/fusion_backend/core/wording_conditions.py",
        "is_health_due",
        "is_cause and recorded",
        "False and recorded",
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "as_soon_as_it_is_known"),
    ),
    Mutant(
        "why blames a neighbour of a PE that an operator ended",
        "history/why/of_operators.py",
        "waits_at_a_tuple",
        "case.of(PE) if case.lacks_connections(case.target) else case.pes",
        "case.pes",
        ("tests/unit/history/test_why.py", "-k", "neighbour"),
    ),
    Mutant(
        "why says that an operator fails since the job became unhealthy for another reason",
        "history/why/answering.py",
        "_began_s",
        "if first_loss_s(case) is not None:",
        "if False:",
        ("tests/unit/history/test_why.py", "-k", "since_the_loss"),
    ),
)
