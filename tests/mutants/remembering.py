"""Mutants of what is remembered of children."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/fusion_backend/core"
_TESTS = ("tests/unit/fusion_backend/test_remembering.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a child that was as planned counts so for ever, by its name",
        f"{_CORE}/remembering.py",
        "Remembered.among",
        "(at := id(each)) in known or holds(each)",
        "(at := id(each)) in known or each.name in {k.name for k in known.values()} or holds(each)",
        _TESTS,
    ),
    Mutant(
        "labels that were right for one Job count as right for the next of its name",
        f"{_CORE}/remembering.py",
        "Remembered.among",
        "self._held if about == self._about else {}",
        "self._held",
        _TESTS,
    ),
    Mutant(
        "a PE that is being deleted is remembered as it was planned",
        f"{_CORE}/membership.py",
        "_Search._is_as_planned",
        "or is_deleting(entry)",
        "",
        _TESTS,
    ),
    Mutant(
        "a PE that gets another share is not compared",
        f"{_CORE}/membership.py",
        "_Search.compare_pes",
        " or pe.name in self._other_shares",
        "",
        _TESTS,
    ),
    Mutant(
        "a PE that needs redis since an edit is not noticed",
        f"{_CORE}/provisions_due.py",
        "_is_plain",
        "required_redis(spec) is None and ",
        "",
        _TESTS,
    ),
)
