"""Mutants of autoscaling: what is counted of a region, and how its widths come into force."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_COUNTING = "tests/unit/fusion_backend/test_counting.py"
_CHANNELS = "tests/unit/planner/test_channels.py"

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
)
