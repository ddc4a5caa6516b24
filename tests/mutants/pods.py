"""Mutants of what a pod of a PE contains, and of what becomes of it."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/pod_state_machine/core"
_LAUNCHES = "services/launching/core"
_DELETED = "tests/simulation/test_deleted_pods.py"
_EVENTS = "tests/simulation/test_events.py"
_KEEPING = "tests/unit/pod_state_machine/test_keeping.py"
_STRAYS = "tests/simulation/test_stray_pes.py"
_POD_SPEC = "tests/unit/pod_state_machine/test_pod_spec.py"

MUTANTS = (
    Mutant(
        "a PE stops for good when a drain deletes its pod before it runs",
        "services/launching/core/ending.py",
        "_end_of_gone",
        " and not node.is_drained",
        "",
        ("tests/unit/pod_state_machine/test_ending.py",),
    ),
    Mutant(
        "a PE stops for good when its pod is made, bound and drained unobserved",
        "services/launching/core/ending.py",
        "_end_of_gone",
        "last is None and not node.name",
        "False",
        ("tests/unit/pod_state_machine/test_ending.py",),
    ),
    Mutant(
        "a pod that somebody deletes before it is bound is launched again",
        "services/launching/core/ending.py",
        "_end_of_gone",
        "last is None and not node.name",
        "not node.name",
        ("tests/unit/pod_state_machine/test_ending.py",),
    ),
    Mutant(
        "a pod that only the answer to its creation shows counts as seen",
        "services/pod_state_machine/adapters/gone_pods.py",
        "last_pod",
        "table.last_shown(",
        "table.last_seen(",
        ("tests/simulation/test_lost_launches.py",),
    ),
    Mutant(
        "a launch that was lost out of view counts as one with newer content",
        "services/pod_state_machine/adapters/gone_pods.py",
        "note_deleted",
        "pe.status.content_id or pe.content_id",
        "pe.content_id",
        ("tests/unit/pod_state_machine/test_ending.py",),
    ),
    Mutant(
        "a launch whose pod is gone when the service starts is made again under its number",
        "services/pod_state_machine/adapters/intake.py",
        "_pe_snapshot",
        "    note_deleted(table, pe, launches)\n",
        "",
        ("tests/simulation/test_lost_launches.py",),
    ),
    Mutant(
        "a pod of any image may take as long to end as one of our runtime",
        f"{_CORE}/pod_spec.py",
        "_grace",
        " or not is_our_runtime(_image(launch))",
        "",
        (_POD_SPEC,),
    ),
    Mutant(
        "the token of a pod is for any audience",
        f"{_CORE}/pod_volumes.py",
        "",
        '"audience": TOKEN_AUDIENCE,',
        '"audience": "",',
        (_POD_SPEC,),
    ),
    Mutant(
        "a PE that is seen before its Job is reported at once",
        f"{_CORE}/references.py",
        "decide_reference",
        "if now < due_at:",
        "if now < 0:",
        (_STRAYS,),
    ),
    Mutant(
        "a reference that is right again stays reported",
        f"{_CORE}/references.py",
        "_without_report",
        "if each.type != _ACCEPTED)",
        "if each.type)",
        (_STRAYS,),
    ),
    Mutant(
        "a launch of a resize has an event",
        f"{_LAUNCHES}/events.py",
        "event_of_intent",
        "if reason not in _BY_HAND:",
        "if reason is Reason.REASSIGNED:",
        (_EVENTS,),
    ),
    Mutant(
        "a failure that is recorded has no event",
        f"{_LAUNCHES}/recording.py",
        "Record.__call__",
        "event_of_record(at, status, reason) if self.announces else None",
        "None",
        (_EVENTS,),
    ),
    Mutant(
        "the second restart has the name of the first one's event",
        f"{_LAUNCHES}/events.py",
        "event_of_restart",
        "Announcement(Reason.RESTARTED, message, status.launch_count, warning=is_failure)",
        "Announcement(Reason.RESTARTED, message, 1, warning=is_failure)",
        (_EVENTS,),
    ),
    Mutant(
        "an ended pod that somebody deletes stays ended whatever the flag says",
        f"{_LAUNCHES}/situation.py",
        "Situation.end",
        "return End.DELETED if is_deleted else first",
        "return first",
        (_DELETED,),
    ),
    Mutant(
        "a drained node looks like somebody who deletes an ended pod",
        f"{_LAUNCHES}/ending.py",
        "was_deleted_after_end",
        "return bool(status.pod) and was_there and not node.explains_loss",
        "return bool(status.pod) and was_there",
        (_DELETED,),
    ),
    Mutant(
        "our own deletion of a failed pod is taken for that of somebody",
        f"{_LAUNCHES}/ending.py",
        "was_deleted_after_end",
        "return bool(status.pod) and was_there and not node.explains_loss",
        "return was_there and not node.explains_loss",
        (_DELETED,),
    ),
    Mutant(
        "a failed pod that nothing replaces stays for ever",
        f"{_LAUNCHES}/situation.py",
        "Situation.deadlines",
        "ends_at is not None and self.now < ends_at",
        "False",
        (_DELETED,),
    ),
    Mutant(
        "a retention that is over wakes an orphaned PE without end",
        f"{_LAUNCHES}/situation.py",
        "Situation.deadlines",
        "ends_at is not None and self.now < ends_at",
        "ends_at is not None",
        (_KEEPING,),
    ),
    Mutant(
        "checkpoints are mounted at /checkpoint beside a claim",
        f"{_CORE}/pod_volumes.py",
        "_checkpoints",
        "source._replace(at=files.mount_path)",
        "source",
        (_POD_SPEC,),
    ),
    Mutant(
        "a path of checkpoints that is left out is never that of the settings",
        f"{_CORE}/pod_volumes.py",
        "_checkpoints",
        "files.path or launch.runtime.checkpoint_path",
        "files.mount_path",
        (_POD_SPEC,),
    ),
    Mutant(
        "a debugger gets more than SYS_PTRACE",
        f"{_CORE}/pod_spec.py",
        "_privileges",
        '{"add": [DEBUGGERS_NEED]}',
        '{"add": [DEBUGGERS_NEED, "SYS_ADMIN"]}',
        (_POD_SPEC,),
    ),
)
