"""Values and manifests: what is filled in, and what is refused with its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.failing import Misused
from cli.installing.filling import manifest_of, values_of_files, wanted_of
from cli.installing.profiles import PROFILES

Json = dict[str, Any]


def chosen(tmp_path: Path, values: Json, profile: str = "cluster") -> Json:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return values_of_files(profile, [file])


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_in_a_manifest_is_left_open(profile: str) -> None:
    brokers = "" if profile == "trial" else "kafka:9092"
    values = {"kafka.caSecret": "kafka-ca"} if profile == "secured" else {}
    wanted = wanted_of(profile, "streams", image="r/m:1", brokers=brokers, values=values)
    manifest = [each for each in manifest_of(wanted) if each["kind"] != "CustomResourceDefinition"]
    text = yaml.safe_dump_all(manifest)
    assert not any(mark in text for mark in ("<", "65533", "OF_VALUES", "namespace-of"))
    assert {each["metadata"].get("namespace", "streams") for each in manifest} == {"streams"}


def test_every_broker_s_port_is_allowed_once() -> None:
    wanted = wanted_of("cluster", "n", image="r/m:1", brokers="a:9092,b:9093,c:9093", values={})
    policy = next(each for each in manifest_of(wanted) if each["kind"] == "NetworkPolicy")
    kafka = policy["spec"]["egress"][1]["ports"]
    assert kafka == [{"protocol": "TCP", "port": port} for port in (9092, 9093)]


def test_settings_of_a_service_become_its_environment(tmp_path: Path) -> None:
    env = {"MILLRACE_ALLOW_PTRACE": False, "MILLRACE_WIDTH_MAX": 10}
    values = chosen(tmp_path, {"services": {"fusion-backend": {"env": env}}})
    wanted = wanted_of("cluster", "n", image="r/m:1", brokers="k:1", values=values)
    backend = next(
        each
        for each in manifest_of(wanted)
        if each["kind"] == "Deployment" and each["metadata"]["name"] == "millrace-fusion-backend"
    )
    found = {
        each["name"]: each.get("value")
        for each in backend["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    assert found["MILLRACE_ALLOW_PTRACE"] == "false"
    assert found["MILLRACE_WIDTH_MAX"] == "10"
    assert found["MILLRACE_PLANNER_MEMORY_BYTES_MAX"] == "1610612736", "the chart's own stays"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"replicas": 2}, "replicas is no value of the chart"),
        ({"namespaces": ["a"]}, "namespaces is [] in the profile cluster"),
        ({"kafka": {"protocol": "SSL"}}, "kafka.protocol is 'PLAINTEXT' in the profile cluster"),
        ({"services": {"watch-ingest": {"replicas": "two"}}}, "services.watch-ingest.replicas"),
        ({"services": {"watch-ingest": {"env": {"MILLRACE_TYPO": 1}}}}, "env.MILLRACE_TYPO is no"),
        ({"services": {"watch-ingest": 2}}, "services.watch-ingest is 2, and has to be a map"),
        ({"logLevel": "LOUD"}, "logLevel is 'LOUD', and has to be one of DEBUG"),
    ],
)
def test_values_that_the_manifest_cannot_follow_are_refused(
    tmp_path: Path, values: Json, words: str
) -> None:
    with pytest.raises(Misused) as refused:
        chosen(tmp_path, values)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "is not a map of values"),
        ("podAnnotations: &all {a: *all}", "Circular reference"),
        ("services: {watch-ingest: {affinity: {since: 2026-01-01}}}", "date is not JSON"),
        ("services: {watch-ingest: {env: {MILLRACE_RESYNC_S: .inf}}}", "not JSON compliant"),
        ('kafka: {bootstrapServers: "k:1\\n"}', "bootstrapServers is 'k:1\\n'"),
    ],
)
def test_a_file_that_is_no_map_of_plain_values_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    with pytest.raises(Misused) as refused:
        values_of_files("cluster", [file])
    assert words in str(refused.value)


def test_keys_that_yaml_takes_for_numbers_are_text(tmp_path: Path) -> None:
    """The inventory could not be written with keys of both kinds."""
    file = tmp_path / "values.yaml"
    file.write_text("podAnnotations: {1: one, two: two}")
    assert values_of_files("cluster", [file]) == {"podAnnotations": {"1": "one", "two": "two"}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": ""}, "--image is needed"),
        ({"image": "registry:5000/millrace"}, "has no tag"),
        ({"brokers": "kafka"}, "--brokers 'kafka' is not HOST:PORT"),
        ({"brokers": ""}, "--brokers is needed"),
        ({"profile": "secured"}, "needs the value kafka.caSecret"),
        ({"brokers": "", "image": ""}, "--image is needed"),
        ({"profile": "trial"}, "`--profile trial` brings a Kafka of its own"),
        ({"profile": "other"}, "--profile other"),
        ({"namespace": "Upper"}, "--namespace 'Upper'"),
        ({"values": {"services.fusion-backend.replicas": 2}}, "ReadWriteMany"),
    ],
)
def test_options_that_cannot_be_used_are_named(change: Json, words: str) -> None:
    usual: Json = {"image": "r/m:1", "brokers": "k:1", "values": {}}
    options = usual | change
    profile, namespace = options.pop("profile", "cluster"), options.pop("namespace", "n")
    with pytest.raises(Misused) as refused:
        wanted_of(profile, namespace, **options)
    assert words in str(refused.value)
