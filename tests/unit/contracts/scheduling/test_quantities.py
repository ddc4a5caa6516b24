"""Quantities of Kubernetes are read exactly, and what no resource may be is none."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from contracts.scheduling.quantities import QUANTITY_PATTERN, quantity_of


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (2, "2"),
        ("0.5", "0.5"),
        ("500m", "0.5"),
        ("3u", "0.000003"),
        ("7n", "0.000000007"),
        ("1k", "1000"),
        ("1.5M", "1500000"),
        ("2E", "2000000000000000000"),
        ("2E1", "20"),
        ("1e3", "1000"),
        ("1Ki", "1024"),
        ("0.5Gi", "536870912"),
        ("9" * 99 + "Ei", str(int("9" * 99) * 1024**6)),
    ],
)
def test_a_quantity_that_custom_resources_take_has_an_exact_value(
    written: str | int, value: str
) -> None:
    assert re.search(QUANTITY_PATTERN, str(written))
    found = quantity_of(written)
    assert found is not None
    assert found.value == Decimal(value)


def test_a_capital_k_is_a_thousand_as_many_write_it_but_custom_resources_refuse_it() -> None:
    found = quantity_of("3K")
    assert found is not None
    assert found.value == 3000
    assert found.suffix == "K"
    assert not re.search(QUANTITY_PATTERN, "3K")


@pytest.mark.parametrize(
    "written",
    ["", "Gi", "-1", "+1", ".5", "5.", "1 Gi", "1ki", "1mi", "1e3Gi", "1\n", "\u0663", True, None],
)
def test_what_is_no_quantity_is_none(written: object) -> None:
    assert quantity_of(written) is None


@pytest.mark.parametrize("written", ["9" * 100, "0." + "1" * 100, "1e100"])
def test_what_has_more_digits_than_any_resource_is_none(written: str) -> None:
    """Custom resources take it; nothing is reckoned with it."""
    assert re.search(QUANTITY_PATTERN, written)
    assert quantity_of(written) is None
