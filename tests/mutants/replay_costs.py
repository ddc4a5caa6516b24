"""Planted bugs in what makes facts cheap: values of indexes are kept."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_INDEXING = "services/chassis/table/indexing.py"
_TABLE = "tests/unit/chassis/table/test_table.py"

MUTANTS = (
    Mutant(
        "an entry whose value changed stays under the old one",
        _INDEXING,
        "Indexed.replace",
        "if [bucket.place for bucket in buckets] != places:",
        "if False:",
        (_TABLE, "-k", "moves_with_its_value"),
    ),
    Mutant(
        "an index keeps the version of an object that it saw first",
        _INDEXING,
        "Indexed.replace",
        "bucket.entries[ref] = entry",
        "pass",
        (_TABLE, "-k", "newest_version"),
    ),
    Mutant(
        "an index of one kind sees every kind",
        _INDEXING,
        "Indexed.places_of",
        "if not isinstance(index, KindIndex) or index.kind == kind",
        "if True",
        (_TABLE, "-k", "that_kind_only"),
    ),
)
