"""Mutants of the one headless Service of a job, and of jobs that have one for each PE."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/fusion_backend/core"
_UNIT = "tests/unit/fusion_backend/test_job_services.py"
_SIMULATED = "tests/simulation/test_job_services.py"

MUTANTS = (
    Mutant(
        "a job of the release before gets the one Service of new jobs",
        f"{_CORE}/spec/inputs.py",
        "PlanInputs.from_json",
        'document.get("services", Services.PER_PE)',
        'document.get("services", Services.PER_JOB)',
        (_UNIT,),
    ),
    Mutant(
        "a resize goes over to the one Service of the job",
        f"{_CORE}/spec/inputs.py",
        "resized",
        "        rendered=(),\n",
        "        rendered=(),\n        services=Services.PER_JOB,\n",
        (_SIMULATED, "-k", "release_before"),
    ),
    Mutant(
        "an upgrade writes packs into PEs that have a ConfigMap of their own",
        f"{_CORE}/children.py",
        "pack_of",
        '{"name": pe.config_map, "key": pe.key} if pe.key else {}',
        '{"name": pe.config_map, "key": pe.key}',
        (_SIMULATED, "-k", "release_before"),
    ),
    Mutant(
        "a resize gives packs to PEs of the release before that it does not change",
        "planner/planning.py",
        "_packing",
        "and known.content_id == pe.content_id",
        "and known.content_id == pe.content_id and known.key",
        (_SIMULATED, "-k", "release_before"),
    ),
    Mutant(
        "a job that lost its plan records forgets which Services it has",
        f"{_CORE}/pe_services.py",
        "services_in_use",
        "if not pes:",
        "if pes:",
        (_UNIT, "-k", "lost_its_plan"),
    ),
    Mutant(
        "other Services for a job that runs are accepted without effect",
        f"{_CORE}/spec/editing.py",
        "_differences",
        "spec.services is not inputs.services",
        "False",
        (_UNIT, "-k", "refused"),
    ),
    Mutant(
        "a PE that lost the Service of its job is left so",
        f"{_CORE}/membership.py",
        "_Search._has_spec",
        "has_content and seen.service_name == self._plan.service",
        "has_content",
        (_UNIT, "-k", "gets_it_back"),
    ),
    Mutant(
        "a job of a plan record without a template goes over to the Services that an edit asks for",
        f"{_CORE}/spec/inputs.py",
        "spec_in_force",
        'return {**spec, "services": inputs.services}',
        "return spec",
        (_UNIT, "-k", "without_a_template"),
    ),
    Mutant(
        "a template renames pods that have a name in the Service of the job",
        f"{_CORE}/spec/accepting.py",
        "_host_names",
        'for name in ("hostname", "subdomain"):',
        'for name in ("hostname",):',
        (_UNIT, "-k", "template"),
    ),
    Mutant(
        "pods have no host name in the Service of the job",
        "services/pod_state_machine/core/pod_spec.py",
        "pod_of_launch",
        "            **_host_name(made),\n",
        "",
        (_SIMULATED, "-k", "host_name"),
    ),
    Mutant(
        "the labels by which monitors find the Service of a job are not given back",
        f"{_CORE}/membership.py",
        "_is_marked",
        "return MARKS_OF_JOB_SERVICE.items() <= seen.items()",
        "return True",
        ("tests/simulation/test_stolen_labels.py",),
    ),
    Mutant(
        "the certificate of PEs in the Service of their job names other hosts",
        f"{_CORE}/spec/provisions.py",
        "certified_names",
        'f"{service}.{namespace}" if service else namespace',
        "namespace",
        ("tests/unit/fusion_backend/test_certifying.py",),
    ),
    Mutant(
        "the first status of a PE in a large job does not wait until its pod runs",
        "services/launching/core/recording.py",
        "write_time",
        "before.launch_count == 0 and at.context.owners_in_job <= CROWD",
        "before.launch_count == 0",
        ("tests/unit/pod_state_machine/test_recording.py",),
    ),
    Mutant(
        "the sandbox takes any text as the host name of a pod",
        "sandbox/store/pod_scheduling.py",
        "scheduling_causes",
        'for field in ("hostname", "subdomain"):',
        'for field in ("subdomain",):',
        ("tests/unit/sandbox/store/test_asking_for_places.py",),
    ),
    Mutant(
        "writes of the services are counted twice, as those of Kubernetes, too",
        "loadtest/counting.py",
        "Tally.of",
        "left[Write(write.resource, write.verb)] -= count",
        "pass",
        ("tests/unit/loadtest/test_counting.py",),
    ),
    Mutant(
        "the Services of a deleted job stay until its pods go",
        "services/fusion_backend/core/clearing.py",
        "_deleted",
        "(SERVICE,) if has_pods",
        "() if has_pods",
        ("tests/unit/fusion_backend/test_life_of_a_job.py", "-k", "services_go_first"),
    ),
)
