"""Mutants of what `why` says of launches that end as those before did."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_WHY = ("tests/unit/history/test_why.py",)

MUTANTS = (
    Mutant(
        "why says that an application that cannot be imported is restarted by itself",
        "history/why/of_endings.py",
        "_remedy_of",
        'LASTING.get(found.group(1), "") if found else ""',
        '""',
        _WHY,
    ),
    Mutant(
        "why says of any failure that it never passes",
        "history/why/of_endings.py",
        "_remedy_of",
        'LASTING.get(found.group(1), "")',
        'LASTING.get(found.group(1), "Correct the application")',
        _WHY,
    ),
    Mutant(
        "why says of memory that is used up that nothing is to be done",
        "history/why/of_endings.py",
        "cure_restarting",
        "if not _is_out_of_memory(case, subject):",
        "if case:",
        _WHY,
    ),
)
