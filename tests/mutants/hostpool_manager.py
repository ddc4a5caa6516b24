"""Mutants of hostpool-manager: what takes room, whose a node is, which answer counts."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/hostpool_manager"
_CORE = "services/hostpool_manager/core"
_ADAPTERS = "services/hostpool_manager/adapters"
_ANSWERING = f"{_UNIT}/test_answering.py"
_CHOOSING = f"{_UNIT}/test_choosing.py"
_LIFE_CYCLE = f"{_UNIT}/test_life_cycle.py"
_PARTIAL = "tests/unit/hostpool_manager/test_partial_placement.py"
_FOLLOWING = f"{_UNIT}/test_following.py"

MUTANTS = (
    Mutant(
        "a refusal names jobs and pools of other namespaces",
        "placement/nearing.py",
        "_may_be_named",
        'return job.partition("/")[0] == to.partition("/")[0]',
        "return True",
        ("tests/unit/placement/test_refusals.py",),
    ),
    Mutant(
        "what is promised to processing elements without a pod takes no room",
        "services/hostpool_manager/core/cluster_view.py",
        "ClusterView._promised",
        "if any(not uids_differ(uid, placement.job_uid) for uid in bound):",
        "if not any(not uids_differ(uid, placement.job_uid) for uid in bound):",
        (_ANSWERING, "-k", "promises_take_room"),
    ),
    Mutant(
        "the taint of a live pool claims no node that the status of another names",
        f"{_CORE}/claims.py",
        "claims",
        "for uid in found.taints if",
        "for uid in found.places if",
        (_FOLLOWING, "-k", "taint_of_another_live_pool"),
    ),
    Mutant(
        "an answer is not checked again on the newest cluster",
        f"{_CORE}/answering.py",
        "judge",
        "if isinstance(answer, Placed) and violations(",
        "if isinstance(answer, Refused) and violations(",
        (f"{_UNIT}/test_overtaken.py",),
    ),
    Mutant(
        "an instance without the Lease decides",
        "services/chassis/running/hosting.py",
        "stage_main",
        "leadership=leadership",
        "leadership=None",
        (f"{_UNIT}/test_leading.py", "-k", "loses_the_lease"),
    ),
    Mutant(
        "a refusal overwrites the placement in force",
        f"{_CORE}/partial_placement.py",
        "in_force_after",
        "return placement.in_force",
        "return InForce()",
        (_ANSWERING, "-k", "leaves_the_old_answer"),
    ),
    Mutant(
        "an answer is written although its status records it",
        f"{_CORE}/rules.py",
        "Situation.desired",
        "if desired is None or is_current(",
        "if desired is None or not is_current(",
        (_LIFE_CYCLE,),
    ),
    Mutant(
        "an answer counts although the spec of its Placement changed",
        f"{_CORE}/answering.py",
        "judge",
        "or not target.is_of(placement):",
        ":",
        (_LIFE_CYCLE, "-k", "another_spec"),
    ),
    Mutant(
        "a job in force that does not fit as a whole is not placed partially",
        f"{_CORE}/answering.py",
        "search_for",
        "if isinstance(answer, Placed) or not placement.is_in_force:",
        "if answer:",
        (_PARTIAL, "-k", "lacks_a_member"),
    ),
    Mutant(
        "a new job is given fewer members than it requests",
        f"{_CORE}/answering.py",
        "search_for",
        "if isinstance(answer, Placed) or not placement.is_in_force:",
        "if isinstance(answer, Placed):",
        (_PARTIAL, "-k", "only_what_is_in_force"),
    ),
    Mutant(
        "a PE that fits beside those that are placed is left out",
        "services/hostpool_manager/core/partial_placement.py",
        "partial_placement",
        "found, tried = _search_for(cluster, _with_one_more(best, pe), budget), tried + 1",
        "found, tried = _search_for(cluster, best.job, budget), tried + 1",
        (_PARTIAL, "-k", "nobody_is_left_out"),
    ),
    Mutant(
        "a node that cannot be read is gone",
        "services/chassis/table/viewing.py",
        "Views._fold",
        "known = self._read(view, ref, whole)",
        "known = _Read.NOT",
        (f"{_UNIT}/test_unreadable.py", "-k", "not_judged_as_gone"),
    ),
    Mutant(
        "a spec that changed is not read again",
        f"{_CORE}/specs.py",
        "Specs.job_of",
        "if last is None or last[0] != text:",
        "if last is None:",
        (f"{_UNIT}/test_cluster_view.py", "-k", "text_changed"),
    ),
    Mutant(
        "a Placement whose check crashes stops the others",
        f"{_CORE}/cluster_view.py",
        "ClusterView.is_broken",
        "except Exception:",
        "except KeyError:",
        (f"{_UNIT}/test_unreadable.py", "-k", "check_crashes"),
    ),
    Mutant(
        "a host that is closed and full is called unfit",
        "placement/explaining.py",
        "_passing",
        ":\n    return ()\nreturn _together(passing, has_placement)",
        ":\n    return ()\nreturn ()",
        ("tests/unit/placement/test_refusals.py", "-k", "cordoned and full"),
    ),
    Mutant(
        "waiting Placements are searched in the lane of new specs",
        f"{_CORE}/choosing.py",
        "_candidate",
        "is_patient = rule.action is Action.SEARCH_PATIENTLY",
        "is_patient = False",
        (_CHOOSING, "-k", "has_a_lane_of_its_own"),
    ),
    Mutant(
        "an exclusive pool takes a node on which pods of others run",
        "placement/pooling.py",
        "_View._used_by_others",
        "used = self.foreign | (",
        "used = (",
        ("tests/unit/placement/test_deciding.py", "-k", "no_node_that_somebody_has_or_uses"),
    ),
    Mutant(
        "the gap that a lost member leaves is closed by moving the others",
        f"{_CORE}/partial_placement.py",
        "_members_left",
        "return tuple(name for name in left if name or job.keeps_numbers(pool))",
        "return tuple(name for name in left if name)",
        (_PARTIAL, "-k", "numbers_of_members_stay"),
    ),
    Mutant(
        "a pool without size keeps gaps",
        "placement/settling.py",
        "_in_order",
        "if not problem.job.keeps_numbers(pool):",
        "if False:",
        (_FOLLOWING, "-k", "without_size_lacks_nobody"),
    ),
    Mutant(
        "a member that does not exist is no violation",
        "placement/checking.py",
        "_View.members",
        "if name not in self.cluster.index:",
        'if name == "":',
        ("tests/unit/placement/test_checking.py",),
    ),
    Mutant(
        "an answer is written that no object can hold",
        "services/hostpool_manager/core/statuses.py",
        "too_large",
        "if largest <= OBJECT_BYTES_MAX:",
        "if largest:",
        (_CHOOSING, "-k", "no_object_can_hold"),
    ),
)
