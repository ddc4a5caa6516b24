"""Mutants of the sandbox's HorizontalPodAutoscalers."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CONTROLLER = "tests/unit/sandbox/controllers/test_autoscaling.py"
_STORED = "tests/unit/sandbox/store/test_autoscalers.py"
_SERVED = "tests/unit/sandbox/http/test_autoscalers.py"

MUTANTS = (
    Mutant(
        "the sandbox's autoscaler acts on a tenth more",
        "sandbox/controllers/replicas.py",
        "Tolerance.holds",
        "1.0 - self.down <= ratio <= 1.0 + self.up",
        "ratio == 1.0",
        (_CONTROLLER,),
    ),
    Mutant(
        "the sandbox's autoscaler takes pods without a metric for busy ones",
        "sandbox/controllers/replicas.py",
        "_assumed",
        "return [(0, requested) for requested in missing]",
        "return []",
        (_CONTROLLER,),
    ),
    Mutant(
        "the sandbox's autoscaler narrows at once",
        "sandbox/controllers/scaling_rates.py",
        "normalized",
        "max([desired, *_since(past, now - DOWN_WINDOW_S)])",
        "desired",
        (_CONTROLLER,),
    ),
    Mutant(
        "the sandbox's autoscaler forgets how far it went in a period",
        "sandbox/controllers/scaling_rates.py",
        "_of_policy",
        "current - sum(by for at, by in changes if at > now - period_s)",
        "current",
        (_CONTROLLER,),
    ),
    Mutant(
        "two autoscalers of one pod in the sandbox both act",
        "sandbox/controllers/autoscaler_decisions.py",
        "_selector_problem",
        "if len(seen.rivals) > 1:",
        "if False:",
        (_CONTROLLER,),
    ),
    Mutant(
        "the sandbox's autoscaler narrows beside a metric without a value",
        "sandbox/controllers/autoscaler_decisions.py",
        "_by_metrics",
        "if most is None or (problems and most.replicas < current):",
        "if most is None:",
        (_CONTROLLER,),
    ),
    Mutant(
        "the sandbox counts the CPU of pods that just began",
        "sandbox/controllers/measured_pods.py",
        "_is_ready",
        'ready["status"] != "False" and now >= changed + WINDOW_S',
        'ready["status"] != "False"',
        (_CONTROLLER,),
    ),
    Mutant(
        "an autoscaler of the sandbox has no metric by default",
        "sandbox/store/autoscalers.py",
        "with_defaults",
        'spec["metrics"] = [_CPU]',
        'spec["metrics"] = []',
        (_STORED,),
    ),
    Mutant(
        "an autoscaler of the older version loses its goal in the sandbox",
        "sandbox/http/older_autoscalers.py",
        "as_v2",
        'if (percent := sent["spec"].get(_TARGET)) is not None:',
        "if (percent := None) is not None:",
        (_SERVED,),
    ),
)
