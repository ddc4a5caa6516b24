"""Planted bugs in what log lines and spans tell of a job."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_EFFECT_LINES = "services/chassis/running/effect_lines.py"
_SIMULATED = ("tests/simulation/test_log_lines.py",)
_SPANS = ("tests/simulation/test_spans.py",)
_EXPORT = ("tests/unit/chassis/process/test_span_export.py",)
_UNIT = ("tests/unit/chassis/running/test_effect_lines.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "effects that changed nothing fill the log",
        _EFFECT_LINES,
        "EffectLines.write",
        "if outcome in UNCHANGED:",
        "if not outcome:",
        _UNIT,
    ),
    Mutant(
        "lines of a decision are not bounded",
        _EFFECT_LINES,
        "EffectLines.write",
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
        "StageRunner._mark_all",
        "of_trace = cause if cause.trace_id else self._causes.get(key, NO_CAUSE)",
        "of_trace = cause",
        ("tests/unit/chassis/running/test_traces.py",),
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
    Mutant(
        "effects are no children of their decision",
        "services/chassis/running/effect_spans.py",
        "decision_span",
        "with caused_by(replace(cause, span_id=span.span_id)):",
        "with caused_by(cause):",
        _SPANS,
    ),
    Mutant(
        "the action of a person has a span of another id",
        "services/chassis/process/spans.py",
        "root_span",
        "Span(name, trace_id, root_span_id(trace_id), ",
        "Span(name, trace_id, trace_id[16:], ",
        _SPANS,
    ),
    Mutant(
        "a launch ends before its pod runs",
        "services/pod_state_machine/adapters/stage.py",
        "PodStateMachine.ended_with",
        "effect.status.reason != Reason.POD_RUNNING.value",
        "effect.status.reason != Reason.POD_STARTING.value",
        _SPANS,
    ),
    Mutant(
        "spans wait for a collector without a bound",
        "services/chassis/process/span_export.py",
        "SpanExport.add",
        "if len(self._queue) >= QUEUED_MAX:",
        "if not QUEUED_MAX:",
        _EXPORT,
    ),
    Mutant(
        "spans that were refused are counted as sent",
        "services/chassis/process/span_export.py",
        "SpanExport._send_all",
        "DROPPED if problem else SENT",
        "SENT",
        _EXPORT,
    ),
    Mutant(
        "a log that is rotated loses its older files",
        "cli/log_files.py",
        "rotate",
        "newer.replace(_older(file, number))",
        "newer.unlink()",
        ("tests/unit/cli/test_service_lines.py",),
    ),
    Mutant(
        "a failure of planning is logged again with each retry",
        "services/fusion_backend/adapters/plans.py",
        "Plans._log_once",
        "if self._logged.get(plan) != problem:",
        "if problem:",
        ("tests/unit/fusion_backend/test_carry_out.py",),
    ),
)
