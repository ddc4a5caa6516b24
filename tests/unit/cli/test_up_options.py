"""`millrace up` names an invalid option in a sentence."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from cli.failing import Misused
from cli.grounds import Ground
from cli.ports import PORTS
from cli.running import Layout, UpOptions


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


def test_a_port_that_somebody_has_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        port = somebody.getsockname()[1]
        with pytest.raises(Misused, match=f"--api-port {port}"):
            Layout(UpOptions(tmp_path / "k", api_port=port), tmp_path / "state")
    Layout(UpOptions(tmp_path / "k", api_port=port), tmp_path / "state")


def test_a_pair_without_real_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misused, match=r"--pair .* needs --real"):
        UpOptions(tmp_path / "k", pair=tmp_path)


def test_ports_of_services_are_never_those_of_outgoing_connections(tmp_path: Path) -> None:
    """The port of a stopped service was taken, and its restarts failed for ever."""
    layout = Layout(UpOptions(tmp_path / "k", real=True, instances=3), tmp_path / "state")
    ports = [layout.api_port, *layout.ports.values()]
    assert len(set(ports)) == len(ports)
    assert all(port in PORTS for port in ports)
