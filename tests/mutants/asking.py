"""Mutants of what the command shows of a running job, and of what it changes."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_DESCRIBING = "tests/unit/cli/test_describing.py"
_VIEWS = "tests/unit/cli/test_views.py"
_RESTARTING = "tests/unit/cli/test_restarting.py"

MUTANTS = (
    Mutant(
        "get hides a refused edit",
        "cli/describing.py",
        "notes_of",
        "if is_worth and reason",
        "if False and reason",
        (_DESCRIBING,),
    ),
    Mutant(
        "a job that has no status yet ends get with a traceback",
        "cli/describing.py",
        "_conditions",
        'obj.get("status") if',
        'obj["status"] if',
        (_DESCRIBING,),
    ),
    Mutant(
        "get hides misspelled values",
        "cli/inspecting.py",
        "lines_of_warnings",
        "map(warned_of, warnings)",
        "map(warned_of, ())",
        (_DESCRIBING,),
    ),
    Mutant(
        "a stopped PE has the phase of its pod in get",
        "cli/live.py",
        "_phase",
        'return recorded if recorded not in ("", "Running") else "Failed"',
        'return "Failed"',
        (_DESCRIBING,),
    ),
    Mutant(
        "logs of the launch before are those of the newest",
        "cli/live.py",
        "_pe",
        'pods[-2]["metadata"]',
        'pods[-1]["metadata"]',
        (_VIEWS,),
    ),
    Mutant(
        "get does not count a PE that somebody deleted",
        "cli/live.py",
        "JobView.planned",
        "self.pes.keys() | self.deleted_pes",
        "self.pes.keys()",
        (_VIEWS,),
    ),
    Mutant(
        "events of pods that are gone are left out",
        "cli/inspecting.py",
        "is_event_of",
        "return is_pod and any(",
        "return False and any(",
        (_DESCRIBING,),
    ),
    Mutant(
        "a refused width is not taken back by scale",
        "cli/jobs.py",
        "has_width",
        'region["spec"]["width"] == in_force == width',
        "in_force == width",
        (_RESTARTING,),
    ),
    Mutant(
        "many warnings hide that streams between jobs are not connected",
        "services/fusion_backend/core/recording.py",
        "kept_warnings",
        "(*others[: WARNINGS_MAX - len(named)], *named)",
        "tuple(warnings)[:WARNINGS_MAX]",
        ("tests/unit/fusion_backend/test_warnings.py",),
    ),
)
