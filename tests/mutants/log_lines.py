"""Planted bugs in what log lines tell of a job."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_EFFECT_LINES = "services/chassis/running/effect_lines.py"
_SIMULATED = ("tests/simulation/test_log_lines.py",)
_UNIT = ("tests/unit/chassis/running/test_effect_lines.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "effects that changed nothing fill the log",
        _EFFECT_LINES,
        "write",
        "if outcome in UNCHANGED:",
        "if not outcome:",
        _UNIT,
    ),
    Mutant(
        "lines of a decision are not bounded",
        _EFFECT_LINES,
        "write",
        "if self._written == EFFECT_LINES_MAX:",
        "if self._written < 0:",
        _UNIT,
    ),
    Mutant(
        "each effect has the rule of the first",
        _EFFECT_LINES,
        "because_of",
        "return {id(each): why for each, why in",
        "return {id(each): because[0] for each, why in",
        _UNIT,
    ),
    Mutant(
        "the end of a list takes the trace from its keys",
        "services/chassis/running/reconciling.py",
        "_mark_all",
        "trace_id = cause.trace_id or self._causes.get(key, NO_CAUSE).trace_id",
        "trace_id = cause.trace_id",
        _SIMULATED,
    ),
    Mutant(
        "a restart of watch-ingest tells of actions of before",
        "services/watch_ingest/core/publishing.py",
        "facts_of_object",
        "begins = 0  # a list after",
        "begins += 0  # a list after",
        _SIMULATED,
    ),
    Mutant(
        "the resync of every hour fills the log",
        "services/watch_ingest/adapters/telling.py",
        "tell_of_resync",
        "tell = _log.debug if why == HOURLY else _log.info",
        "tell = _log.info",
        _SIMULATED,
    ),
)
