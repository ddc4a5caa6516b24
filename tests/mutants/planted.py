"""Faults that were made, or could be: planted in a copy of the project, each must fail tests.

A scenario that stays green with the fault it was written for proves nothing. `make mutants` plants
them one by one; add one for every bug that is found. A mutant names the narrowest tests that must
fail; a unit test says when the text that it replaces is not there any more.
"""

from __future__ import annotations

from tests.mutants import (
    admission,
    answers_of_the_command,
    appearing,
    asking,
    autoscaling,
    awaited_names,
    chassis,
    cli,
    full_nodes,
    fusion_backend,
    hostpool_manager,
    inputs_and_pools,
    lives_of_jobs,
    measured_cpu,
    node_tainter,
    other_clocks,
    planner,
    plans_shown,
    pod_state_machine,
    pods,
    reading,
    sandbox,
    sandbox_autoscaling,
    seed_bundles,
    seed_hosts,
    seed_jobs,
    seed_places,
    seed_pods,
    submitting,
    watch_ingest,
    what_runs,
    widths,
)
from tests.mutants.planting import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *chassis.MUTANTS,
    *reading.MUTANTS,
    *awaited_names.MUTANTS,
    *watch_ingest.MUTANTS,
    *fusion_backend.MUTANTS,
    *full_nodes.MUTANTS,
    *autoscaling.MUTANTS,
    *lives_of_jobs.MUTANTS,
    *measured_cpu.MUTANTS,
    *appearing.MUTANTS,
    *what_runs.MUTANTS,
    *other_clocks.MUTANTS,
    *widths.MUTANTS,
    *admission.MUTANTS,
    *planner.MUTANTS,
    *plans_shown.MUTANTS,
    *asking.MUTANTS,
    *answers_of_the_command.MUTANTS,
    *hostpool_manager.MUTANTS,
    *inputs_and_pools.MUTANTS,
    *node_tainter.MUTANTS,
    *pod_state_machine.MUTANTS,
    *pods.MUTANTS,
    *sandbox.MUTANTS,
    *sandbox_autoscaling.MUTANTS,
    *cli.MUTANTS,
    *submitting.MUTANTS,
    *seed_hosts.MUTANTS,
    *seed_bundles.MUTANTS,
    *seed_places.MUTANTS,
    *seed_pods.MUTANTS,
    *seed_jobs.MUTANTS,
)
