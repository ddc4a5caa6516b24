"""Planted bugs in which values a connection and a store carry."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_VALUES = ("tests/unit/millrace/test_values_are_the_same.py", "-x")

MUTANTS = (
    Mutant(
        "Required in a TypedDict with moments ends the graph",
        "millrace/codecs.py",
        "_packed_hint",
        "return _of_value(type_.hint)",
        "return type_.hint",
        (*_VALUES, "-k", "annotations_and_new"),
    ),
    Mutant(
        "an author's __new__ makes an object again",
        "millrace/remaking.py",
        "remade",
        "_new_of(class_)(class_)",
        "class_.__new__(class_)",
        (*_VALUES, "-k", "restart or annotations_and_new"),
    ),
    Mutant(
        "a TypedDict with moments comes back in another order",
        "millrace/codecs.py",
        "_unpacking_tuple",
        "for n, each in found.items()",
        "for n, each in sorted(found.items())",
        (*_VALUES, "-k", "annotations_and_new"),
    ),
    Mutant(
        "a zone of a file is looked for by its key",
        "millrace/converting.py",
        "is_keyed",
        " and _is_found(zone.key)",
        "",
        (*_VALUES, "-k", "does_not_find"),
    ),
    Mutant(
        "the name of a zone may have half a character",
        "millrace/runtime/exact_types.py",
        "_is_kept",
        "all(map(_encodes, names))",
        "True",
        (*_VALUES, "-k", "half_a_character"),
    ),
    Mutant(
        "a type that no connection carries is met by a PE",
        "millrace/codecs.py",
        "carried_type",
        "Codec(type_.value)",
        "pass",
        (*_VALUES, "-k", "no_connection"),
    ),
    Mutant(
        "an int for a float deep in a state is refused",
        "millrace/converting.py",
        "converted",
        "_tuple(value, _around(type_.python), rules)",
        "value",
        (*_VALUES, "-k", "within_itself"),
    ),
)
