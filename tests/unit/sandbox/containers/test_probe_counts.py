"""A probe changes its verdict when as many equal answers came as its thresholds say."""

from __future__ import annotations

from sandbox.containers.probe_counts import Count, Timing, counted, timing_of
from sandbox.containers.probing import first_verdict, probe_all
from sandbox.containers.runs import Verdict

TIMING = Timing(0, 1, 1, passes=2, failures=3)


def verdicts(*answers: bool, first: Verdict = Verdict.UNKNOWN) -> list[Verdict]:
    count, found = Count(first), []
    for answer in answers:
        count = counted(count, answer, TIMING)
        found.append(count.verdict)
    return found


def test_a_probe_passes_after_successes_in_a_row() -> None:
    assert verdicts(True, False, True, True) == [Verdict.UNKNOWN] * 3 + [Verdict.PASSED]


def test_a_probe_fails_after_failures_in_a_row() -> None:
    answers = verdicts(False, False, True, False, False, False, first=Verdict.PASSED)
    assert answers == [Verdict.PASSED] * 5 + [Verdict.FAILED]


def test_defaults_are_those_of_kubernetes() -> None:
    assert timing_of({}) == Timing(0, 10, 1, 1, 3)


def test_liveness_is_believed_before_it_is_tried_and_readiness_is_not() -> None:
    container: dict[str, dict[str, str]] = {"livenessProbe": {}, "readinessProbe": {}}
    assert first_verdict(container, "liveness") is Verdict.PASSED
    assert first_verdict(container, "readiness") is Verdict.UNKNOWN
    assert first_verdict(container, "startup") is Verdict.PASSED


async def test_a_complaint_is_taken_back_when_the_probe_passes_again() -> None:
    answers = iter([1, 0, 1, 1])
    heard: list[tuple[str, Verdict, str]] = []

    async def execute(words: tuple[str, ...], timeout_s: float) -> tuple[int, str]:
        return next(answers), "no"

    probe = {"exec": {"command": ["x"]}, "periodSeconds": 0.001, "failureThreshold": 2}
    container = {"livenessProbe": probe}
    await probe_all(container, "", execute, lambda *each: heard.append(each))
    assert heard == [
        ("liveness", Verdict.PASSED, "no"),
        ("liveness", Verdict.PASSED, ""),
        ("liveness", Verdict.PASSED, "no"),
        ("liveness", Verdict.FAILED, "no"),
    ]
