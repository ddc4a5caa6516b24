"""Mutants of shares of resources that come in units."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_DIVIDING = ("tests/unit/fusion_backend/test_dividing.py",)
_SIZING = ("tests/unit/fusion_backend/test_sizing.py",)

MUTANTS = (
    Mutant(
        "a PE gets a part of a huge page",
        "services/fusion_backend/core/spec/dividing.py",
        "unit_of",
        "return page.value if page is not None and page.value >= 1 else Decimal(1)",
        "return Decimal(1) if page is not None else None",
        _DIVIDING,
    ),
    Mutant(
        "PEs that a resize adds get parts of huge pages",
        "services/fusion_backend/core/shares.py",
        "Shares._left",
        "unit_of(name) or Decimal(1)",
        "Decimal(1)",
        _DIVIDING,
    ),
    Mutant(
        "more PEs than devices are planned",
        "services/fusion_backend/adapters/planner.py",
        "run_task",
        " or refusal_of_units(shared, pes)",
        "",
        _SIZING,
    ),
    Mutant(
        "an edit may leave fewer devices than PEs",
        "services/fusion_backend/core/spec/editing.py",
        "_refusal_of_template",
        "refused or refusal_of_units(orjson.loads(template), pes)",
        "refused",
        _SIZING,
    ),
)
