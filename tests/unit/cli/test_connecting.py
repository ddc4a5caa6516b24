"""The kubeconfig names the cluster and the bundle root."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from cli.connecting import (
    JOBS,
    PES,
    REGIONS,
    UNWATCHED,
    aclosing_transport,
    connected,
)
from cli.contexts import new_info
from cli.failing import CannotReach, Misused
from cli.kubeconfigs import UpInfo, find_kubeconfig, up_of
from cli.ports import free_ports
from contracts.resources import CUSTOM_RESOURCES
from services.chassis.kube.resources import resource_of


def kubeconfig(server: str) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
    )


def test_the_bundle_root_is_that_of_the_current_context(tmp_path: Path) -> None:
    """The clusters of other contexts may be of another `up`."""
    config = yaml.safe_load(kubeconfig("http://127.0.0.1:1"))
    extension = UpInfo(tmp_path / "b", tmp_path / "state", "host", 7, ("c",)).as_extension()
    config["clusters"].append({"name": "m", "cluster": {"extensions": [extension]}})
    config["contexts"].append({"name": "m", "context": {"cluster": "m", "user": "u"}})
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    assert up_of(path) is None
    path.write_text(yaml.safe_dump(config | {"current-context": "m"}))
    assert up_of(path) == UpInfo(tmp_path / "b", tmp_path / "state", "host", 7, ("c",))


def test_a_missing_kubeconfig_is_misuse_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By option, else by the environment."""
    with pytest.raises(Misused, match="nowhere"):
        find_kubeconfig(tmp_path / "nowhere")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "there"))
    with pytest.raises(Misused, match="there"):
        find_kubeconfig(None)


async def test_a_cluster_that_does_not_answer_is_reported_in_a_sentence(tmp_path: Path) -> None:
    """Not a traceback."""
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig(f"http://127.0.0.1:{free_ports(1, random.Random())[0]}"))
    with pytest.raises(CannotReach, match="does not answer"):
        async with connected(path):
            pass


async def test_the_context_of_a_system_that_has_ended_is_named(tmp_path: Path) -> None:
    """It was killed; else it had taken its context out."""
    config = yaml.safe_load(kubeconfig(f"http://127.0.0.1:{free_ports(1, random.Random())[0]}"))
    extension = new_info(tmp_path, tmp_path / "gone").as_extension()
    config["clusters"][0]["cluster"]["extensions"] = [extension]
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(CannotReach, match="`millrace up` of its current context has ended"):
        async with connected(path):
            pass


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2",
        "127.0.0.1 localhost",
        "",
        "[]",
        "clusters: [{}]",
        "clusters: 1",
        "clusters: [{cluster: {extensions: [1]}}]",
    ],
)
async def test_a_file_that_is_no_kubeconfig_is_misused(text: str, tmp_path: Path) -> None:
    """The message names it, whether it is a cluster of ours or one that settings name."""
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    for way in (connected, aclosing_transport):
        with pytest.raises(Misused, match=f"{path} is not a kubeconfig") as misused:
            async with way(path):
                pass
        assert "object" not in str(misused.value), "a sentence of Python, not of the file"


def test_a_job_is_gone_when_no_object_of_our_kinds_is_left() -> None:
    """A HostPool stays until no node bears its marks: its nodes are closed to others till then."""
    looked_at = {JOBS, PES, REGIONS, *UNWATCHED}
    assert {resource_of(each.kind) for each in CUSTOM_RESOURCES} <= looked_at
