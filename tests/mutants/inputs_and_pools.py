"""Mutants of host pools, of references to Jobs, and of what automatic fusion chooses from."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_USAGE = "tests/unit/cli/test_cpu_usage.py"
_QUOTAS = "tests/unit/hostpool_manager/test_quotas.py"
_REFERENCES = "tests/unit/fusion_backend/test_references.py"

MUTANTS = (
    Mutant(
        "strange text in a host pool of the ADL is ignored in silence",
        "planner/application/adl_pools.py",
        "_unread_here",
        "(element.text, *(child.tail for child in element))",
        '("",)',
        ("tests/unit/planner/test_adl_rules.py",),
    ),
    Mutant(
        "a plan keeps to itself which parts of the ADL are ignored",
        "planner/planning.py",
        "_warnings",
        "*request.application.warnings,",
        "",
        ("tests/unit/planner/test_adl_rules.py",),
    ),
    Mutant(
        "the root certificate of a github source is not read",
        "services/fusion_backend/core/spec/inputs.py",
        "_behind",
        'ca.config_map_name if ca else ""',
        'ca.config_map_name if ca and source.url_field == "http.url" else ""',
        ("tests/unit/fusion_backend/test_bundle_sources.py",),
    ),
    Mutant(
        "a reference that is wrong for a moment is reported",
        "services/fusion_backend/core/references.py",
        "_reports",
        "and now >= noted.since + WRONG_SETTLES_S",
        "",
        (_REFERENCES,),
    ),
    Mutant(
        "a restart takes an unread plan for none and clears wrong references",
        "services/fusion_backend/core/references.py",
        "_is_unread",
        "snapshot.newest is None and snapshot.newest_generation >= 0",
        "False",
        (_REFERENCES,),
    ),
    Mutant(
        "a reference that is right again stays wrong",
        "services/fusion_backend/core/references.py",
        "_reports",
        "yield ReportReference(stray.kind, stray.name, stray.uid)",
        "continue",
        (_REFERENCES,),
    ),
    Mutant(
        "children that the garbage collector takes are strays",
        "services/fusion_backend/adapters/intake.py",
        "_strays",
        "if controlling_job(entry) is None",
        "if True",
        (_REFERENCES,),
    ),
    Mutant(
        "the default pool of a job without a Placement has no status",
        "services/hostpool_manager/adapters/intake.py",
        "job_snapshot",
        "_observed_pool(table, view, pool, None) for pool in view.pools_of(ref)",
        "_observed_pool(table, view, pool, None) for pool in ()",
        ("tests/simulation/test_default_pools.py",),
    ),
    Mutant(
        "the status of the default pool names the plan that a placement is in force for",
        "services/hostpool_manager/core/pool_rules.py",
        "PoolSituation.status",
        "None if self.observed.pool.is_default else self.generation_in_force",
        "self.generation_in_force",
        ("tests/unit/hostpool_manager/test_pool_rules.py",),
    ),
    Mutant(
        "a quota of nodes counts the pools of every namespace",
        "services/hostpool_manager/core/quotas.py",
        "quota_left",
        "other.namespace == ref.namespace and other != ref",
        "other != ref",
        (_QUOTAS,),
    ),
    Mutant(
        "a quota of nodes that is lowered takes nodes from what runs",
        "services/hostpool_manager/core/quotas.py",
        "over_quota",
        "wanted <= has or",
        "wanted == 0 or",
        (_QUOTAS,),
    ),
    Mutant(
        "a lowered quota of nodes refuses jobs that keep no node for themselves",
        "services/hostpool_manager/core/quotas.py",
        "over_quota",
        "wanted <= has or",
        "0 < wanted <= has or",
        (_QUOTAS,),
    ),
    Mutant(
        "a quota of nodes is not asked when a search ends",
        "services/hostpool_manager/core/answering.py",
        "judge",
        "over_quota(newest.quota, placement, job, answer) or answer",
        "answer",
        ("tests/simulation/test_quotas.py",),
    ),
    Mutant(
        "measured CPU of operators counts for nothing",
        "planner/fusion/reckoning.py",
        "_demand",
        "least += needed * CPU_MCPU if measured is None else measured",
        "least += needed * CPU_MCPU",
        (_USAGE,),
    ),
    Mutant(
        "busy CPUs of the cluster count as idle",
        "planner/fusion/reckoning.py",
        "_pes",
        "max(0, allocatable - busy)",
        "allocatable",
        (_USAGE,),
    ),
    Mutant(
        "the limit of pods is left out of a plan without a cluster",
        "cli/planning.py",
        "_fusion",
        'mcpu_of_option("--pod-cpu", options.pod_cpu) if options.pod_cpu else 0',
        "0",
        (_USAGE,),
    ),
)
