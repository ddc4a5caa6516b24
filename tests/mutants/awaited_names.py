"""Mutants of pods that wait for objects by name: when that is reported, and with which field."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/pod_state_machine/test_naming.py"

MUTANTS = (
    Mutant(
        "unmounted volumes are reported before their ten seconds",
        "services/launching/core/situation.py",
        "Situation._unmounted_at",
        "pod.unready_since + VOLUMES_LATE_S",
        "pod.unready_since",
        (_UNIT,),
    ),
    Mutant(
        "optional objects of a template count as awaited",
        "services/pod_state_machine/core/naming.py",
        "_needed",
        'if found and not found.get("optional"):',
        "if found:",
        (_UNIT,),
    ),
    Mutant(
        "unmounted volumes of a pod wake nobody",
        "services/launching/core/situation.py",
        "Situation.deadlines",
        "if self.now < self._unmounted_at < math.inf:",
        "if self.now > self._unmounted_at:",
        (_UNIT,),
    ),
    Mutant(
        "healthy repeats no cause of unmounted volumes",
        "services/fusion_backend/core/progress.py",
        "",
        "{Reason.VOLUMES_NOT_MOUNTED, Reason.IMAGE_PULL_FAILED",
        "{Reason.IMAGE_PULL_FAILED",
        ("tests/simulation/test_awaited_names.py",),
    ),
)
