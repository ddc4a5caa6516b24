"""What is in the volumes of a pod, and what keeps them from being mounted."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.containers.fields import Surroundings
from sandbox.containers.runs import Mount
from sandbox.containers.volumes import (
    Claim,
    Contents,
    EmptyDir,
    File,
    Files,
    HostPath,
    Source,
    mounts_of,
    sources_of,
)
from tests.unit.sandbox.containers.test_environment import OBJECTS, POD

CONTENTS = Contents(
    OBJECTS,
    lambda volume, source: f"token-for-{source.get('audience')}",
    Surroundings("127.64.0.1", "10.0.0.1", {}),
)


def source(**volume: Any) -> Source:
    found, complaints = sources_of(with_volume(**volume), CONTENTS)
    assert complaints == ()
    return found["v"]


def with_volume(**volume: Any) -> dict[str, Any]:
    return {**POD, "spec": {**POD["spec"], "volumes": [{"name": "v", **volume}]}}


def test_a_volume_of_a_configmap_or_secret_has_its_entries_or_the_chosen_ones() -> None:
    assert source(configMap={"name": "conf"}) == Files({"a": File(b"1"), "b": File(b"2")})
    items = [{"key": "password", "path": "d/p", "mode": 0o400}]
    assert source(secret={"secretName": "key", "items": items}) == Files(
        {"d/p": File(b"x=y", 0o400)}
    )


def test_a_projected_volume_has_files_of_several_sources_and_a_token() -> None:
    sources = [
        {"configMap": {"name": "conf", "items": [{"key": "a", "path": "a"}]}},
        {"secret": {"name": "none", "optional": True}},
        {"serviceAccountToken": {"path": "token", "audience": "streams-api"}},
        {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ]
    found = source(projected={"sources": sources, "defaultMode": 0o440})
    assert found == Files(
        {
            "a": File(b"1", 0o440),
            "token": File(b"token-for-streams-api", 0o440),
            "n": File(b"p", 0o440),
            "l": File(b'a/b="c"', 0o440),
        }
    )


def test_folders_are_of_the_pod_its_node_or_a_claim() -> None:
    assert source(emptyDir={}) == EmptyDir()
    assert source(hostPath={"path": "/d", "type": ""}) == HostPath("node-0", "/d", "")
    assert source(persistentVolumeClaim={"claimName": "c"}) == Claim("n", "c")


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        ({"configMap": {"name": "no"}}, 'configmap "no" not found'),
        ({"secret": {"secretName": "no"}}, 'secret "no" not found'),
        (
            {"configMap": {"name": "conf", "items": [{"key": "no", "path": "x"}]}},
            "configmap references non-existent config key: no",
        ),
        (
            {"configMap": {"name": "conf", "items": [{"key": "a", "path": "../x"}]}},
            "invalid path: ../x",
        ),
        ({"nfs": {"server": "s"}}, "the sandbox has no volumes of the kind nfs"),
    ],
)
def test_a_volume_that_cannot_be_mounted_is_named(volume: dict[str, Any], why: str) -> None:
    found, complaints = sources_of(with_volume(**volume), CONTENTS)
    assert found == {}
    assert complaints == (f'MountVolume.SetUp failed for volume "v" : {why}',)


def test_mounts_are_made_from_outside_in_and_sub_paths_may_have_variables() -> None:
    mounts = [
        {"name": "v", "mountPath": "/a/b", "subPathExpr": "pe-$(PE)"},
        {"name": "w", "mountPath": "/a", "subPath": "x"},
    ]
    found = mounts_of({"volumeMounts": mounts}, {"PE": "3"})
    assert found == (Mount("w", "/a", "x"), Mount("v", "/a/b", "pe-3"))


def test_a_mount_is_read_only_if_it_or_its_claim_is() -> None:
    mounts = [
        {"name": "v", "mountPath": "/a", "readOnly": True},
        {"name": "v", "mountPath": "/b"},
        {"name": "w", "mountPath": "/c"},
    ]
    claim = {"name": "w", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}}
    found = mounts_of({"volumeMounts": mounts}, {}, [{"name": "v", "emptyDir": {}}, claim])
    assert [each.is_read_only for each in found] == [True, False, True]
