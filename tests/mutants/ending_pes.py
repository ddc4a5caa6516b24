"""Planted bugs in how a PE ends in time, keeps its states and answers requests."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_ENGINE = ("tests/unit/millrace/test_engine.py",)
_WINDOWS = ("tests/unit/millrace/test_windows.py",)
_STOPPED = ("tests/unit/millrace/test_stopped_in_time.py",)
_TIDYING = ("tests/unit/millrace/test_tidying.py",)
_SERVING = ("tests/unit/millrace/test_serving.py",)
_RESTS = ("tests/unit/millrace/test_rests_beside_each_other.py",)
_LATE = ("tests/unit/millrace/test_late_pes.py",)
_REQUESTING = ("tests/unit/millrace/test_requesting.py",)

MUTANTS = (
    Mutant(
        "a signal that came while a PE imported its modules stays blocked",
        "millrace/runtime/__main__.py",
        "_stopping",
        "signal.SIG_UNBLOCK",
        "signal.SIG_BLOCK",
        _STOPPED,
    ),
    Mutant(
        "a PE that is late drains what nobody takes",
        "millrace/runtime/stopping.py",
        "Stopping.until_cut_short",
        "self.late.wait(), ",
        "",
        _LATE,
    ),
    Mutant(
        "a PE of a deleted job ends before it has saved its state",
        "millrace/runtime/stopping.py",
        "Stopping.until_given_up",
        "self.left_s if self._saves else GIVEN_UP_S",
        "GIVEN_UP_S",
        _STOPPED,
    ),
    Mutant(
        "a source that has ended is read once more after a stop in a hand-over",
        "millrace/runtime/source_nodes.py",
        "SourceNode.go_on",
        "self.saved[after] if has_passed else self.state()",
        "self.saved.get(after)",
        ("tests/unit/millrace/test_rests_beside_each_other.py",),
    ),
    Mutant(
        "a PE of a deleted job waits for peers that end as well",
        "millrace/runtime/stopping.py",
        "Stopping.until_cut_short",
        ", self.until_given_up())",
        ")",
        _STOPPED,
    ),
    Mutant(
        "what a late PE has in hand is in no report",
        "millrace/runtime/pe.py",
        "Pe._be_late",
        "be_late(in_hand_of(begun.parts), lacks",
        "be_late(0, lacks",
        _LATE,
    ),
    Mutant(
        "a sink that is late ends without its last lines",
        "millrace/runtime/pe.py",
        "Pe._stop",
        "first_of(self.begun.made.engine.flush(), asyncio.sleep(BYE_S))",
        "asyncio.sleep(0)",
        _LATE,
    ),
    Mutant(
        "a source that is held is taken for quiet after one turn",
        "millrace/runtime/feeding.py",
        "",
        "QUIET_TURNS: Final = 20",
        "QUIET_TURNS: Final = 1",
        _ENGINE,
    ),
    Mutant(
        "windows by time are given while a checkpoint is taken",
        "millrace/runtime/nodes.py",
        "Node.rest",
        "self._rests = True",
        'self._rests = barrier.kind != "checkpoint"',
        _WINDOWS,
    ),
    Mutant(
        "a PE that is stopped while it loads waits for its store",
        "millrace/runtime/pe.py",
        "Pe.run",
        "unless(self._stopping.requested.wait(), self._load())",
        "unless(asyncio.Event().wait(), self._load())",
        _STOPPED,
    ),
    Mutant(
        "a PE that is late takes its time to say goodbye",
        "millrace/runtime/stopping.py",
        "Stopping.bye_s",
        "max(self.left_s, BYE_S)",
        "60.0",
        _STOPPED,
    ),
    Mutant(
        "states of the newest hand-over are removed",
        "millrace/runtime/tidying.py",
        "superseded",
        "name.number < hand_over.generation",
        "name.number <= hand_over.generation",
        _TIDYING,
    ),
    Mutant(
        "states are removed while a hand-over goes on",
        "millrace/runtime/tidying.py",
        "superseded",
        "hand_over is None or not hand_over.complete",
        "hand_over is None",
        _TIDYING,
    ),
    Mutant(
        "states of a PE that waits for a node are removed",
        "millrace/runtime/tidying.py",
        "_remove",
        "left.intersection(former)",
        "former",
        _TIDYING,
    ),
    Mutant(
        "a tap without tuples holds its slot after its reader is gone",
        "millrace/runtime/serving.py",
        "_Connection._stream",
        "asyncio.wait((gone, sending)",
        "asyncio.wait((sending,)",
        _SERVING,
    ),
    Mutant(
        "tuples that a tap left out are not shown",
        "millrace/runtime/observing.py",
        "Taps._lines",
        "if left_out and not is_full:",
        "if False:",
        _SERVING,
    ),
    Mutant(
        "an early barrier of an older hand-over replaces a newer one",
        "millrace/runtime/connections.py",
        "Inlets.take_barrier",
        "if known.is_covered_by(barrier):",
        "if True:",
        _RESTS,
    ),
    Mutant(
        "a connection that pe-gateway closed is used again",
        "millrace/runtime/requesting.py",
        "Client._answer",
        "with contextlib.suppress(OSError):",
        "with contextlib.nullcontext():",
        _REQUESTING,
    ),
)
