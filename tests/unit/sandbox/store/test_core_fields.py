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
        ("Pod", {"spec": {"hostNetwork": "x"}}, "string into Go struct field spec.hostNetwork"),
        ("Pod", {"spec": {"containers": [1]}}, "number into Go struct field spec.containers[0]"),
        ("Pod", {"spec": {"priority": 1.5}}, "number 1.5 into Go struct field spec.priority"),
        ("Pod", {"spec": {"priority": 2**31}}, "number 2147483648 into"),
        ("ConfigMap", {"data": {"a": True}}, "bool into Go struct field data.a"),
        ("ConfigMap", {"data": []}, "array into Go struct field data"),
        ("Service", {"spec": {"ports": [{"targetPort": {}}]}}, "object into"),
    ],
)
def test_a_value_of_another_type_is_refused_in_the_words_of_go(
    kind: str, body: dict[str, Any], found: str
) -> None:
    with pytest.raises(Misread, match=r"^json: cannot unmarshal ") as raised:
        read(kind, **body)
    assert found in str(raised.value)


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
    assert refused("quantity", said).startswith("quantities must match the regular expression")


@pytest.mark.parametrize("said", ["9e990000", "1e999999", "1" * 10_000, "1e-99999"])
def test_a_quantity_beyond_all_measure_is_refused_and_keeps_nobody_waiting(said: str) -> None:
    """Its digits would be written out one by one."""
    assert refused("quantity", said)


def test_a_long_quantity_is_not_rounded() -> None:
    assert one("quantity", f"{2**100 + 1}") == f"{2**100 + 1}"


@pytest.mark.parametrize("said", ["1Mx1", "1..2", "1Kii"])
def test_a_quantity_with_an_unknown_unit_is_refused(said: str) -> None:
    assert refused("quantity", said)


@pytest.mark.parametrize(
    ("said", "byte"),
    [("#", 0), ("abc", 0), ("abcdabc", 4), ("ab$d", 2), ("YQ=", 3), ("YQ==YQ==", 4), ("=", 0)],
)
def test_bytes_are_base64_and_the_first_wrong_one_is_named(said: str, byte: int) -> None:
    assert refused("bytes", said) == f"illegal base64 data at input byte {byte}"


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
    ("kind", "said", "why"),
    [
        (
            "time",
            "yesterday",
            ' as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
        ("time", "", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("time", "2026-13-01T00:00:00Z", ": month out of range"),
        ("time", "2026-02-30T00:00:00Z", ": day out of range"),
        ("time", "2026-01-01T00:00:00Zx", ': extra text: "x"'),
        (
            "microTime",
            "2026-01-01T00:00:00Z",
            ' as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
        ),
    ],
)
def test_what_is_no_time_is_refused_as_go_does(kind: str, said: str, why: str) -> None:
    assert refused(kind, said) == f'parsing time "{said}"{why}'
