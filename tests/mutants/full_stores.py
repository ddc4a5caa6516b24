"""Mutants of checkpoints that cannot be kept: who ends over it, who says so, what is left."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CHECKPOINTING = "millrace/runtime/checkpointing.py"
_FULL = "tests/unit/millrace/test_full_stores.py"
_REDIS = "tests/unit/millrace/test_redis_store.py"

MUTANTS = (
    Mutant(
        "a checkpoint that cannot be written ends its PE",
        _CHECKPOINTING,
        "Checkpoints._is_kept",
        "self._failed(problem)",
        "raise",
        (_FULL,),
    ),
    Mutant(
        "a store that takes checkpoints again stays a trouble",
        _CHECKPOINTING,
        "Checkpoints._kept",
        "self.trouble = Trouble()",
        "pass",
        (_FULL,),
    ),
    Mutant(
        "nobody hears of checkpoints that fail",
        "millrace/runtime/noticing.py",
        "Looking._look_at_connections",
        "found if found.reason else self._checkpoints.trouble",
        "found",
        (_FULL,),
    ),
    Mutant(
        "a PE is at rest while its checkpoint is written",
        "millrace/runtime/pe.py",
        "Pe._checkpoint",
        "quiescing.go_on()\n            if not is_whole:",
        'await self._write(self._name("checkpoint", number), state)\n'
        "quiescing.go_on()\nif not is_whole:",
        (_FULL,),
    ),
    Mutant(
        "what too few groups of redis took stays there",
        "millrace/runtime/redis_store.py",
        "RedisStore.write",
        "await self._take_back(made, key, field)",
        "pass",
        (_REDIS,),
    ),
    Mutant(
        "what was kept before is taken back with what fails",
        "millrace/runtime/redis_store.py",
        "RedisStore.write",
        "made: list[Redis] = []",
        "made: list[Redis] = list(self._clients(key))",
        (_REDIS,),
    ),
    Mutant(
        "a job is healthy although a PE cannot keep its checkpoints",
        "services/fusion_backend/core/wording_conditions.py",
        "_connected",
        "if lagging := unsaved(situation):",
        "if lagging := unsaved(situation)[:0]:",
        ("tests/unit/fusion_backend/test_what_runs.py", "-k", "checkpoints"),
    ),
    Mutant(
        "why says that nothing is wrong with a PE that cannot keep its checkpoints",
        "history/why/of_operators.py",
        "is_in_trouble",
        ", keeps_no_checkpoint",
        "",
        ("tests/unit/history", "-k", "checkpoints"),
    ),
)
