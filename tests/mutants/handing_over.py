"""Mutants of the hand-over of a resize: who hands over, until when, and what waits for it."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_BACKEND = "services/fusion_backend/core"
_RULES = "tests/unit/fusion_backend/test_handing_over.py"
_GATE = "tests/unit/pod_state_machine/test_handing_over.py"

MUTANTS = (
    Mutant(
        "a changed PE is launched as soon as its new content is observed",
        "services/launching/core/situation.py",
        "Situation.are_gates_open",
        "is_kept = self.context.is_handing_over and self.is_content_changed",
        "is_kept = False",
        (_GATE,),
    ),
    Mutant(
        "a hand-over of an older generation lets a changed PE go",
        "services/pod_state_machine/core/awaiting.py",
        "is_handing_over",
        "job.handed_over >= generation",
        "job.handed_over >= 0",
        (_GATE,),
    ),
    Mutant(
        "a hand-over that goes on lets changed PEs go",
        "services/pod_state_machine/adapters/reading.py",
        "_handed_over",
        ' if hand_over.get("complete") else -1',
        "",
        (_GATE,),
    ),
    Mutant(
        "a PE waits for its hand-over although its job forbids it",
        "services/pod_state_machine/core/awaiting.py",
        "is_handing_over",
        " or not job.hand_over_s:",
        ":",
        (_GATE,),
    ),
    Mutant(
        "an edit by hand waits for a hand-over that never comes",
        "services/pod_state_machine/core/awaiting.py",
        "is_handing_over",
        "if not is_resize or job.handed_over",
        "if job.handed_over",
        (_GATE,),
    ),
    Mutant(
        "a leaving PE is deleted while it hands over",
        f"{_BACKEND}/handing_over.py",
        "HandOver._affected",
        "if is_leaving or (",
        "if (",
        (_RULES,),
    ),
    Mutant(
        "PEs that a newer plan does not name stay as they are",
        f"{_BACKEND}/handing_over.py",
        "HandOver.is_due",
        " or any(self._are_live(self._pes))",
        "",
        (_RULES,),
    ),
    Mutant(
        "a PE that ended is waited for until the deadline",
        f"{_BACKEND}/handing_over.py",
        "HandOver.is_changed",
        "return self.is_going_on and",
        "return False and",
        (_RULES,),
    ),
    Mutant(
        "a hand-over ends with the first seal",
        f"{_BACKEND}/handing_over.py",
        "HandOver.is_ended",
        "or not self.waiting",
        "or bool(self.sealed)",
        (_RULES,),
    ),
    Mutant(
        "a hand-over has no deadline",
        f"{_BACKEND}/handing_over.py",
        "HandOver._is_timed_out",
        "or self.now >= (self.deadline or 0.0)",
        "",
        (_RULES,),
    ),
    Mutant(
        "nothing wakes a decision at the deadline of a hand-over",
        f"{_BACKEND}/deciding.py",
        "_requeue_at",
        ", at.hand_over.deadline",
        "",
        (_RULES,),
    ),
    Mutant(
        "a seal of an older generation counts",
        f"{_BACKEND}/handing_over.py",
        "HandOver._has_sealed",
        "PeSeen(entry).sealed == (self._pes[pe], self._generation)",
        "PeSeen(entry).sealed[1] >= 0",
        (_RULES,),
    ),
    Mutant(
        "PEs of a replaced hand-over stay in the status",
        f"{_BACKEND}/hand_over_changes.py",
        "_replaced",
        "{pe: None for pe in before or () if pe not in after} | after",
        "after",
        (_RULES,),
    ),
    Mutant(
        "a hand-over begins with a status of its own",
        f"{_BACKEND}/wording.py",
        "resizing",
        "hand_over_field(situation)",
        "()",
        (_RULES,),
    ),
)
