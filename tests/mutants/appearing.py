"""Mutants of what an attempt lacked, and of how it is noticed that it is there."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_APPEARING = "tests/unit/fusion_backend/test_appearing.py"
_CORE = "services/fusion_backend/core"

MUTANTS = (
    Mutant(
        "nodes that a submission lacked are waited for by the back-off alone",
        f"{_CORE}/attempts.py",
        "is_retry_due",
        "at.snapshot.is_bundle_there or has_appeared(at)",
        "at.snapshot.is_bundle_there",
        (_APPEARING,),
    ),
    Mutant(
        "nodes that a width lacked are waited for by the back-off alone",
        f"{_CORE}/trying_again.py",
        "of_last_attempt",
        "and not last.has_appeared",
        "",
        (_APPEARING,),
    ),
    Mutant(
        "an attempt follows each node that joins",
        f"{_CORE}/awaited.py",
        "Awaited.is_met_by",
        "return tags_of(node.labels).issuperset(self.tags)",
        "return True",
        (_APPEARING,),
    ),
    Mutant(
        "an attempt follows the nodes that the last one failed with",
        f"{_CORE}/appearing.py",
        "lacked",
        "count=found[each] + 1",
        "count=found[each]",
        (_APPEARING,),
    ),
    Mutant(
        "a node that others hold starts an attempt",
        f"{_CORE}/appearing.py",
        "_without",
        "each.key != EXCLUSIVE_TAINT or each.value not in pools",
        "each.key != EXCLUSIVE_TAINT",
        (_APPEARING,),
    ),
    Mutant(
        "half of the room that was short starts an attempt",
        f"{_CORE}/appearing.py",
        "_is_there",
        "free[name] >= amount",
        "2 * free[name] >= amount",
        (_APPEARING,),
    ),
    Mutant(
        "no node wakes a job that awaits one",
        "services/fusion_backend/adapters/awaiting.py",
        "_by_what",
        "yield NODE",
        "yield from ()",
        ("tests/unit/fusion_backend/test_awaiting.py",),
    ),
    Mutant(
        "every pod that is bound wakes the jobs that lack room",
        "services/fusion_backend/adapters/awaiting.py",
        "awaiting",
        "change.kind == BOUND_POD and change.new is None",
        "change.kind == BOUND_POD",
        ("tests/unit/fusion_backend/test_awaiting.py",),
    ),
    Mutant(
        "a missing bundle is looked for by the next attempt alone",
        f"{_CORE}/bundle_rules.py",
        "next_bundle_look_at",
        "at.now + LOOK_EVERY_S if is_bundle_looked_for(at) else None",
        "None",
        (_APPEARING,),
    ),
    Mutant(
        "a bundle that is being copied starts an attempt",
        "services/fusion_backend/adapters/bundles/root.py",
        "is_whole",
        "not 0.0 <= now - found.st_mtime < WRITTEN_FOR_S",
        "True",
        ("tests/unit/fusion_backend/test_whole_bundles.py",),
    ),
)
