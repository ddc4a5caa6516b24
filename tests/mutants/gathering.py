"""Mutants of what a launch reads after a hand-over: too much, or less than it needs."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_GATHERING = "millrace/runtime/gathering.py"
_READS = "tests/unit/millrace/test_gathering.py"
_LOADING = "tests/unit/millrace/test_loading_states.py"
_DAMAGED = "tests/unit/millrace/test_damaged_seals.py"

MUTANTS = (
    Mutant(
        "each launch reads the seals of all PEs",
        _GATHERING,
        "gathered",
        "missing_of(needs, found)):",
        'missing_of(needs, found) or [("", ())]):',
        (_READS,),
    ),
    Mutant(
        "a channel of another width reads its own seal alone",
        _GATHERING,
        "Need.sources",
        "return {(channel_of(each, before, KEY_GROUPS),) for each in groups}",
        "return {(channel,)} & {(each,) for each in range(before)}",
        (_READS,),
    ),
    Mutant(
        "seals are searched from the first to the last",
        _GATHERING,
        "_likeliest",
        "if not known or not channels:",
        "if True:",
        (_READS,),
    ),
    Mutant(
        "a seal does not say which instances its PE had",
        "millrace/runtime/saving.py",
        "saved_at",
        "instances=_instances(placed),",
        "",
        (_DAMAGED,),
    ),
    Mutant(
        "a PE that did not seal begins with nothing",
        "millrace/runtime/loading.py",
        "Loading._rest",
        "self._whole(choice.fallbacks)",
        "self._whole(())",
        (_LOADING,),
    ),
    Mutant(
        "a damaged state of a PE that is gone stops all others",
        "millrace/runtime/loading.py",
        "Loading._rest",
        "if is_needed or may_have_kept(self.needs, states, gone=pe):",
        "if True:",
        (_LOADING,),
    ),
    Mutant(
        "what a damaged seal kept for a PE that is gone is done by nobody, in silence",
        "millrace/runtime/gathering.py",
        "_may_have_kept",
        "if sources - {",
        "if False and {",
        (_DAMAGED, "-k", "take_the_place and channel"),
    ),
    Mutant(
        "what a damaged state of a PE that is gone kept is done by nobody, in silence",
        "millrace/runtime/gathering.py",
        "_may_have_kept",
        "if any(spot.origin.pe == gone",
        "if any(False and spot.origin.pe == gone",
        (_DAMAGED, "-k", "that_is_gone_stops"),
    ),
)
