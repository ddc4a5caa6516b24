"""What is pinned names the build: another pin is another build, the same pins are the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from sandbox.controllers.behaviors import AFTER, BEHAVIOR, EXIT_CODE, Behavior
from tools.real.pins import DIGEST_CHARS, STAGES, digest_of, read_pins, versions_of

GO_MOD = """\
module example

go 1.26.0

require (
	go.etcd.io/etcd/server/v3 v3.6.8
	k8s.io/kubernetes v1.36.3
	sigs.k8s.io/kwok v0.8.0
	sigs.k8s.io/yaml v1.6.0 // indirect
)
"""
POM = "<dependency><artifactId>kafka_2.13</artifactId>\n  <version>4.3.0</version></dependency>"


def test_the_order_of_the_files_does_not_matter() -> None:
    assert digest_of({"a": b"1", "b": b"2"}) == digest_of({"b": b"2", "a": b"1"})


@pytest.mark.parametrize(
    "other",
    [
        {"a": b"1", "b": b"3"},
        {"a": b"1", "c": b"2"},
        {"a": b"12", "b": b""},
        {"a": b"1"},
        {"a": b"1b 1\n2"},
    ],
)
def test_another_name_or_another_byte_is_another_build(other: dict[str, bytes]) -> None:
    assert digest_of(other) != digest_of({"a": b"1", "b": b"2"})


def test_versions_come_from_the_pins_themselves() -> None:
    assert versions_of(GO_MOD, POM) == {
        "go": "1.26.0",
        "etcd": "3.6.8",
        "kubernetes": "1.36.3",
        "kwok": "0.8.0",
        "kafka": "4.3.0",
    }


@pytest.mark.parametrize("lost", ["k8s.io/kubernetes", "go.etcd.io/etcd", "sigs.k8s.io/kwok"])
def test_a_pin_that_is_missing_is_named(lost: str) -> None:
    with pytest.raises(ValueError, match=re.escape(lost)):
        versions_of(GO_MOD.replace(lost, "example.org/other"), POM)


def test_the_pins_of_this_tree_can_be_read() -> None:
    pins = read_pins()
    assert len(pins.digest) == DIGEST_CHARS
    assert set(pins.versions) == {"go", "etcd", "kubernetes", "kwok", "kafka"}


def test_kwok_implements_every_behavior_that_an_annotation_can_request() -> None:
    """The sandbox's kubelet and kwok obey the same values of the annotation."""
    text = "\n".join(file.read_text() for file in STAGES.glob("pod-*.yaml"))
    requested = set(Behavior) - {Behavior.RUN, Behavior.EVICT}
    assert [word for word in requested if word not in text] == []
    assert all(annotation in text for annotation in (BEHAVIOR, AFTER, EXIT_CODE))


@pytest.mark.parametrize("file", sorted(STAGES.glob("*.yaml")), ids=lambda file: file.stem)
def test_a_stage_is_called_as_its_file(file: Path) -> None:
    stage = yaml.safe_load(file.read_text())
    assert stage["kind"] in {"Stage", "KwokConfiguration"}
    if stage["kind"] == "Stage":
        assert stage["metadata"]["name"] == file.stem
