"""Bugs of each service that the replay of kept recordings finds, and of how they are kept."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_KEPT = "tests/histories/test_histories.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a pod that failed is launched again without back-off, which a recording shows",
        "services/launching/core/rules.py",
        "RULES",
        "lambda at: at.restart is not None and at.now >= at.restart_due_at",
        "lambda at: at.restart is not None",
        (_KEPT, "-k", "as_it_was and pods-end"),
    ),
    Mutant(
        "a refusal of a placement is not written, which a recording shows",
        "services/hostpool_manager/core/rules.py",
        "RULES",
        "lambda at: at.is_found(_P.REFUSED)",
        "lambda at: False",
        (_KEPT, "-k", "as_it_was and placement-refused"),
    ),
    Mutant(
        "a clean-up begins before children are as planned, which a recording shows",
        "services/fusion_backend/core/clean_up_rules.py",
        "",
        "lambda at: not at.difference.is_empty",
        "lambda at: False",
        (_KEPT, "-k", "as_it_was and storm"),
    ),
    Mutant(
        "a pool that ends keeps its node, which a recording shows",
        "services/node_tainter/core/snapshot.py",
        "Pool.is_marking",
        "return not self.is_deleting and (self.is_exclusive or self.labels_members)",
        "return self.is_exclusive or self.labels_members",
        (_KEPT, "-k", "as_it_was and pool-of-nodes"),
    ),
    Mutant(
        "a recording that is text is read although its end is missing",
        "history/unpacking.py",
        "_bytes_of",
        "if not lines or lines.pop().strip() != _END:",
        "if not text:",
        ("tests/unit/history/test_recordings.py", "-k", "no_recording"),
    ),
    Mutant(
        "a decision is in the log before the observations that it rests on",
        "services/chassis/running/decision_log.py",
        "DecisionLog._publish_queued",
        """
        await self._produce(self._packed, len(self._packed))
        await self._produce(self._queue, decisions)
        """,
        """
        await self._produce(self._queue, decisions)
        await self._produce(self._packed, len(self._packed))
        """,
        ("tests/unit/chassis/running/test_decision_log.py",),
    ),
    Mutant(
        "a decision is published with those before it, and not what it rests on",
        "services/chassis/running/decision_log.py",
        "DecisionLog._publish_queued",
        "await self._produce(self._queue, decisions)",
        "await self._produce(self._queue, len(self._queue))",
        ("tests/unit/chassis/running/test_decision_log.py",),
    ),
    Mutant(
        "other names in a redacted recording count as a difference",
        "history/comparing.py",
        "compared",
        "if not has_digests:",
        "if False:",
        ("tests/unit/history/test_comparing.py",),
    ),
)
