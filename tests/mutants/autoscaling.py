"""Mutants of autoscaling: what is counted of a region, and how its widths come into force."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_COUNTING = "tests/unit/fusion_backend/test_counting.py"
_CHANNELS = "tests/unit/planner/test_channels.py"
_GATHERING = "tests/unit/fusion_backend/test_gathering.py"
_TRYING = "tests/unit/fusion_backend/test_trying_again.py"
_AGAIN = "services/fusion_backend/core/trying_again.py"

MUTANTS = (
    Mutant(
        "an autoscaler counts a region whose channels share pods in part",
        "services/fusion_backend/core/counting.py",
        "_why_none",
        "if len(pes) != region.width:",
        "if not pes:",
        (_COUNTING,),
    ),
    Mutant(
        "a pod stands for two regions",
        "services/fusion_backend/core/counting.py",
        "counting",
        "taken |= dict.fromkeys(pes, region)",
        "taken |= {}",
        (_COUNTING,),
    ),
    Mutant(
        "a selector matches a part of the channels beside pods of an older release",
        "services/fusion_backend/core/counting.py",
        "_why_none",
        "if unmarked := [pe for pe in pes if _is_unmarked(snapshot, pe, region)]:",
        "if unmarked := []:",
        (_COUNTING,),
    ),
    Mutant(
        "a PE with operators of two channels stands for one of them",
        "planner/graph/channels.py",
        "_stood_for",
        "tuple(sorted(region for region in stands if len(channels[region]) == 1))",
        "tuple(sorted(stands))",
        (_CHANNELS,),
    ),
    Mutant(
        "a channel of an inner region counts once in each channel of the outer one",
        "planner/graph/channels.py",
        "_stood_for",
        "and not any(others):",
        "and (others or True):",
        (_CHANNELS,),
    ),
    Mutant(
        "each width in a row starts a generation",
        _AGAIN,
        "gathers_until",
        "return begun_s + settle_s if begun_s <= now < begun_s + settle_s else None",
        "return None",
        (_GATHERING,),
    ),
    Mutant(
        "the first width after a submission gathers",
        _AGAIN,
        "gathers_until",
        "if plan.record.generation < 1 or not begun:",
        "if not begun:",
        (_GATHERING,),
    ),
    Mutant(
        "a generation that another clock began later holds up widths",
        _AGAIN,
        "gathers_until",
        "if begun_s <= now < begun_s + settle_s else None",
        "if now < begun_s + settle_s else None",
        (_GATHERING,),
    ),
    Mutant(
        "nothing wakes a job whose widths gather",
        "services/fusion_backend/core/deciding.py",
        "_requeue_at",
        "        at.next_plan.look_again_at,\n",
        "",
        (_GATHERING,),
    ),
    Mutant(
        "a region that gathers says that its new width is in force",
        "services/fusion_backend/core/region_statuses.py",
        "outdated_statuses",
        "elif region.name in widths.gathering and seen.reported[-1] != region.width:",
        "elif False:",
        (_GATHERING,),
    ),
    Mutant(
        "a refused width is tried again for good",
        _AGAIN,
        "of_last_attempt",
        "if not found.waits or ends is None or now >= ends:",
        "if not found.waits or ends is None:",
        (_TRYING,),
    ),
    Mutant(
        "a newer plan takes up a width that was refused for good",
        _AGAIN,
        "of_last_attempt",
        "if not found.waits or ends is None or now >= ends:",
        "if ends is None:",
        (_TRYING,),
    ),
    Mutant(
        "each attempt for a width begins as soon as the last one has ended",
        _AGAIN,
        "_next_at",
        "else 0.0) + delay_s",
        "else 0.0)",
        (_TRYING,),
    ),
    Mutant(
        "an attempt for a width is answered by what is known of the last one",
        "services/fusion_backend/core/widths.py",
        "_requested_of",
        "(name, seen.spec_generation, seen.attempts)",
        "(name, seen.spec_generation, 0)",
        (_TRYING,),
    ),
    Mutant(
        "a region that waits for capacity forgets its attempts",
        "services/fusion_backend/core/region_statuses.py",
        "_waits",
        "refused = seen.refused if seen.attempts else None",
        "refused = None",
        (_TRYING,),
    ),
)
