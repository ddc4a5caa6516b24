"""Mutants of the table of a service: what enters it, and what an older or false record changes."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_LIES = "tests/unit/chassis/table/test_lies.py"
_TABLE = "tests/unit/chassis/table/test_table.py"

MUTANTS = (
    Mutant(
        "epochs are ignored",
        "services/chassis/table/epochs.py",
        "Epochs.admit",
        "if highest is not None and order < Order.of(highest):",
        "if False:",
        (_TABLE,),
    ),
    Mutant(
        "another cluster does not empty the table",
        "services/chassis/table/epochs.py",
        "Epochs.admit",
        "Verdict.OTHER_CLUSTER if self._cluster_uid else Verdict.TAKE",
        "Verdict.TAKE",
        (_TABLE,),
    ),
    Mutant(
        "a fact of the past replaces what is known",
        "services/chassis/table/table.py",
        "Table._place",
        "if same and not _replaces(entry, old, corrects=corrects):",
        "if False:",
        (_TABLE,),
    ),
    Mutant(
        "an answer of the API server in a version that is known corrects nothing",
        "services/chassis/table/table.py",
        "Table.observe",
        "corrects=True",
        "corrects=False",
        (_LIES, "-k", "an_answer_in_the_same_version"),
    ),
    Mutant(
        "a list that comes again corrects nothing",
        "services/chassis/table/table.py",
        "Table._apply_presence",
        "is_relisted = row is not None",
        "is_relisted = False and row is not None",
        (_LIES, "-k", "a_later_list"),
    ),
    Mutant(
        "any record in a version that is known replaces what is known",
        "services/chassis/table/table.py",
        "Table._apply_presence",
        "row.order < order",
        "row.order <= order",
        (_LIES, "-k", "says_nothing"),
    ),
    Mutant(
        "a record replaces the answer that it confirms",
        "services/chassis/table/table.py",
        "Table._apply_presence",
        "is_relisted = row is not None and row.order is not None and row.order < order",
        "is_relisted = row is not None and (row.order is None or row.order < order)",
        (_LIES, "-k", "counts_more"),
    ),
    Mutant(
        "a record without what readers rest on is taken",
        "contracts/facts.py",
        "_check_form",
        "if missing := _FEWER.get(kind, _FORMS.keys()) - seen.keys():",
        "if missing := frozenset[str]():",
        (_LIES, "-k", "rest_on"),
    ),
    Mutant(
        "an owner without a uid is taken",
        "contracts/facts.py",
        "_check_form",
        "if any(type(owner.get(name)) is not form for name, form in _OWNER.items()):",
        "if not owner:",
        (_LIES, "-k", "rest_on"),
    ),
    Mutant(
        "a view does not see that an object left the table",
        "services/chassis/table/table.py",
        "Table._remove",
        "self._note_changed(entry)",
        "pass",
        ("tests/unit/chassis/table/test_viewing.py",),
    ),
    Mutant(
        "a record that comes again moves the position back",
        "services/chassis/running/observations.py",
        "Observations.note_read",
        "if offset < self._offsets.get(name, 0):",
        "if False:",
        ("tests/unit/chassis/running/test_observations.py", "-k", "comes_again"),
    ),
    Mutant(
        "deletions that nobody saw are never found",
        "services/chassis/table/table.py",
        "Table._sweep",
        "if row.partition == partition and row.order < order:",
        "if False:",
        (_TABLE,),
    ),
    Mutant(
        "an own write is swept by a list that began before it",
        "services/chassis/table/table.py",
        "LISTS_OUTLIVED_MAX",
        "LISTS_OUTLIVED_MAX = 2",
        "LISTS_OUTLIVED_MAX = 1",
        (_TABLE,),
    ),
    Mutant(
        "what is gone comes back by a late fact",
        "services/chassis/table/tombstones.py",
        "Tombstones.holds",
        "return known is not None and (known.version is None",
        "return False and (known is None",
        (_TABLE,),
    ),
    Mutant(
        "a false deletion outranks a look at the API server",
        "services/chassis/table/tombstones.py",
        "Tombstones.exhume",
        "if known is not None and known.at <= read_at:",
        "if False:",
        (_LIES,),
    ),
    Mutant(
        "the late answer of a GET outranks a deletion",
        "services/chassis/table/tombstones.py",
        "Tombstones.exhume",
        "if known is not None and known.at <= read_at:",
        "if known is not None:",
        (_LIES,),
    ),
)
