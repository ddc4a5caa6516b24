"""Mutants of how regions are named, and of what is shown of a plan."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_NAMES = "tests/unit/planner/test_region_names.py"
_FATES = "tests/unit/planner/test_fates.py"

MUTANTS = (
    Mutant(
        "the end of several names of regions is one of them",
        "planner/application/region_names.py",
        "regions_named",
        "if len(found) > 1:",
        "if False:",
        (_NAMES,),
    ),
    Mutant(
        "a pattern of several regions is one where one is meant",
        "planner/application/region_names.py",
        "region_named",
        "if len(found) > 1:",
        "if False:",
        (_NAMES,),
    ),
    Mutant(
        "a part of a word is the end of a region's name",
        "planner/application/region_names.py",
        "is_end",
        "_ENDS_OF_PARTS.match(before[-1:]) is not None",
        "True",
        (_NAMES,),
    ),
    Mutant(
        "a pattern in a spec wins over the full name of a region",
        "planner/application/submission.py",
        "_requested",
        "max(aliases, key=",
        "min(aliases, key=",
        (_NAMES,),
    ),
    Mutant(
        "the fate of a PE does not depend on its content",
        "planner/fates.py",
        "fates_of",
        "old[pe_id].content_id == new[pe_id].content_id",
        "True",
        (_FATES,),
    ),
    Mutant(
        "operators connected with a resized region are no reason",
        "planner/outline.py",
        "regions_beside",
        "found.setdefault(edge.target, set()).update(across)",
        "pass",
        (_FATES,),
    ),
)
