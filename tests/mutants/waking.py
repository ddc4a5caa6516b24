"""Mutants of waking: which changes concern which keys."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CHANGES = "tests/unit/chassis/running/test_changes.py"
_WAKING = "tests/histories/test_waking.py"
_DECISIONS = "tests/simulation/test_decisions.py"
_CLEARING = "tests/unit/pod_state_machine/test_clearing.py"
_PODS = "services/pod_state_machine/adapters/intake.py"

MUTANTS = (
    Mutant(
        "a decision with a struct of msgspec cannot be recorded",
        "contracts/canonical.py",
        "plain",
        '"__struct_fields__"',
        '"__no_fields__"',
        ("tests/unit/fusion_backend/test_former_hand_overs.py",),
    ),
    Mutant(
        "a ConfigMap that is labelled later wakes nobody",
        _PODS,
        "keys_of",
        "projection is None or change.shows(projection)",
        "projection is None or change.shows(is_deleting)",
        ("tests/unit/pod_state_machine/test_pod_packs.py",),
    ),
    Mutant(
        "a comparison that crashes is not counted",
        "services/chassis/running/own_part.py",
        "OwnPart.keys_of",
        "self._note_crashed(new)",
        "pass",
        (_CHANGES,),
    ),
    Mutant(
        "another object of the same name changes nothing",
        "services/chassis/table/entries.py",
        "Change.shows",
        "or old.uid != new.uid",
        "",
        (_CHANGES,),
    ),
    Mutant(
        "a change from what nobody can read wakes nobody",
        "services/chassis/running/own_part.py",
        "OwnPart.keys_of",
        "if old is not None and new is not None:",
        "if False:",
        (_CHANGES,),
    ),
    Mutant(
        "a report of a job's health wakes all its PEs",
        _PODS,
        "keys_of",
        "projection is None or change.shows(projection)",
        "True",
        (_DECISIONS,),
    ),
    Mutant(
        "each pod of a job that lives wakes the clean-up of its pods",
        _PODS,
        "_keys_of_pod",
        " and not _is_alive(table, key)",
        "",
        (_CLEARING,),
    ),
    Mutant(
        "a Job whose plan or certificate changes wakes none of its PEs",
        _PODS,
        "",
        "JOB: lambda job: (job_view(job), is_orphaning(job)),",
        "JOB: lambda job: (is_deleting(job), is_orphaning(job)),",
        (_WAKING,),
    ),
    Mutant(
        "a Job that leaves its pods behind does not wake their clean-up",
        _PODS,
        "",
        "JOB: lambda job: (job_view(job), is_orphaning(job)),",
        "JOB: job_view,",
        (_CLEARING,),
    ),
    Mutant(
        "a ConfigMap that goes wakes no PE before it is gone",
        _PODS,
        "",
        'CONFIG_MAP: lambda each: (is_deleting(each), each.data["metadata"]["labels"])',
        "CONFIG_MAP: lambda _: None",
        (_WAKING,),
    ),
    Mutant(
        "a node that loses its marks wakes nobody",
        "services/node_tainter/adapters/intake.py",
        "keys_of",
        "change.shows(carried_by)",
        "change.shows(lambda node: node.name)",
        (_WAKING,),
    ),
    Mutant(
        "a pod that is not resized wakes no job",
        "services/fusion_backend/core/pods_seen.py",
        "pod_shown",
        "pending_resize(pod),",
        "",
        ("tests/unit/fusion_backend/test_pods_seen.py",),
    ),
)
