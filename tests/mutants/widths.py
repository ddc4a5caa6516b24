"""Mutants of the limit of a width, one number for all, and of the columns of regions."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_LIMIT = (
    "tests/unit/planner/test_submission.py",
    "-k",
    "test_schema_planner_and_command_have_one_limit_of_widths",
)

MUTANTS = (
    Mutant(
        "autoscalers find no selector in the scale of a region",
        "contracts/resources/parallel_region.py",
        "PARALLEL_REGION",
        'label_selector_path=".status.selector"',
        'label_selector_path=""',
        ("tests/unit/contracts/resources/test_autoscaling_page.py",),
    ),
    Mutant(
        "a region has no column of its status",
        "contracts/resources/parallel_region.py",
        "PARALLEL_REGION",
        "        STATUS_COLUMN,\n",
        "",
        (
            "tests/unit/contracts/resources/test_definitions.py",
            "-k",
            "test_every_kind_has_a_column_status",
        ),
    ),
    Mutant(
        "the schema takes a width that is never planned",
        "contracts/resources/parallel_region.py",
        "ParallelRegionSpec",
        "le=WIDTH_MAX",
        "le=2**31 - 1",
        _LIMIT,
    ),
    Mutant(
        "the command takes a width that the API refuses",
        "cli/jobs.py",
        "region_width_of",
        "abs(int(width)) > WIDTH_MAX",
        "abs(int(width)) > NUMBER_MAX",
        _LIMIT,
    ),
)
