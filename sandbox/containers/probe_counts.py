"""What a row of answers makes of a probe. Pure.

https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox.containers.runs import Verdict


@dataclass(frozen=True, slots=True)
class Timing:
    """When a probe is tried, in seconds, and how many equal answers count."""

    delay_s: float
    period_s: float
    timeout_s: float
    passes: int
    failures: int


@dataclass(frozen=True, slots=True)
class Count:
    """How often the same answer came in a row, and what has come of it so far."""

    verdict: Verdict
    passes: int = 0
    failures: int = 0


def timing_of(probe: Mapping[str, Any]) -> Timing:
    """The timing of a probe, with the defaults of Kubernetes."""
    return Timing(
        float(probe.get("initialDelaySeconds") or 0),
        float(probe.get("periodSeconds") or 10),
        float(probe.get("timeoutSeconds") or 1),
        int(probe.get("successThreshold") or 1),
        int(probe.get("failureThreshold") or 3),
    )


def counted(count: Count, passed: bool, timing: Timing) -> Count:
    """The count after another answer; a verdict changes when its threshold is reached."""
    if passed:
        count = replace(count, passes=count.passes + 1, failures=0)
        reached = count.passes >= timing.passes
        return replace(count, verdict=Verdict.PASSED) if reached else count
    count = replace(count, passes=0, failures=count.failures + 1)
    reached = count.failures >= timing.failures
    return replace(count, verdict=Verdict.FAILED) if reached else count
