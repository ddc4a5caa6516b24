"""Planted bugs in what makes facts cheap: values of indexes are kept."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_INDEXING = "services/chassis/table/indexing.py"
_TABLE = "tests/unit/chassis/table/test_table.py"
_EFFECTS = "tests/unit/chassis/running/test_effects_recorded.py"

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
        (_TABLE, "-k", "sees_that_kind_only"),
    ),
    Mutant(
        "equal effects are recorded as different ones",
        "services/chassis/running/decision_log.py",
        "effects_recorded",
        "dict.fromkeys(texts.values())",
        "texts.values()",
        (_EFFECTS, "-k", "counts_once"),
    ),
    Mutant(
        "effects of two types with the same fields are recorded as one",
        "services/chassis/running/decision_log.py",
        "effects_recorded",
        "(type(effect), canonical_bytes(effect))",
        "(None, canonical_bytes(effect))",
        (_EFFECTS, "-k", "counts_once"),
    ),
)
