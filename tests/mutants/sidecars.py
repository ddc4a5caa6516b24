"""Mutants of pods in which other containers run beside that of the PE."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_PHASES = ("tests/unit/contracts/test_pod_phases.py",)
_PODS = ("tests/unit/pod_state_machine/test_sidecars.py",)
_WHY = ("tests/unit/history/test_why.py",)

MUTANTS = (
    Mutant(
        "a PE that ended beside a sidecar runs on",
        "contracts/projections.py",
        "pod",
        "_unready_since(obj), phase_in(status, container)",
        '_unready_since(obj), status.get("phase", "Pending")',
        _PODS,
    ),
    Mutant(
        "a PE that completed failed because its sidecar did",
        "contracts/pod_phases.py",
        "phase_in",
        'phase == FAILED and status.get("reason")',
        "phase == FAILED",
        _PHASES,
    ),
    Mutant(
        "a PE of an evicted pod has completed",
        "contracts/pod_phases.py",
        "phase_in",
        'phase == FAILED and status.get("reason")',
        "False",
        _PHASES,
    ),
    Mutant(
        "the end of a PE is that of its last sidecar",
        "services/launching/core/pods.py",
        "_finished_at",
        "ends.get(container_of(data)) or ",
        "",
        _PODS,
    ),
    Mutant(
        "a PE failed at what its sidecar ended with",
        "services/launching/core/pods.py",
        "_problem",
        'each["name"] != own',
        'each["name"]',
        _PODS,
    ),
    Mutant(
        "a sidecar that ends after the PE kept it from starting",
        "history/why/of_pods.py",
        "_failed_init",
        " or _has_begun(pod)",
        "",
        _WHY,
    ),
    Mutant(
        "nothing is wrong with a job whose sidecars failed",
        "history/why/health.py",
        "_is_in_trouble",
        " or without_sidecar(case) is not None",
        "",
        _WHY,
    ),
)
