"""Mutants of pod-state-machine: launches, their order, restarts, what is recorded."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/pod_state_machine"
_CORE = "services/pod_state_machine/core"
_HANGING = f"{_UNIT}/test_hanging.py"
_SHARED = "tests/simulation/test_provisions.py"
_LAUNCHING = f"{_UNIT}/test_launching.py"
_RESTARTING = f"{_UNIT}/test_restarting.py"
_STRANGERS = "tests/simulation/test_strangers.py"
_PLACING = f"{_UNIT}/test_placing.py"
_PLACED = f"{_UNIT}/test_pod_placement.py"

MUTANTS = (
    Mutant(
        "a PE's status says what a pod says as the pod says it",
        "services/pod_state_machine/adapters/reading.py",
        "        problem=shown(_problem(data), POD_TEXT_CHARS_MAX),\n",
        "        problem=_problem(data),\n",
        ("tests/unit/pod_state_machine/test_text_of_others.py",),
    ),
    Mutant(
        "a launch does not wait for the end of the one before it",
        f"{_CORE}/observing.py",
        "    alive = [pod for pod in earlier if holds_up(snapshot, pe, pod, now)]\n",
        "    alive: list[Pod] = []\n",
        (_LAUNCHING,),
    ),
    Mutant(
        "a pod that is being deleted counts as running",
        f"{_CORE}/observing.py",
        "    if pod.is_deleting:\n        hangs =",
        "    if False:\n        hangs =",
        (_HANGING, f"{_UNIT}/test_ending.py"),
    ),
    Mutant(
        "a pod that was there before any status spoke of it counts as still to come",
        f"{_CORE}/observing.py",
        "    return pe.status.phase is PePhase.WAITING and has_had_pod\n",
        "    return False\n",
        ("tests/simulation/test_hands.py", "-k", "by_force"),
    ),
    Mutant(
        "a view that is behind is acted on",
        f"{_CORE}/observing.py",
        "    return Observation.VIEW_BEHIND if ahead else None\n",
        "    return None\n",
        (_LAUNCHING,),
    ),
    Mutant(
        "pods are launched although what they mount is missing",
        f"{_CORE}/observing.py",
        "    is_mounted_there = snapshot.has_pe_config_map and snapshot.has_job_config_map\n",
        "    is_mounted_there = True\n",
        (_LAUNCHING,),
    ),
    Mutant(
        "the pod of a PE of that name before it is no predecessor",
        f"{_CORE}/observing.py",
        "if pod.owner_uid != pe.uid or pod.launch < launch)",
        "if pod.owner_uid == pe.uid and pod.launch < launch)",
        (_LAUNCHING,),
    ),
    Mutant(
        "a relaunch takes the number of the launch before",
        f"{_CORE}/recording.py",
        "max(pe.launch_floor, seen.launch + 1)",
        "max(pe.launch_floor, seen.launch)",
        (_LAUNCHING,),
    ),
    Mutant(
        "a floor of launches that people raised is ignored",
        f"{_CORE}/recording.py",
        "max(pe.launch_floor, seen.launch + 1)",
        "seen.launch + 1",
        (_LAUNCHING,),
    ),
    Mutant(
        "the pod before is believed to be gone without a look",
        f"{_CORE}/deciding.py",
        "        believed_gone=tuple(sorted(believed_gone)),\n",
        "",
        (_LAUNCHING,),
    ),
    Mutant(
        "a status is written again although it says nothing new",
        f"{_CORE}/deciding.py",
        "    if recorded == at.pe.status:\n",
        "    if False:\n",
        (f"{_UNIT}/test_recording.py",),
    ),
    Mutant(
        "restarts come without back-off",
        f"{_CORE}/restarting.py",
        "    doublings = min(pe.status.restarts, _DOUBLINGS_MAX)\n",
        "    doublings = 0\n",
        (_RESTARTING,),
    ),
    Mutant(
        "a drain is somebody's wish",
        f"{_CORE}/ending.py",
        "(pod.is_deleting or pod.is_over):\n        return End.DISRUPTED\n",
        "(pod.is_deleting or pod.is_over):\n        return End.DELETED\n",
        (_RESTARTING, "tests/simulation/test_restarting.py"),
    ),
    Mutant(
        "a pod on a silent node is launched past after a while",
        f"{_CORE}/hanging.py",
        "    return pe.policies.force_relaunch or _is_lost_with(snapshot.node(pod.node), pod)\n",
        "    return True\n",
        (_HANGING, f"{_UNIT}/test_ending.py"),
    ),
    Mutant(
        "a status is written over a newer one",
        "services/pod_state_machine/adapters/carry_out.py",
        "        if entry.resource_version != pe.resource_version:\n",
        "        if False:\n",
        (f"{_UNIT}/test_carry_out.py",),
    ),
    Mutant(
        "pods of a job are deleted on the word of a record",
        "services/pod_state_machine/adapters/carry_out.py",
        "            if job is None or _lives(job, effect.job_uid):",
        "            if False:",
        (f"{_UNIT}/test_carry_out.py",),
    ),
    Mutant(
        "whoever bears the uid of a Job speaks for it",
        "contracts/labels.py",
        'f"{JOB_UID}={job_uid},{JOB}={job}"',
        'f"{JOB_UID}={job_uid}"',
        (_STRANGERS, "-k", "takes_no_pod_with_it"),
    ),
    Mutant(
        "a pod's name does not say which incarnation of the PE launches it",
        "contracts/labels.py",
        'f"{pe_uid}/{launch}".encode()',
        'f"{launch}".encode()',
        (_LAUNCHING,),
    ),
    Mutant(
        "a pod is gone with its lost node before the time-out",
        f"{_CORE}/hanging.py",
        "    if not pod.is_deleting or now < _gone_at(pe, pod):\n",
        "    if not pod.is_deleting or (now < _gone_at(pe, pod) and pe.policies.force_relaunch):\n",
        (_HANGING,),
    ),
    Mutant(
        "forceRelaunch does not wait for the time-out",
        f"{_CORE}/hanging.py",
        "    if not pod.is_deleting or now < _gone_at(pe, pod):\n",
        "    if not pod.is_deleting or (\n"
        "        now < _gone_at(pe, pod) and not pe.policies.force_relaunch\n    ):\n",
        (_HANGING,),
    ),
    Mutant(
        "any taint of a node says that it is out of service",
        "services/pod_state_machine/adapters/reading.py",
        'any(each.get("key") == labels.OUT_OF_SERVICE_TAINT for each in taints)',
        "bool(taints)",
        (_HANGING,),
    ),
    Mutant(
        "a pod that counts as gone is launched past before it is deleted",
        f"{_CORE}/hanging.py",
        "    return not (counts_as_gone(snapshot, pe, pod, now) and pod.is_forced)\n",
        "    return not counts_as_gone(snapshot, pe, pod, now)\n",
        (_HANGING,),
    ),
    Mutant(
        "a pod that vanished with its node was somebody's wish",
        f"{_CORE}/ending.py",
        "    return bool(node.name) and (node.is_lost or node.is_closed or not node.is_ready)\n",
        "    return False\n",
        (f"{_UNIT}/test_ending.py",),
    ),
    Mutant(
        "a node is believed to be lost without a look",
        "services/pod_state_machine/adapters/carry_out.py",
        "        if effect.lost_node:\n",
        "        if False:\n",
        (f"{_UNIT}/test_carry_out.py",),
    ),
    Mutant(
        "the pod of a PE that talks over TLS waits for no certificate",
        f"{_CORE}/awaiting.py",
        "    return (is_encrypted(pe.spec) and not job.certificate_secret) or (\n",
        "    return (\n",
        (_SHARED, "-k", "before_its_certificate"),
    ),
    Mutant(
        "the pod of a PE that keeps checkpoints in redis waits for no servers",
        f"{_CORE}/awaiting.py",
        "        asked_redis(pe.spec) is not None and not job.redis_config\n",
        "        False\n",
        (_SHARED, "-k", "told_of_a_redis"),
    ),
    Mutant(
        "a constrained PE is launched before it is known where it goes",
        f"{_CORE}/awaiting.py",
        "    if pe is None or _is_free(snapshot, pe):\n",
        "    if pe is None or snapshot.placement is None:\n",
        (_PLACING,),
    ),
    Mutant(
        "the answer of an older plan is taken",
        f"{_CORE}/awaiting.py",
        "    return placed is None or placed < (wanted or 0)\n",
        "    return placed is None\n",
        (_PLACING,),
    ),
    Mutant(
        "a pod goes to a node of an exclusive pool before it is claimed",
        f"{_CORE}/awaiting.py",
        "    if pool.marks_members and not pool.has_claimed:\n",
        "    if not pool.marks_members and not pool.has_claimed:\n",
        (_PLACING,),
    ),
    Mutant(
        "a pod goes to a node that does not exist",
        f"{_CORE}/awaiting.py",
        "    if not snapshot.node(placement.node).exists:\n",
        "    if False:\n",
        (_PLACING,),
    ),
    Mutant(
        "a pod that is bound is taken off its node",
        f"{_CORE}/observing.py",
        "pod is None or pod.node or pod.is_deleting",
        "pod is None or pod.is_deleting",
        (_PLACING,),
    ),
    Mutant(
        "nobody tells a PE that its node is there",
        "services/pod_state_machine/adapters/intake.py",
        "            yield from _to_place_on(entry.name, table)\n",
        "",
        (_PLACING,),
    ),
    Mutant(
        "the placement of an earlier job of that name counts",
        "services/pod_state_machine/adapters/intake.py",
        "    return controller(entry, JOB) == (pe.job, pe.job_uid)\n",
        "    return controller(entry, JOB) is not None\n",
        (_PLACING,),
    ),
    Mutant(
        "pods of other jobs attract and repel",
        f"{_CORE}/pod_placement.py",
        '                _expression(labels.JOB, "In", job),\n',
        "",
        (_PLACED,),
    ),
    Mutant(
        "a node with one of several tags will do",
        f"{_CORE}/pod_placement.py",
        "    return [*originals, list(ours.values())]\n",
        "    return [*originals, *([each] for each in ours.values())]\n",
        (_PLACED,),
    ),
    Mutant(
        "the node terms of a template undo the pin",
        f"{_CORE}/pod_merging.py",
        "            return _both_hold(ours, more)\n",
        "            return [*ours, *more]\n",
        (_PLACED,),
    ),
    Mutant(
        "a pod that was bound meanwhile is replaced",
        "services/pod_state_machine/adapters/carry_out.py",
        '        if entry is None or entry.data["node"]:\n',
        "        if entry is None:\n",
        (f"{_UNIT}/test_carrying_out_places.py",),
    ),
    Mutant(
        "a null in a template takes the place of what pods have by default",
        f"{_CORE}/pod_merging.py",
        "for name, value in theirs.items() if value is not None}",
        "for name, value in theirs.items()}",
        (f"{_UNIT}/test_pod_template.py", "-k", "null"),
    ),
)
