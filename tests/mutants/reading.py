"""Mutants of reading: what the API server and the log say, and what of it cannot be read."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/chassis"
_LIES = "tests/unit/chassis/table/test_lies.py"
_UNREADABLE = "tests/unit/chassis/table/test_unreadable.py"
_SALVAGING = "tests/unit/chassis/kube/test_salvaging.py"

MUTANTS = (
    Mutant(
        "one item that nests too deep costs the whole list",
        "services/chassis/kube/salvaging.py",
        "read_list",
        "return [_item(outline, span) for span in spans], metadata",
        "return [orjson.loads(outline.text_of(span)) for span in spans], metadata",
        (_SALVAGING,),
    ),
    Mutant(
        "managed fields that nest too deep make an object unreadable",
        "services/chassis/kube/salvaging.py",
        "_metadata",
        'managed = members.pop(b"managedFields", None)',
        'managed = members.get(b"managedFields")',
        (_SALVAGING,),
    ),
    Mutant(
        "managed fields that are too large leave no mark in an answer",
        "services/chassis/kube/salvaging.py",
        "_lean",
        "if managed and _is_too_large(managed):",
        "if False:",
        (_SALVAGING,),
    ),
    Mutant(
        "a fact may name an object as no object can be named",
        "contracts/facts.py",
        "_is_root_or_empty",
        "not text or is_root_key(text)",
        "True",
        (_LIES,),
    ),
    Mutant(
        "large managed fields are hidden by a spec that nests too deep",
        "services/chassis/kube/salvaging.py",
        "_salvaged",
        "return _lean(found)",
        "return found",
        (_SALVAGING,),
    ),
    Mutant(
        "a backslash before a quote is not looked at",
        "services/chassis/kube/salvaging.py",
        "_Outline._is_in_string",
        "is_quote[1:] &= backslashes % 2 == 0",
        "is_quote[1:] &= backslashes == 0",
        (_SALVAGING,),
    ),
    Mutant(
        "a part that cannot be read counts as empty",
        "contracts/unreadable.py",
        "Unreadable.__bool__",
        "def __bool__(self) -> bool:\n    return True",
        "def __bool__(self) -> bool:\n    return False",
        (_UNREADABLE,),
    ),
    Mutant(
        "numbers beyond all measure are believed",
        "contracts/facts.py",
        "_number",
        "if type(value) is not int or not 0 <= value <= NUMBER_MAX:",
        "if type(value) is not int:",
        (_LIES,),
    ),
)
