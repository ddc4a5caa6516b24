"""Mutants of the CPU that a cluster uses: what is read, what counts, what a plan makes of it."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_MEASURED = "planner/numbering/measured.py"
_CPU = "services/fusion_backend/adapters/cluster_cpu.py"
_PLANS = "services/fusion_backend/adapters/plans.py"
_OF_PLANNER = "tests/unit/planner/test_automatic.py"
_OF_ADAPTER = "tests/unit/fusion_backend/test_cluster_cpu.py"
_OF_SYSTEM = "tests/simulation/test_measured_cpu.py"

MUTANTS = (
    Mutant(
        "CPU that others use is free for a job",
        _MEASURED,
        "MeasuredCpu.busy_mcpu",
        "return -(-used * allocatable_mcpu // self.of_mcpu) if self.of_mcpu else used",
        "return 0 * used",
        (_OF_PLANNER, "-k", "test_cpu_that_others_use_bounds_the_number_and_is_recorded"),
    ),
    Mutant(
        "what a job uses itself counts against it",
        _MEASURED,
        "MeasuredCpu.busy_mcpu",
        "self.used_mcpu - self.own_mcpu",
        "self.used_mcpu",
        (_OF_SYSTEM, "-k", "is_not_counted_against_it"),
    ),
    Mutant(
        "other nodes than the measured ones are as busy in all",
        _MEASURED,
        "MeasuredCpu.busy_mcpu",
        "-(-used * allocatable_mcpu // self.of_mcpu) if self.of_mcpu else used",
        "used",
        (_OF_PLANNER, "-k", "test_cpu_that_others_use_bounds_the_number_and_is_recorded"),
    ),
    Mutant(
        "a resize takes every CPU for free",
        "planner/drafting.py",
        "_share",
        "reckoned(fusion, topology, request.threading, request.usage_in_force)",
        "reckoned(fusion, topology, request.threading)",
        (_OF_PLANNER, "-k", "test_a_resize_reckons_with_the_cpu"),
    ),
    Mutant(
        "a plan that is not measured forgets what was",
        "planner/requesting.py",
        "PlanRequest.usage_in_force",
        "self.resized.measured if self.resized else None",
        "None",
        (_OF_PLANNER, "-k", "test_a_resize_reckons_with_the_cpu"),
    ),
    Mutant(
        "every fusion reads how much CPU is in use",
        _PLANS,
        "Plans._measuring",
        'if inputs.fusion.scheme != "automatic" or inputs.rendered:',
        "if inputs.rendered:",
        (_OF_SYSTEM, "-k", "test_only_automatic_fusion_looks"),
    ),
    Mutant(
        "a cluster without metrics is searched for them by each plan",
        _CPU,
        "ClusterCpu.measured",
        "known.until > self._clock.now()",
        "known.until < 0.0",
        (_OF_SYSTEM, "-k", "test_only_automatic_fusion_looks"),
    ),
    Mutant(
        "nodes that take no pods count in the CPU in use",
        _CPU,
        "ClusterCpu.measured",
        "sum(of_nodes.values())",
        "sum(used.values())",
        (_OF_ADAPTER, "-k", "test_nodes_that_count"),
    ),
    Mutant(
        "metrics that do not answer hold a submission up",
        _CPU,
        "ClusterCpu.measured",
        "asyncio.timeout(ANSWER_S_MAX)",
        "asyncio.timeout(None)",
        (_OF_SYSTEM, "-k", "delay_no_submission"),
    ),
    Mutant(
        "metrics that cannot be read are not reported",
        _PLANS,
        "Plans._plan",
        "(*result.warnings, found.problem) if found.problem else result.warnings",
        "result.warnings",
        (_OF_SYSTEM, "-k", "delay_no_submission"),
    ),
    Mutant(
        "pods of a job on nodes that do not count are its own",
        _CPU,
        "ClusterCpu._own",
        "if _name(item) in pods.names",
        "if _name(item)",
        (_OF_ADAPTER, "-k", "test_only_pods_on_nodes_that_count"),
    ),
    Mutant(
        "what was measured does not cross to the worker that plans",
        "services/fusion_backend/adapters/planner.py",
        "PlanTask.from_json",
        "MeasuredCpu(**measured) if measured else None",
        "None",
        ("tests/unit/fusion_backend/test_planning_worker.py", "-k", "measured_crosses"),
    ),
    Mutant(
        "the sandbox serves metrics that nothing plays",
        "sandbox/http/served.py",
        "Served._measures",
        "played_mcpu(obj) is not None",
        "obj is not None",
        ("tests/unit/sandbox/http/test_measuring.py", "-k", "has_no_metrics_server"),
    ),
)
