"""Memory of a pod is in whole bytes; values that already are do not change."""

from __future__ import annotations

import pytest

from services.pod_state_machine.core.rounding import in_whole_bytes


@pytest.mark.parametrize(
    ("written", "in_pod"),
    [
        ("21.333Gi", "22906134332"),
        ("1500m", "2"),
        ("0.333Ki", "341"),
        ("333.333", "334"),
        ("1n", "1"),
        ("128Mi", "128Mi"),
        ("0.5Gi", "0.5Gi"),
        ("1.5k", "1.5k"),
        ("1e3", "1e3"),
        ("2000m", "2000m"),
        ("1.0005K", "1.0005K"),
        ("9" * 99 + ".5", "1" + "0" * 99),
        (7, 7),
        ("lots", "lots"),
    ],
)
def test_memory_is_rounded_up_to_bytes(written: str | int, in_pod: str | int) -> None:
    for name in ("memory", "ephemeral-storage"):
        assert in_whole_bytes({"limits": {name: written}}) == {"limits": {name: in_pod}}


def test_cpu_stays_in_thousandths() -> None:
    resources = {"requests": {"cpu": "0.333", "memory": "1Gi"}}
    assert in_whole_bytes(resources) == resources
