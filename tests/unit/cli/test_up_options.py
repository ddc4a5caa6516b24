"""`millrace up` names an invalid option in a sentence."""

from __future__ import annotations

import os
import re
import socket
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from cli.failing import Misused
from cli.grounds import Ground
from cli.kubeconfigs import with_bundle_root
from cli.ports import PORTS
from cli.private import locked
from cli.running import SANDBOX_NEEDS, Layout, UpOptions
from tests.places import ROOT


def test_a_state_that_is_a_file_is_named(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("")
    with pytest.raises(Misused, match=r"state is not a folder. Say another --state"):
        Layout(UpOptions(tmp_path / "k"), state)


def test_a_kubeconfig_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    admin = tmp_path / "admin"
    admin.write_text("clusters: []")
    target = tmp_path / "admin" / "kubeconfig"
    layout = Layout(UpOptions(target), tmp_path / "state")
    with pytest.raises(Misused, match=rf"{target} cannot be written"):
        layout.write_kubeconfig(Ground("", admin, ""))


def clusters_at(server: str) -> dict[str, object]:
    return {"clusters": [{"name": "c", "cluster": {"server": server}}]}


@pytest.mark.parametrize("text", ["hello", "[]", "clusters: []", yaml.safe_dump(clusters_at("x"))])
def test_a_file_that_up_did_not_write_is_not_overwritten(text: str, tmp_path: Path) -> None:
    """A kubeconfig of other clusters would be lost."""
    target = tmp_path / "k"
    target.write_text(text)
    with pytest.raises(Misused, match=f"{target} exists, and `millrace up` did not write it"):
        Layout(UpOptions(target), tmp_path / "state")
    assert target.read_text() == text
    target.write_text("")
    Layout(UpOptions(target), tmp_path / "state")


def test_the_kubeconfig_of_a_running_up_is_not_overwritten(tmp_path: Path) -> None:
    """After it ended, the next `up` may use the file."""
    target = tmp_path / "k"
    with socket.create_server(("127.0.0.1", 0)) as running:
        server = f"http://127.0.0.1:{running.getsockname()[1]}"
        target.write_text(yaml.safe_dump(with_bundle_root(clusters_at(server), tmp_path)))
        with pytest.raises(Misused, match=f"the system at {server}, which runs"):
            Layout(UpOptions(target), tmp_path / "state")
    Layout(UpOptions(target), tmp_path / "state")


def test_a_kubeconfig_with_a_port_that_is_none_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "k"
    config = with_bundle_root(clusters_at("http://127.0.0.1:notaport"), tmp_path)
    target.write_text(yaml.safe_dump(config))
    with pytest.raises(Misused, match="`millrace up` did not write it"):
        Layout(UpOptions(target), tmp_path / "state")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("gone")])
def test_what_is_no_file_is_not_overwritten(make: Callable[[Path], None], tmp_path: Path) -> None:
    """A pipe was opened, which waits for ever and leaves every signal aside."""
    target = tmp_path / "k"
    make(target)
    with pytest.raises(Misused, match=f"{target} is a link, a folder or a device"):
        Layout(UpOptions(target), tmp_path / "state")


def test_a_kubeconfig_that_another_up_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "k"
    layout = Layout(UpOptions(target), tmp_path / "state")
    layout.inner_kubeconfig.write_text(yaml.safe_dump(clusters_at(layout.server)))
    with socket.create_server(("127.0.0.1", 0)) as running:
        server = f"http://127.0.0.1:{running.getsockname()[1]}"
        target.write_text(yaml.safe_dump(with_bundle_root(clusters_at(server), tmp_path)))
        with pytest.raises(Misused, match=f"the system at {server}, which runs"):
            layout.write_kubeconfig(layout.sandbox_ground())


def test_a_state_has_one_up_at_a_time(tmp_path: Path) -> None:
    """A second one took the log and the API of the first, which went on against nothing."""
    logs = tmp_path / "logs"
    logs.mkdir()
    is_used = f"{tmp_path} is the state of an `up` that runs"
    with locked(logs), pytest.raises(Misused, match=is_used), locked(logs):
        pass
    with locked(logs):
        pass


def test_the_kubeconfig_of_the_state_itself_may_be_named(tmp_path: Path) -> None:
    """The embedded cluster wrote it, without a bundle root, if `up` ended early."""
    state = tmp_path / "state"
    layout = Layout(UpOptions(state / "kubeconfig"), state)
    layout.inner_kubeconfig.write_text(yaml.safe_dump(clusters_at(layout.server)))
    Layout(UpOptions(state / "kubeconfig"), state)


def test_a_port_that_somebody_has_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        port = somebody.getsockname()[1]
        with pytest.raises(Misused, match=f"--api-port {port}"):
            Layout(UpOptions(tmp_path / "k", api_port=port), tmp_path / "state")
    Layout(UpOptions(tmp_path / "k", api_port=port), tmp_path / "state")


def test_a_pair_without_real_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misused, match=r"--pair .* needs --real"):
        UpOptions(tmp_path / "k", pair=tmp_path)


def test_a_port_of_the_embedded_api_server_is_refused_with_real(tmp_path: Path) -> None:
    with pytest.raises(Misused, match=r"--api-port 7000 is for the embedded API server"):
        UpOptions(tmp_path / "k", real=True, api_port=7000)


def test_what_the_sandbox_needs_is_what_its_extra_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = {re.split(r"[<>=]", each)[0] for each in project["optional-dependencies"]["sandbox"]}
    brought = {name for names in map(_modules_of, extra) for name in names}
    assert set(SANDBOX_NEEDS) <= brought
    assert len(SANDBOX_NEEDS) == len(extra)


def _modules_of(distribution: str) -> set[str]:
    """The modules that a distribution brings."""
    return {
        name
        for name, distributions in packages_distributions().items()
        if distribution in {each.lower().replace("_", "-") for each in distributions}
    }


def test_ports_of_services_are_never_those_of_outgoing_connections(tmp_path: Path) -> None:
    """The port of a stopped service was taken, and its restarts failed for ever."""
    layout = Layout(UpOptions(tmp_path / "k", real=True, instances=3), tmp_path / "state")
    ports = [layout.api_port, *layout.ports.values()]
    assert len(set(ports)) == len(ports)
    assert all(port in PORTS for port in ports)
