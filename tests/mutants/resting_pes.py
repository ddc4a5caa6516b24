"""Planted bugs in how a PE comes to rest, saves its state and gives it to new owners."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_ENGINE = ("tests/unit/millrace/test_engine.py",)
_HAND_OVER = ("tests/unit/millrace/test_hand_over.py",)
_SAVED = ("tests/unit/millrace/test_saved_connections.py",)
_KILLS = ("tests/unit/millrace/test_kills.py",)

MUTANTS = (
    Mutant(
        "a PE that rests for two reasons goes on when the first is over",
        "millrace/runtime/quiescing.py",
        "Reasons.over",
        "others and quiescing.has_begun",
        "False",
        ("tests/unit/millrace/test_rests_beside_each_other.py", "-k", "two_reasons"),
    ),
    Mutant(
        "a batch that a PE works on is not in hand",
        "millrace/runtime/noticing.py",
        "_queued_in",
        "e.queue.tuples + e.at_work",
        "e.queue.tuples",
        _KILLS,
    ),
    Mutant(
        "a node passes a barrier on before all of its inputs brought it",
        "millrace/runtime/nodes.py",
        "Node._take_barrier",
        "count + self._ends >= self.inputs and",
        "count + self._ends >= 1 and",
        _ENGINE,
    ),
    Mutant(
        "an input that has ended holds up a barrier",
        "millrace/runtime/nodes.py",
        "Node._take_barrier",
        "count + self._ends >= self.inputs and",
        "count >= self.inputs and",
        _ENGINE,
    ),
    Mutant(
        "a barrier that does not count any more is kept",
        "millrace/runtime/nodes.py",
        "Node._take_back",
        "if each.is_covered_by(barrier)",
        "if each.generation < 0",
        _ENGINE,
    ),
    Mutant(
        "sources go on while a PE comes to rest",
        "millrace/runtime/quiescing.py",
        "Quiescing.rest",
        "source.hold(barrier)",
        "source.hold(barrier) if source.has_ended else None",
        _HAND_OVER,
    ),
    Mutant(
        "the barrier of a hand-over is not sent to peers inside",
        "millrace/runtime/quiescing.py",
        "Quiescing.rest",
        "outlet.inside = self.inside",
        "outlet.inside = frozenset()",
        _HAND_OVER,
    ),
    Mutant(
        "positions of peers are not saved",
        "millrace/runtime/saving.py",
        "saved_at",
        "positions=parts.receivers.positions(),",
        "positions=(),",
        _SAVED,
    ),
    Mutant(
        "what peers did not take in is saved nowhere",
        "millrace/runtime/saving.py",
        "saved_at",
        "for each in parts.senders",
        "for each in ()",
        _SAVED,
    ),
    Mutant(
        "a launch that loaded something does not save it as its own",
        "millrace/runtime/pe.py",
        "Pe._keep_begin",
        "if loaded.own is not None or loaded.is_handed:",
        "if loaded.own is None and loaded.is_handed:",
        _KILLS,
    ),
    Mutant(
        "nobody tells what a killed PE had in hand",
        "millrace/runtime/inlet.py",
        "Inlet.send_ack",
        "self.in_hand()",
        "0",
        _KILLS,
    ),
    Mutant(
        "what a state lacks is not counted",
        "millrace/runtime/noticing.py",
        "lost_by",
        "if has_state:",
        "if not has_state:",
        _KILLS,
    ),
    Mutant(
        "a seal that is refused once is given up",
        "millrace/runtime/gateway.py",
        "Gateway._may_pass",
        "return is_known_later and self._refusals < REFUSED_TRIES",
        "return False",
        ("tests/unit/millrace/test_refused_reports.py", "-k", "does_not_know_the_job_yet"),
    ),
    Mutant(
        "a report that is refused for good is not counted",
        "millrace/runtime/gateway.py",
        "Gateway._send",
        "self.refused[type(report).__name__] += 1",
        "pass",
        ("tests/unit/millrace/test_refused_reports.py", "-k", "refused_for_good"),
    ),
    Mutant(
        "the level of the runtime is that of the application",
        "millrace/runtime/tracing.py",
        "set_levels",
        "logging.getLogger(RUNTIME_LOGGER).setLevel(runtime.value)",
        "logging.getLogger().setLevel(runtime.value)",
        ("tests/unit/millrace/test_signs.py", "-k", "levels_of_application"),
    ),
    Mutant(
        "a launch that has sealed takes tuples of peers of the next plan",
        "millrace/runtime/quiescing.py",
        "Quiescing.rest",
        "parts.receivers.seal()",
        "pass",
        ("tests/unit/millrace/test_hand_over_disturbed.py",),
    ),
    Mutant(
        "a launch that has sealed takes no barrier of a peer that began again",
        "millrace/runtime/frames.py",
        "begins_or_hands_over",
        'decoded(frame, Barrier).kind == "hand-over"',
        "False",
        ("tests/unit/millrace/test_evicted.py",),
    ),
)
