"""Planted bugs in readers of logs and histories, who change nothing and wait for nothing."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_LOG_FILE = "tests/unit/chassis/log/test_log_file.py"
_ENTRIES = "tests/unit/history/test_entries.py"
_CONCERNING = "tests/unit/history/test_concerning.py"
_FILE = "services/chassis/log/sqlite_file.py"
_SOURCES = "history/sources.py"

MUTANTS = (
    Mutant(
        "a reader removes a damaged log",
        _FILE,
        "LogFile._reopened",
        "if self._reads_only:",
        "if False:",
        (_LOG_FILE, "-k", "leaves_a_damaged_log"),
    ),
    Mutant(
        "a reader makes a log where there is none",
        _FILE,
        "LogFile._make",
        "if self._reads_only:",
        "if False:",
        (_LOG_FILE, "-k", "makes_no_log"),
    ),
    Mutant(
        "a reader refuses the file that its owner replaced",
        _FILE,
        "LogFile._require_another",
        "if _identity(self.path) == seen[0][:2]:",
        "if True:",
        (_LOG_FILE, "-k", "puts_another_file"),
    ),
    Mutant(
        "a reader of an emptied log waits for ever",
        _SOURCES,
        "LogSource._next",
        "if ends[partition] < end or firsts[partition] >= end:",
        "if False:",
        (_ENTRIES, "-k", "is_emptied"),
    ),
    Mutant(
        "records of another life of the log are taken for those before",
        _SOURCES,
        "LogSource.read",
        "if not batch or batch[0].offset < at:",
        "if not batch:",
        (_ENTRIES, "-k", "is_emptied"),
    ),
    Mutant(
        "a placement belongs to no job",
        "history/belonging.py",
        "NAMED_BY_JOB",
        'frozenset({"Placement"})',
        "frozenset({})",
        (_CONCERNING, "-k", "placement_is_of_the_job"),
    ),
    Mutant(
        "a costly decision rests for as long as it took",
        "services/chassis/running/reconciling.py",
        "REST_PER_SPENT",
        "REST_PER_SPENT = 19",
        "REST_PER_SPENT = 1",
        ("tests/unit/chassis/running/test_resting.py", "-k", "many_times"),
    ),
    Mutant(
        "the exceptions of a group are not read",
        "tests/real/rerunning.py",
        "why_of",
        "if (found := _GROUPED.match(line))",
        "if (found := None)",
        ("tests/unit/real/test_rounds.py", "-k", "of_a_group"),
    ),
)
