"""Mutants of checkpoints that cannot be kept: who ends over it, who says so, what is left."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CHECKPOINTING = "millrace/runtime/checkpointing.py"
_FULL = "tests/unit/millrace/test_full_stores.py"
_ORDER = "millrace/runtime/good_order.py"
_STAYS = ("tests/unit/millrace/test_failing_at_a_full_store.py", "-x")
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
        "quiescing.go_on()",
        'await self._write(self._name("checkpoint", number), state)\nquiescing.go_on()',
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
        "_unconnected",
        "elif found := unsaved(situation):",
        "elif found := unsaved(situation)[:0]:",
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
    Mutant(
        "a PE whose operator fails ends although its state is not kept",
        _ORDER,
        "GoodOrder.keep",
        "self._is_missing(name):\n                    return False",
        "self._is_missing(name):\n                    raise",
        _STAYS,
    ),
    Mutant(
        "a PE goes on behind a state that its store may have",
        _ORDER,
        "GoodOrder._is_missing",
        "except StoreFailed:\n            return False",
        "except StoreFailed:\n            return True",
        (*_STAYS, "-k", "does_not_know"),
    ),
    Mutant(
        "a PE that cannot end keeps its operator at the tuple for ever",
        _ORDER,
        "GoodOrder.run",
        "engine.try_again()",
        "pass",
        (*_STAYS, "-k", "troubles"),
    ),
    Mutant(
        "a hand-over that begins as the state is not kept waits for the pause",
        _ORDER,
        "GoodOrder.run",
        "await unless(self._hurries.wait()",
        "self._hurries.clear()\nawait unless(self._hurries.wait()",
        ("tests/unit/millrace/test_good_order.py",),
    ),
    Mutant(
        "a PE that is late for a hand-over keeps the state of its stop",
        _ORDER,
        "GoodOrder.keep",
        "if self._stopping.late.is_set():",
        "if False:",
        ("tests/unit/millrace/test_good_order.py",),
    ),
    Mutant(
        "nobody hears that the store takes no state of a PE whose operator fails",
        "millrace/runtime/failing.py",
        "Reports.trouble",
        'Trouble(REASON, f"{failure}{stays}")',
        "Trouble(REASON, str(failure))",
        (*_STAYS, "-k", "troubles"),
    ),
    Mutant(
        "a PE that is stopped tries once to keep its state",
        _ORDER,
        "GoodOrder.keep",
        "and self._stopping.left_s <= BYE_S",
        "",
        (*_STAYS, "-k", "in_the_time_that_it_has"),
    ),
    Mutant(
        "a source that is stuck passes the mark of a stop on once",
        "millrace/runtime/source_nodes.py",
        "SourceNode.go_on",
        "self._held, self._passed_on = until, None",
        "self._held = until",
        (*_STAYS, "-k", "source_that_raised"),
    ),
    Mutant(
        "a PE that is stopped at a tuple ends as if nothing failed",
        "millrace/runtime/pe.py",
        "Pe._stop",
        "or held_back or self._failing.failure",
        "or held_back",
        (*_STAYS, "-k", "stopped_at_a_tuple"),
    ),
    Mutant(
        "a run that fails leaves its sinks without their last lines",
        "millrace/runtime/local.py",
        "_Runner._close",
        "await node.execution.let_go()",
        "pass",
        ("tests/unit/millrace/test_functions_that_hold_back.py", "-k", "a_run_that_fails"),
    ),
)
