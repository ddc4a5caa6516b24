"""Mutants of lost tuples: how they count once, and until when people are shown them."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_COUNTED = "tests/unit/pe_gateway/test_counted_losses.py"
_KEPT = "tests/unit/contracts/test_losses.py"
_HEALTHY = "tests/unit/fusion_backend/test_losses.py"
_SIMULATED = "tests/simulation/test_lost_tuples.py"
_GATEWAY = "services/pe_gateway"
_FUSION = "services/fusion_backend/core"

MUTANTS = (
    Mutant(
        "a report that comes twice counts twice",
        f"{_GATEWAY}/core/losses.py",
        "_known_tuples",
        "return before.tuples if before is not None else 0",
        "return 0",
        (_COUNTED, "-k", "twice"),
    ),
    Mutant(
        "a PE that is made again counts as its former self",
        "contracts/losses.py",
        "LaunchLoss.key",
        "return self.uid, self.launch",
        "return str(self.pe), self.launch",
        (_COUNTED, "-k", "made_again"),
    ),
    Mutant(
        "a full status forgets launches that may report again",
        f"{_GATEWAY}/core/losses.py",
        "_without_use",
        "each.key not in living and ",
        "",
        (_COUNTED, "-k", "make_room_but_none"),
    ),
    Mutant(
        "a launch without room is reported again for ever",
        f"{_GATEWAY}/core/losses.py",
        "is_counted",
        "if loss.key in rows or len(rows) < LAUNCHES_MAX:",
        "if True:",
        (_COUNTED, "-k", "without_room"),
    ),
    Mutant(
        "a status that was full once takes no launch any more",
        f"{_GATEWAY}/core/losses.py",
        "is_counted",
        "return with_reported(",
        "return job.losses.has_more or with_reported(",
        (_COUNTED, "-k", "again_once"),
    ),
    Mutant(
        "each loss is a write of the Job",
        f"{_GATEWAY}/core/loss_rules.py",
        "_is_unsettled",
        "return 0.0 <= at.now - at.reported.since < LOSSES_SETTLE_S",
        "return False",
        (_SIMULATED, "-k", "few_writes"),
    ),
    Mutant(
        "a clock that is set back holds losses up",
        f"{_GATEWAY}/core/loss_rules.py",
        "_is_unsettled",
        "return 0.0 <= at.now - at.reported.since < LOSSES_SETTLE_S",
        "return at.now - at.reported.since < LOSSES_SETTLE_S",
        (_COUNTED, "-k", "set_back"),
    ),
    Mutant(
        "a job that is made again gets the losses of the former",
        f"{_GATEWAY}/core/loss_rules.py",
        "_is_gone",
        " or job.uid != at.reported.job_uid",
        "",
        (_COUNTED, "-k", "made_again"),
    ),
    Mutant(
        "what is reported during a write is dropped with it",
        f"{_GATEWAY}/core/losses.py",
        "left_of",
        "if each.tuples > done.get(each.key, 0)",
        "if each.key not in done",
        (_COUNTED, "-k", "during_a_write"),
    ),
    Mutant(
        "what a launch lost that is over does not count for its job",
        f"{_GATEWAY}/adapters/runtime_answers.py",
        "RuntimeAnswers._record_loss",
        "self._reports.enter_loss(key, job_uid, loss, self._clock.now())",
        "pass",
        (_SIMULATED, "-k", "deleted_pe"),
    ),
    Mutant(
        "an acknowledgement of what is not lost yet hides what comes",
        "contracts/losses.py",
        "_acknowledged",
        "if is_number and int(text) <= total:",
        "if is_number:",
        (_KEPT, "-k", "wrong_acknowledgement"),
    ),
    Mutant(
        "a retention that no schema allows is added to a time",
        "contracts/losses.py",
        "retention_s_of",
        "min(max(limit_s, 0), INT32_MAX)",
        "limit_s",
        (_KEPT, "-k", "no_schema"),
    ),
    Mutant(
        "a loss is shown for ever",
        "contracts/losses.py",
        "unacknowledged",
        "if now >= expires_s:",
        "if False:",
        (_KEPT, "-k", "for_its_time"),
    ),
    Mutant(
        "nothing wakes the job when a loss is forgotten",
        f"{_FUSION}/deciding.py",
        "_requeue_at",
        "times.append(losses_expire_at(at))",
        "pass",
        (_HEALTHY, "-k", "though_nothing_happens"),
    ),
    Mutant(
        "a loss waits for the pauses of pods that come up",
        f"{_FUSION}/status_rules.py",
        "_have_losses_changed",
        "is_over or not says_losses or ",
        "",
        (_HEALTHY, "-k", "at_once"),
    ),
    Mutant(
        "a loss that grows is a write each time",
        f"{_FUSION}/status_rules.py",
        "_have_losses_changed",
        "at.now >= health_due_at(at)",
        "True",
        (_HEALTHY, "-k", "grows"),
    ),
    Mutant(
        "PEs that stop after a loss are reported late",
        f"{_FUSION}/health_due.py",
        "health_due_at",
        'recorded and healthy.get("reason") == Reason.TUPLES_LOST and is_ill',
        "False",
        (_HEALTHY, "-k", "come_first"),
    ),
    Mutant(
        "why says that nothing is wrong after a loss",
        "history/why/health.py",
        "_job",
        " or lost_tuples(case)",
        "",
        ("tests/unit/history/test_why.py", "-k", "lost"),
    ),
    Mutant(
        "get shows the wait of an older launch",
        "cli/noting.py",
        "_reported",
        ' and pe.reported.get("launch") == pe.launch',
        "",
        ("tests/unit/cli/test_noting.py", "-k", "older_launch"),
    ),
    Mutant(
        "each skipped tuple is a report",
        "millrace/runtime/noticing.py",
        "Skips.look",
        " and (now >= self._due or not self._reported)",
        "",
        ("tests/unit/millrace/test_reported_skips.py", "-k", "once_a_minute"),
    ),
)
