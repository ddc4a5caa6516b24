"""Planted bugs in which root an object belongs to."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_BELONGING = "contracts/belonging.py"
_UNIT = ("tests/unit/contracts/test_belonging.py",)
_COMMANDS = ("tests/unit/cli/test_other_roots.py",)
_HISTORY = ("tests/unit/history/test_other_roots.py",)
_LAUNCHING = ("tests/unit/launching/test_other_roots.py",)
_PUBLISHING = ("tests/unit/watch_ingest/test_publishing.py",)

MUTANTS = (
    Mutant(
        "a pod belongs to the job that its label names and not its owner",
        _BELONGING,
        "root_of",
        "for _ in range(_OWNER_CHAIN_MAX):",
        "for _ in range(0):",
        _PUBLISHING,
    ),
    Mutant(
        "a root of another kind is called like a Job",
        _BELONGING,
        "Root.key",
        "self.name if self.kind == JOB.kind else",
        "self.name if self.kind else",
        _UNIT,
    ),
    Mutant(
        "what a Batch owns belongs to the Job that a stranger's label names",
        _BELONGING,
        "_kinds_of_roots",
        "if row is not None and row.root else",
        "if False else",
        _UNIT,
    ),
    Mutant(
        "the pod of every owner ends as its container `pe` does",
        _BELONGING,
        "container_of",
        'row.container if row is not None else ""',
        '""',
        _UNIT,
    ),
    Mutant(
        "roots of every kind are selected by one label",
        _BELONGING,
        "label_of",
        'return f"{labels.PREFIX}/{kind.lower()}"',
        "return labels.JOB",
        _UNIT,
    ),
    Mutant(
        "a fact may have a path for the key of its root",
        _BELONGING,
        "is_root_key",
        " and kind[0].isupper()",
        "",
        _UNIT,
    ),
    Mutant(
        "the pod of a Batch wakes the Job that its label names",
        "services/fusion_backend/adapters/intake.py",
        "_jobs_named",
        'root.name if root is not None and root.kind == JobKey.kind else ""',
        "_label(entry, labels.JOB)",
        ("tests/unit/fusion_backend/test_other_roots.py",),
    ),
    Mutant(
        "the pod of a Batch wakes pod-state-machine for the Job that its label names",
        "services/pod_state_machine/adapters/reading.py",
        "job_of",
        "root = labelled(entry.kind, entry.data)",
        "root = labelled('', {'metadata': {'labels': entry.data['metadata']['labels']}})",
        ("tests/unit/pod_state_machine/test_other_roots.py",),
    ),
    Mutant(
        "pods of a root are left of every root with its name",
        "services/launching/adapters/clearing.py",
        "is_left",
        "labelled(pod.kind, pod.data) == root and ",
        "",
        _LAUNCHING,
    ),
    Mutant(
        "the pod of a Worker has the uid of a Job",
        _BELONGING,
        "uid_labelled",
        "uid_label_of(root.kind)",
        "labels.JOB_UID",
        _LAUNCHING,
    ),
    Mutant(
        "a decision on a Batch is of a namespace that nobody has",
        "history/entries.py",
        "_of_decision_topic",
        'record.key.decode().partition("/")',
        'record.key.decode().rpartition("/")',
        ("tests/simulation/test_replayed_roots.py",),
    ),
    Mutant(
        "a command gathers the children of Jobs, whatever is the root",
        "cli/why_gathering.py",
        "gather",
        "children_of(reader, root.kind, root.selector)",
        "children_of(reader, JOBS.kind, root.selector)",
        _COMMANDS,
    ),
    Mutant(
        "the log of a Batch is that of the Job of its name",
        "cli/why_gathering.py",
        "gather",
        'root.key if root else ""',
        'root.name if root else ""',
        _COMMANDS,
    ),
    Mutant(
        "pods of a Worker are of nobody, since they have no number of a PE",
        "history/why/case.py",
        "_pe_named",
        'return "/".join(owner) if owner is not None and owns_pods(owner[0]) else ""',
        'return ""',
        _HISTORY,
    ),
    Mutant(
        "what was observed of a Worker concerns the Job with the name of its Batch",
        "history/belonging.py",
        "_job_in",
        "root.key if",
        "root.name if",
        _HISTORY,
    ),
    Mutant(
        "what is decided on a Batch is worded as if a Job were called Batch",
        "history/wording.py",
        "key_in_words",
        'f"{first}/{second}" if is_root(first) else ',
        "",
        _HISTORY,
    ),
)
