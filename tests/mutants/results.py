"""Planted bugs in the check of what functions give, and in what a source does that raises."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_RESULTS = ("tests/unit/millrace/test_results.py",)
_FUNCTIONS = ("tests/unit/millrace/test_functions_that_fail.py",)
_SOURCES = ("tests/unit/millrace/test_sources_that_fail.py",)

MUTANTS = (
    Mutant(
        "half of a character is taken for a text",
        "millrace/runtime/exact_types.py",
        "_encodes",
        "return False",
        "return True",
        _RESULTS,
    ),
    Mutant(
        "elements of a list are not looked at",
        "millrace/runtime/exact_types.py",
        "_Writing._each",
        'test = self._value("e", "e", type_, bytes_max)',
        'test = "True"',
        _RESULTS,
    ),
    Mutant(
        "a dict passes for a dataclass",
        "millrace/runtime/checking.py",
        "Checker._problem",
        '(self.type.access == "item") != isinstance(result, Mapping)',
        "False",
        _RESULTS,
    ),
    Mutant(
        "the wrong attribute is blamed",
        "millrace/runtime/checking.py",
        "Checker._wrong_attribute",
        'place["attribute"] == attribute.name',
        "place",
        _RESULTS,
    ),
    Mutant(
        "attributes of later tuples are never looked at again",
        "millrace/runtime/checking.py",
        "Checker._is_due",
        "self._batches % BATCHES == 0",
        "False",
        _RESULTS,
    ),
    Mutant(
        "what leaves the PE is checked in samples",
        "millrace/runtime/assembling.py",
        "_Assembly._leaves",
        "return True",
        "return False",
        _RESULTS,
    ),
    Mutant(
        "a coroutine counts as true",
        "millrace/runtime/checking.py",
        "is_true",
        "problem := never_run(flag)",
        "problem := None",
        _FUNCTIONS,
    ),
    Mutant(
        "a sink whose body nobody runs is well",
        "millrace/runtime/operators.py",
        "PlainExecution._sink",
        "ended(result)",
        "pass",
        _FUNCTIONS,
    ),
    Mutant(
        "SystemExit of a function ends the process without a word",
        "millrace/runtime/operators.py",
        "PlainExecution.process",
        "except BaseException as raised",
        "except Exception as raised",
        _FUNCTIONS,
    ),
    Mutant(
        "CancelledError of an async function stops the stream",
        "millrace/runtime/raising.py",
        "raised_by_the_author",
        "return (Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError)",
        "return (Exception, SystemExit, KeyboardInterrupt)",
        _FUNCTIONS,
    ),
    Mutant(
        "a function of a state is accepted without one",
        "millrace/building.py",
        "_check_arguments",
        "len(needed) <= len(gets)",
        "True",
        _FUNCTIONS,
    ),
    Mutant(
        "a source catches what comes from behind it",
        "millrace/runtime/nodes.py",
        "SourceNode.run",
        "except SourceRaised as raised:",
        "except Exception as raised:",
        _SOURCES,
    ),
    Mutant(
        "a source with state that raised is not begun again",
        "millrace/runtime/raising.py",
        "going_on",
        "again = begin if has_state else None",
        "again = None",
        _SOURCES,
    ),
)
