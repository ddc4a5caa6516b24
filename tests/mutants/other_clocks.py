"""Mutants of moments in a status that a wrong clock wrote."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/fusion_backend/core"
_TESTS = ("tests/unit/fusion_backend/test_other_clocks.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a pod is reported when a clock that was ahead is reached",
        "services/launching/core/recording.py",
        "write_time",
        "past_s(pod.created_at, at.now)",
        "pod.created_at",
        ("tests/unit/pod_state_machine/test_recording.py",),
    ),
    Mutant(
        "a failed job waits until a clock that was ahead is reached",
        f"{_CORE}/attempts.py",
        "is_retry_due",
        "at.now >= past_s(due_at, at.now + MOST_S)",
        "at.now >= due_at",
        _TESTS,
    ),
    Mutant(
        "a failed job is tried again until a clock that was ahead is reached",
        f"{_CORE}/retrying.py",
        "failure_fields",
        "past_s(unix_s_of(first), now) == 0",
        "False",
        _TESTS,
    ),
    Mutant(
        "Healthy stays True until a clock that was ahead is reached",
        f"{_CORE}/health_due.py",
        "health_due_at",
        'past_s(unix_s_of(healthy["lastTransitionTime"]), situation.now)',
        'unix_s_of(healthy["lastTransitionTime"])',
        _TESTS,
    ),
    Mutant(
        "unschedulable pods wait until a clock that was ahead is reached",
        f"{_CORE}/admission.py",
        "AdmissionInForce.unschedulable",
        "past_s(since, self.now)",
        "since",
        _TESTS,
    ),
    Mutant(
        "widths wait until a clock that was ahead is reached",
        f"{_CORE}/trying_again.py",
        "_next_at",
        "past_s(unix_s_of(refused.tried_at), now)",
        "unix_s_of(refused.tried_at)",
        _TESTS,
    ),
)
