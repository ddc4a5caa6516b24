"""Faults in what goes to those who take the place of a PE that does not begin."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_HEIRS = ("tests/unit/millrace/test_pes_that_do_not_begin.py",)
_RULES = ("tests/unit/millrace/test_inheriting.py",)
_FILE = "millrace/runtime/inheriting.py"

MUTANTS = (
    Mutant(
        "what was on its way to a PE that is gone is done by nobody",
        _FILE,
        "Estate.on_the_way",
        "if route.receiver in self.inside",
        "if route.receiver not in self.inside",
        _HEIRS,
    ),
    Mutant(
        "what waited for a channel goes to its old number alone",
        _FILE,
        "_test",
        'if region.kind == "Hash" and names.issuperset(region.key):',
        "if False:",
        _HEIRS,
    ),
    Mutant(
        "what a PE that stopped in good order had taken in comes again",
        _FILE,
        "_take_sent",
        "begin = taken(sender.frames, known)",
        "begin = 0",
        _RULES,
    ),
    Mutant(
        "what a PE may have taken in that was killed is done once more",
        _FILE,
        "_take_sent",
        "begin = max(begin, sender.written)",
        "pass",
        _RULES,
    ),
    Mutant(
        "what is lost counts for each channel",
        _FILE,
        "_take_sent",
        "if way.is_first:",
        "if True:",
        _RULES,
    ),
    Mutant(
        "a tuple of a broadcast region comes to a channel that had its own",
        _FILE,
        "_test",
        'old == channel if region.kind == "Broadcast"',
        'old % width == channel if region.kind == "Broadcast"',
        _RULES,
    ),
    Mutant(
        "what was for a PE that has not begun since is lost at the width after that",
        "millrace/runtime/loading.py",
        "Loading._handed",
        "if former is not None and late else None",
        "if False else None",
        _HEIRS,
    ),
    Mutant(
        "a PE that begins behind a hand-over had begun before it to those that begin later",
        "millrace/runtime/loading.py",
        "Loading._not_begun",
        "if e.launch <= hand_over.pes[pe]",
        "if e.launch",
        _HEIRS,
    ),
    Mutant(
        "what a PE had before it did not begin is done once more",
        "millrace/runtime/loading.py",
        "Loading._handed",
        "if each.pe not in late",
        "if True",
        _HEIRS,
    ),
    Mutant(
        "a former hand-over is not in what is saved",
        "millrace/runtime/pe.py",
        "Pe._saved_at",
        "at.live, self._former",
        "at.live, None",
        _HEIRS,
    ),
    Mutant(
        "a launch that has not begun since a hand-over goes on from a state before it",
        "millrace/runtime/loading.py",
        "Loading._has_not_begun",
        "own.plan < self.generation",
        "own.plan > self.generation",
        ("tests/unit/millrace/test_loading_states.py",),
    ),
    Mutant(
        "what an absent PE kept for one outside of its hand-over is forgotten",
        "millrace/runtime/loading.py",
        "Loading._handed",
        "(*fallbacks, *owed)",
        "fallbacks",
        _HEIRS,
    ),
    Mutant(
        "nested regions are taken for one another",
        _FILE,
        "_Way._passed",
        "self.operator.regions[::-1]",
        "self.operator.regions",
        ("tests/unit/millrace/test_keys_in_parts.py",),
    ),
    Mutant(
        "channels that share a group of keys keep a part of it",
        "millrace/runtime/saving.py",
        "_parts",
        "for state in (*loaded.fallbacks, *loaded.states):",
        "for state in loaded.states[:1]:",
        ("tests/unit/millrace/test_keys_in_parts.py",),
    ),
    Mutant(
        "a launch that begins in a hand-over forgets the one before",
        "millrace/runtime/pe.py",
        "Pe._begin",
        "self._former = loaded.own.former",
        "pass",
        _HEIRS,
    ),
    Mutant(
        "what was saved for a former hand-over is removed while a PE needs it",
        "millrace/runtime/choosing.py",
        "removable",
        "begin = hand_over.generation if hand_over.is_exact else 0",
        "begin = hand_over.generation",
        (
            "tests/unit/millrace/test_pes_that_do_not_begin.py",
            "tests/unit/millrace/test_choosing.py",
        ),
    ),
    Mutant(
        "a PE does not know of operators in other PEs",
        "planner/description/describing.py",
        "Describer._downstream",
        "if not self._application.is_python:",
        "if True:",
        _HEIRS,
    ),
)
