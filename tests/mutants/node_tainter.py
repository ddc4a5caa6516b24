"""Mutants of node-tainter: whose a node is, what is looked at before marks go, foreign taints."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/node_tainter"
_CORE = "services/node_tainter/core"
_ADAPTERS = "services/node_tainter/adapters"
_DECIDING = f"{_UNIT}/test_deciding.py"
_CARRY_OUT = f"{_UNIT}/test_carry_out.py"
_INTAKE = f"{_UNIT}/test_intake.py"
_MARKING = f"{_UNIT}/test_marking.py"

MUTANTS = (
    Mutant(
        "a node is marked before the pool has its finalizer",
        f"{_CORE}/claiming.py",
        "_places",
        "if each.pool.has_finalizer:\n    yield",
        "if True:\n    yield",
        (_DECIDING, "-k", "follow_from_what_is_known"),
    ),
    Mutant(
        "the taint of another owner that lives is replaced",
        f"{_CORE}/claiming.py",
        "holder_of",
        "if taint.value in pools:",
        "if not pools:",
        (_DECIDING, "-k", "follow_from_what_is_known"),
    ),
    Mutant(
        "a pool that is being deleted goes on claiming",
        f"{_CORE}/snapshot.py",
        "Pool.is_marking",
        "return not self.is_deleting and (self.is_exclusive or self.labels_members)",
        "return self.is_exclusive or self.labels_members",
        (_DECIDING, "-k", "follow_from_what_is_known"),
    ),
    Mutant(
        "marks of a uid that nobody told of go without a look",
        f"{_CORE}/node_rules.py",
        "set_marks",
        "believed_gone=tuple(sorted(going - known.keys())),",
        "believed_gone=(),",
        (_CARRY_OUT, "-k", "no_fact_shows_stay"),
    ),
    Mutant(
        "marks of a pool that seems to have left go without a look",
        f"{_CORE}/node_rules.py",
        "set_marks",
        ",\nbelieved_left=tuple(sorted(left, key=str)),\n    )",
        ",\nbelieved_left=(),\n    )",
        (_CARRY_OUT, "-k", "newer_than_what_was_reported"),
    ),
    Mutant(
        "foreign taints are dropped where ours is put",
        f"{_CORE}/marking.py",
        "_marked",
        "if not _is_ours(each):\n    kept.append(each)",
        "if not _is_ours(each):\n    continue",
        (_MARKING, "-k", "foreign_ones_stay"),
    ),
    Mutant(
        "a second taint of ours is left beside the first",
        f"{_CORE}/marking.py",
        "_marked",
        ":\n    missing.remove(taint_of(each))\n    kept.append(each)",
        ":\n    missing.remove(taint_of(each))\n    kept.append(each)\nelse:\n    "
        "kept.append(each)",
        (_MARKING, "-k", "foreign_ones_stay"),
    ),
    Mutant(
        "the finalizer goes without a look at the nodes",
        f"{_ADAPTERS}/carry_out.py",
        "CarryOut.run",
        "await self._look_for_carriers(effect.uid)",
        "",
        (_CARRY_OUT, "-k", "finalizer_stays"),
    ),
    Mutant(
        "what a look found changes nothing",
        f"{_ADAPTERS}/carry_out.py",
        "CarryOut._as_decided",
        "if entry is None or snapshot_of(self._table, key) != snapshot:",
        "if entry is None:",
        (_CARRY_OUT, "-k", "no_fact_shows_stay"),
    ),
    Mutant(
        "a node that is released does not wake the deleted pool that waits for it",
        f"{_ADAPTERS}/intake.py",
        "_keys_of_entry",
        "for pool in table.by(_POOLS_BY_UID, owner):\n    yield PoolKey(pool.namespace, pool.name)",
        "_ = owner",
        (_INTAKE, "-k", "whose_marks_it_carries"),
    ),
)
