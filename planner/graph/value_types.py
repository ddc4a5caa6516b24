"""Refuses submission-time values that are not of the type that an operator's argument has.

An operator says so in the annotation `millraceValues`, which millrace's own ADLs have: the key is
the index of a submission-time value. Otherwise its PE would find out, once it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from planner.application.submission import SubmissionValues, refuse_values, unquoted
from planner.graph.topology import Operator

VALUES: Final = "millraceValues"


def _flag(text: str) -> None:
    if text.lower() not in ("true", "false"):
        raise ValueError


_READ: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "int64": ("a whole number", int),
    "float64": ("a number", float),
    "boolean": ("true or false", _flag),
}


def refuse_wrong_types(operators: Iterable[Operator], values: SubmissionValues) -> None:
    """Raise PlanRefused (SUBMISSION_VALUE_INVALID) for values of another type, all at once."""
    types = {
        int(entry.key): entry.type
        for operator in operators
        for annotation in operator.item.annotations
        if annotation.tag == VALUES
        for entry in annotation.entries
        if entry.key.isdecimal()
    }
    faults: list[tuple[str, object, str]] = []
    for index, type_ in sorted(types.items()):
        literal = values.literals.get(index)
        if literal is None or type_ not in _READ:
            continue
        what, read = _READ[type_]
        text = unquoted(literal)
        try:
            read(text)
        except ValueError:
            name = values.fields[index].rpartition(".")[2]
            faults.append((name, text, f"is {text!r}, and has to be {what}"))
    if faults:
        refuse_values(faults)
