"""Protobuf bodies: what kubectl sends for the kinds that it has types for."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sandbox.http.protobuf import PROTOBUF, sent_object
from sandbox.store.errors import ApiError
from tests.unit.sandbox.http.asking import CONFIG_MAPS, WIDGETS, Asker

# `kubectl create namespace b`, as kubectl 1.32 put it on the wire.
NAMESPACE = bytes.fromhex(
    "6b3873000a0f0a02763112094e616d6573706163651219"
    "0a110a016212001a0022002a00320038004200"
    "12001a020a00"
    "1a002200"
)
SERVICES = "/api/v1/namespaces/default/services"


def varint(number: int) -> bytes:
    """A number as the wire has it; negative ones take ten bytes."""
    number &= (1 << 64) - 1
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Fields by number: numbers as varints, the rest with its length."""
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += varint(number << 3) + varint(value)
            continue
        sent = value.encode() if isinstance(value, str) else value
        made += varint(number << 3 | 2) + varint(len(sent)) + sent
    return made


def envelope(kind: str, raw: bytes, version: str = "v1") -> bytes:
    return b"k8s\0" + message((1, message((1, version), (2, kind))), (2, raw), (3, ""), (4, ""))


def sent(asker: Asker, path: str, body: bytes) -> Any:
    return asker.json("POST", path, body, content_type=PROTOBUF)


def test_a_namespace_that_kubectl_creates_by_its_name_is_created(asker: Asker) -> None:
    assert sent(asker, "/api/v1/namespaces", NAMESPACE)["metadata"]["name"] == "b"
    assert asker.json("GET", "/api/v1/namespaces/b")["status"] == {"phase": "Active"}


def test_maps_of_text_and_of_bytes_are_what_json_would_say() -> None:
    raw = message(
        (1, message((1, "c"), (11, message((1, "app"), (2, "x"))))),
        (2, message((1, "k"), (2, "v"))),
        (2, message((1, "empty"), (2, ""))),
        (3, message((1, "b"), (2, b"\x00\xff"))),
        (4, 0),
    )
    assert sent_object(envelope("ConfigMap", raw), "") == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "labels": {"app": "x"}},
        "data": {"k": "v", "empty": ""},
        "binaryData": {"b": base64.b64encode(b"\x00\xff").decode()},
        "immutable": False,
    }


def test_what_go_would_leave_out_of_json_is_left_out() -> None:
    port = message((1, ""), (2, "TCP"), (3, 80), (4, message((1, 1), (2, 0), (3, "http"))), (5, 0))
    raw = message((1, message((1, "s"), (8, b""))), (2, message((1, port), (13, 0))))
    assert sent_object(envelope("Service", raw), "")["spec"] == {
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": "http"}]
    }


def test_pointers_to_zero_and_negative_numbers_survive() -> None:
    options = message((1, -1), (5, "All"))
    raw = message((1, message((1, "p"))), (2, options))
    said = sent_object(envelope("Eviction", raw, "policy/v1"), "")
    assert said["deleteOptions"] == {"gracePeriodSeconds": -1, "dryRun": ["All"]}
    raw = message((1, message((1, "p"))), (2, message((1, 0))))
    assert sent_object(envelope("Eviction", raw), "")["deleteOptions"] == {"gracePeriodSeconds": 0}


def test_times_are_reported_with_the_precision_of_their_kind() -> None:
    moment = message((1, 1_600_000_000), (2, 123_456_789))
    raw = message((6, moment), (10, moment))
    said = sent_object(envelope("Event", raw), "")
    assert said["firstTimestamp"] == "2020-09-13T12:26:40Z"
    assert said["eventTime"] == "2020-09-13T12:26:40.123456Z"


def test_a_time_of_another_age_is_refused() -> None:
    raw = message((6, message((1, 1 << 60))))
    with pytest.raises(ApiError, match="years 1 to 9999"):
        sent_object(envelope("Event", raw), "")


def test_an_autoscaler_is_read_in_both_versions(asker: Asker) -> None:
    """As `kubectl autoscale` writes it: before 1.33 in v1, from then on in v2."""
    target = (1, message((1, "ParallelRegion"), (2, "one"), (3, "streams.ibm.com/v1")))
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    goal = message((1, "AverageValue"), (3, message((1, "400m"))))
    metric = message((1, "Resource"), (4, message((1, "cpu"), (2, goal))))
    goals: dict[str, int | bytes] = {"v1": 70, "v2": metric}
    made = {}
    for version, goal_of_spec in goals.items():
        spec = message(target, (2, 2), (3, 8), (4, goal_of_spec))
        raw = message((1, message((1, version))), (2, spec))
        body = envelope("HorizontalPodAutoscaler", raw, f"autoscaling/{version}")
        made[version] = sent(asker, path.format(version), body)["spec"]
    assert made["v1"]["targetCPUUtilizationPercentage"] == 70
    target_of_v2 = made["v2"]["metrics"][0]["resource"]["target"]
    assert target_of_v2 == {"type": "AverageValue", "averageValue": "400m"}
    assert {each["minReplicas"] for each in made.values()} == {2}


def test_a_service_comes_back_as_json_with_its_defaults(asker: Asker) -> None:
    port = message((2, "TCP"), (3, 80), (4, message((1, 0), (2, 8080))))
    raw = message((1, message((1, "s"))), (2, message((1, port), (4, "ClusterIP"))))
    answer = sent(asker, SERVICES, envelope("Service", raw))
    assert answer["spec"]["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 8080}]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{}", b"k8s\0", b"k8s\0\x0a\xff", b"k8s\0\x0a", b"k8s\0\x0b"),
        b"k8s\0" + b"\xff" * 11,
        envelope("Namespace", message((1, message((1, b"\xff"))))),
        envelope("Namespace", message((1, 5))),
    ],
)
def test_fields_of_another_type_are_refused(asker: Asker, body: bytes) -> None:
    answer = asker.ask("POST", "/api/v1/namespaces", body, content_type=PROTOBUF)
    assert answer.status == 400


def test_custom_resources_take_no_protobuf(with_widgets: Asker) -> None:
    answer = with_widgets.ask("POST", WIDGETS, NAMESPACE, content_type=PROTOBUF)
    assert answer.status == 415


def test_a_kind_without_a_table_is_refused_as_a_media_type() -> None:
    with pytest.raises(ApiError) as refused:
        sent_object(envelope("Deployment", b"", "apps/v1"), "")
    assert refused.value.code == 415


def test_a_body_of_another_kind_is_refused_as_json_is(asker: Asker) -> None:
    answer = asker.ask("POST", CONFIG_MAPS, NAMESPACE, content_type=PROTOBUF)
    assert answer.status == 400
