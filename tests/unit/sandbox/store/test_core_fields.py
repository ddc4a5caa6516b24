"""Core kinds are read as Go reads them: fields, types, times, quantities, zeroes."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.store.core_fields import read_kind
from sandbox.store.core_values import READERS, Misread


def read(kind: str, **body: Any) -> dict[str, Any]:
    return read_kind(kind, body, [])


def one(kind: str, value: Any) -> Any:
    return READERS[kind](value, (), [])


def refused(kind: str, value: Any) -> str:
    with pytest.raises(Misread) as raised:
        one(kind, value)
    return str(raised.value)


def test_fields_that_a_kind_does_not_have_are_dropped_and_named_by_their_path() -> None:
    unknown: list[str] = []
    body = {
        "metadata": {"name": "one", "more": 1},
        "spec": {"containers": [{"name": "a", "env": [{"name": "A", "wrong": 1}]}], "extra": {}},
    }
    made = read_kind("Pod", body, unknown)
    assert unknown == ["metadata.more", "spec.containers[0].env[0].wrong", "spec.extra"]
    assert made["spec"] == {"containers": [{"name": "a", "env": [{"name": "A"}], "resources": {}}]}


def test_what_is_zero_is_left_out_unless_it_may_be_said() -> None:
    spec = read(
        "Pod", spec={"hostNetwork": False, "hostname": "", "tolerations": [], "priority": 0}
    )
    assert spec["spec"] == {"priority": 0, "containers": None}


def test_null_says_nothing_and_in_a_map_it_is_zero() -> None:
    assert read("ConfigMap", data={"a": None}, immutable=None)["data"] == {"a": ""}
    assert "immutable" not in read("ConfigMap", immutable=None)


def test_structs_are_written_even_if_nothing_was_reported() -> None:
    assert read("Event") == {
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


@pytest.mark.parametrize(
    ("kind", "body", "found"),
    [
        ("Pod", {"spec": {"hostNetwork": "x"}}, "spec.hostNetwork cannot be of type string"),
        ("Pod", {"spec": {"containers": [1]}}, "spec.containers[0] cannot be of type number"),
        ("Pod", {"spec": {"priority": 1.5}}, "spec.priority cannot be 1.5"),
        ("Pod", {"spec": {"priority": 2**31}}, "spec.priority cannot be 2147483648"),
        ("ConfigMap", {"data": {"a": True}}, "data.a cannot be of type boolean"),
        ("ConfigMap", {"data": []}, "data cannot be of type array"),
        (
            "Service",
            {"spec": {"ports": [{"targetPort": {}}]}},
            "spec.ports[0].targetPort cannot be of type object",
        ),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_field(
    kind: str, body: dict[str, Any], found: str
) -> None:
    with pytest.raises(Misread) as raised:
        read(kind, **body)
    assert str(raised.value) == found


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("0.5", "500m"),
        (1, "1"),
        (0.25, "250m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000Ki", "1000Ki"),
        ("0.1Ki", "102400m"),
        ("1500k", "1500k"),
        ("1e3", "1e3"),
        ("12E6", "12e6"),
        ("1E", "1E"),
        ("-1", "-1"),
        ("0", "0"),
        ("1.0000000001", "1000000001n"),
    ],
)
def test_a_quantity_has_one_form(said: Any, kept: str) -> None:
    assert one("quantity", said) == kept


@pytest.mark.parametrize("said", ["x", "", "1 Gi", True, {}, []])
def test_what_is_no_quantity_is_refused(said: Any) -> None:
    assert refused("quantity", said).endswith(" is no quantity as 100m or 1.5Gi")


@pytest.mark.parametrize("said", ["9e990000", "1e999999", "1" * 10_000, "1e-99999"])
def test_a_quantity_beyond_all_measure_is_refused_and_keeps_nobody_waiting(said: str) -> None:
    """Its digits would be written out one by one."""
    assert refused("quantity", said)


def test_a_long_quantity_is_not_rounded() -> None:
    assert one("quantity", f"{2**100 + 1}") == f"{2**100 + 1}"


@pytest.mark.parametrize("said", ["1Mx1", "1..2", "1Kii"])
def test_a_quantity_with_an_unknown_unit_is_refused(said: str) -> None:
    assert refused("quantity", said)


@pytest.mark.parametrize("said", ["#", "abc", "abcdabc", "ab$d", "YQ=", "YQ==YQ==", "="])
def test_bytes_are_base64(said: str) -> None:
    assert refused("bytes", said)


def test_line_ends_in_base64_are_not_kept() -> None:
    assert one("bytes", "a\nbcd") == "abcd"


@pytest.mark.parametrize(
    ("kind", "said", "kept"),
    [
        ("time", "2026-01-01T00:00:00.5+01:00", "2025-12-31T23:00:00Z"),
        ("time", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("microTime", "2026-01-01T00:00:00.000001-01:00", "2026-01-01T01:00:00.000001Z"),
    ],
)
def test_times_are_kept_in_utc(kind: str, said: str, kept: str) -> None:
    assert one(kind, said) == kept


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("time", "yesterday"),
        ("time", ""),
        ("time", "2026-13-01T00:00:00Z"),
        ("time", "2026-02-30T00:00:00Z"),
        ("time", "2026-01-01T24:00:00Z"),
        ("time", "2026-01-01T00:00:00Zx"),
        ("microTime", "2026-01-01T00:00:00Z"),
    ],
)
def test_what_is_no_time_is_refused(kind: str, said: str) -> None:
    assert refused(kind, said).startswith(f"{said!r} is no time")
