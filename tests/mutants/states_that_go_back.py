"""Faults in what is counted where a PE does not save its state: what it took in since then."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_RULES = ("tests/unit/millrace/test_inheriting.py",)
_FILE = "millrace/runtime/inheriting.py"
_LIVES = "millrace/runtime/lives.py"
_COUNTS = "tests/unit/millrace/test_counts_of_lives.py"
_BACK = "tests/unit/millrace/test_states_that_go_back.py"

MUTANTS = (
    Mutant(
        "what the state of a killed PE lacks is counted by nobody",
        _FILE,
        "Gone.went_back",
        "if counts",
        "if False",
        (_BACK, "-k", "killed_pe_lacks"),
    ),
    Mutant(
        "what a killed PE without state processed counts as lost",
        _FILE,
        "Gone.went_back",
        "if counts",
        "if True",
        _RULES,
    ),
    Mutant(
        "a peer that begins again forgets what a killed PE took in",
        "millrace/runtime/outbox.py",
        "Outbox.__init__",
        "saved.acknowledged if saved else 0",
        "0",
        (_BACK, "-k", "remembers_what_a_killed"),
    ),
    Mutant(
        "what a PE had in hand that ended in good order counts as lost by its next launch",
        "millrace/runtime/receiving.py",
        "Receivers._introduced",
        "and not self._is_exact",
        "",
        (_BACK, "-k", "ended_in_good_order"),
    ),
    Mutant(
        "what a late PE left is counted twice",
        _FILE,
        "_inherit",
        "if state.pe in late",
        "if False",
        _RULES,
    ),
    Mutant(
        "what a life took in before the one that is gone makes up for what that one took in",
        _LIVES,
        "part_lost",
        "if known.launch > state.launch:",
        "if False:",
        _RULES,
    ),
    Mutant(
        "what a life took in that has been counted counts again",
        _LIVES,
        "part_lost",
        "if known.launch < state.launch:",
        "if False:",
        ("tests/unit/millrace/test_lives.py", "-k", "has_been_counted"),
    ),
    Mutant(
        "the first state of a launch forgets what the life before took in",
        "millrace/runtime/saving.py",
        "saved_at_begin",
        "former=_former(receivers)",
        "former=()",
        (_COUNTS, "-k", "its_sender_did_not_meet"),
    ),
    Mutant(
        "all that a life took in counts as lost by the launch after the next one",
        "millrace/runtime/states.py",
        "SavedPe.took",
        "dict(self.former).get(origin, own)",
        "Taken(0, Peer(0, ''))",
        (_COUNTS, "-k", "compared_with_the_state"),
    ),
    Mutant(
        "a sender that was killed does not know what its receiver took in",
        "millrace/runtime/outbox.py",
        "Outbox.resume",
        "if answer.taken is not None:",
        "if False:",
        (_COUNTS, "-k", "learns_again"),
    ),
    Mutant(
        "what the state of a late PE lacks is in no report",
        "millrace/runtime/pe.py",
        "Pe._be_late",
        "taken_in(begun.parts) - self._taken_at_checkpoint",
        "0",
        (_BACK, "-k", "late_pe_lacks"),
    ),
    Mutant(
        "all that a late PE took in counts as lost, though it saved its state",
        "millrace/runtime/pe.py",
        "Pe._checkpoint",
        "self._taken_at_checkpoint = sum(tuples for _, tuples in state.taken)",
        "pass",
        (_BACK, "-k", "late_pe_lacks"),
    ),
)
