"""Mutants of hostpool-manager: what takes room, whose a node is, which answer counts."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/hostpool_manager"
_CORE = "services/hostpool_manager/core"
_ADAPTERS = "services/hostpool_manager/adapters"
_ANSWERING = f"{_UNIT}/test_answering.py"
_CHOOSING = f"{_UNIT}/test_choosing.py"
_LIFE_CYCLE = f"{_UNIT}/test_life_cycle.py"
_MENDING = f"{_UNIT}/test_mending.py"
_FOLLOWING = f"{_UNIT}/test_following.py"

MUTANTS = (
    Mutant(
        "a refusal names jobs and pools of other namespaces",
        f"{_CORE}/placing/nearing.py",
        '    return job.partition("/")[0] == to.partition("/")[0]\n',
        "    return True\n",
        (f"{_UNIT}/test_refusals.py",),
    ),
    Mutant(
        "what is promised to processing elements without a pod takes no room",
        f"{_CORE}/picture.py",
        "            if pe in pes and pe not in bound:\n",
        "            if pe in pes and pe in bound:\n",
        (_ANSWERING, "-k", "promises_take_room"),
    ),
    Mutant(
        "the taint of a live pool claims no node, whatever the status of another says",
        f"{_CORE}/picture.py",
        " for uid in marks.taints if ",
        " for uid in marks.places if ",
        (_FOLLOWING, "-k", "taint_of_another_live_pool"),
    ),
    Mutant(
        "what was found is not checked again on the newest cluster",
        f"{_CORE}/answering.py",
        "    if isinstance(answer, Placed) and violations(",
        "    if isinstance(answer, Refused) and violations(",
        (f"{_UNIT}/test_overtaken.py",),
    ),
    Mutant(
        "every instance decides, whoever has the Lease",
        f"{_ADAPTERS}/stage.py",
        "        leadership=Leadership(settings.lease_namespace, LEASE, intake.LISTED_FIRST),\n",
        "        leadership=None,\n",
        (f"{_UNIT}/test_leading.py", "-k", "loses_the_lease"),
    ),
    Mutant(
        "a refusal overwrites what is in force",
        f"{_CORE}/answering.py",
        "        return placement.in_force\n",
        "        return InForce()\n",
        (_ANSWERING, "-k", "leaves_the_old_answer"),
    ),
    Mutant(
        "what was found is written although its status says it",
        f"{_CORE}/observing.py",
        "    if said is None or stands(",
        "    if said is None or not stands(",
        (_LIFE_CYCLE,),
    ),
    Mutant(
        "an answer counts whatever its Placement asks for by now",
        f"{_CORE}/answering.py",
        " or not target.is_of(placement):",
        ":",
        (_LIFE_CYCLE, "-k", "another_spec"),
    ),
    Mutant(
        "of a placement in force nothing is had where all of it cannot be",
        f"{_CORE}/answering.py",
        "    if isinstance(answer, Placed) or not is_in_force:\n",
        "    if answer:\n",
        (_MENDING, "-k", "lacks_a_member"),
    ),
    Mutant(
        "a new job is given fewer members than it asks for",
        f"{_CORE}/answering.py",
        "    if isinstance(answer, Placed) or not is_in_force:\n",
        "    if isinstance(answer, Placed):\n",
        (_MENDING, "-k", "only_what_is_in_force"),
    ),
    Mutant(
        "who fits beside those that are placed is left out",
        f"{_CORE}/mending.py",
        "        found, tried = _found(cluster, _with(best, pe), budget), tried + 1\n",
        "        found, tried = _found(cluster, best.job, budget), tried + 1\n",
        (_MENDING, "-k", "nobody_is_left_out"),
    ),
    Mutant(
        "a node that cannot be read is gone",
        f"{_ADAPTERS}/readable.py",
        "            take_in(last)\n            return True\n",
        "            return False\n",
        (f"{_UNIT}/test_unreadable.py", "-k", "not_judged_as_gone"),
    ),
    Mutant(
        "a host that is closed and full is called unfit",
        f"{_CORE}/placing/explaining.py",
        "        return ()\n    return _together(passing, has_placement)\n",
        "        return ()\n    return ()\n",
        (f"{_UNIT}/test_refusals.py", "-k", "cordoned and full"),
    ),
    Mutant(
        "those that wait are searched in the lane of those that are new",
        f"{_CORE}/choosing.py",
        "    is_patient = row.action is Action.SEARCH_PATIENTLY\n",
        "    is_patient = False\n",
        (_CHOOSING, "-k", "has_a_lane_of_its_own"),
    ),
    Mutant(
        "an exclusive pool takes a node on which pods of others run",
        f"{_CORE}/placing/pooling.py",
        "        used = self.foreign | (",
        "        used = (",
        (f"{_UNIT}/test_deciding.py", "-k", "no_node_that_somebody_has_or_uses"),
    ),
    Mutant(
        "the gap that a lost member leaves is closed by moving the others",
        f"{_CORE}/following.py",
        "    return tuple(name for name in left if name or job.keeps_numbers(pool))\n",
        "    return tuple(name for name in left if name)\n",
        (_FOLLOWING, "-k", "leaves_its_place_empty"),
    ),
    Mutant(
        "a pool that nobody counts keeps gaps",
        f"{_CORE}/placing/settling.py",
        "    if not problem.job.keeps_numbers(pool):\n",
        "    if False:\n",
        (_FOLLOWING, "-k", "nobody_counts_lacks_nobody"),
    ),
    Mutant(
        "a member that does not exist is no violation",
        f"{_CORE}/placing/checking.py",
        "                if name not in self.cluster.index:\n",
        '                if name == "":\n',
        (f"{_UNIT}/test_checking.py",),
    ),
    Mutant(
        "an answer is written that no object can hold",
        f"{_CORE}/saying.py",
        "    if largest <= OBJECT_BYTES_MAX:\n",
        "    if largest:\n",
        (_CHOOSING, "-k", "no_object_can_hold"),
    ),
)
