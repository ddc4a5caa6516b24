"""What `millrace up` cannot use is said in a sentence that names it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from cli.failing import Misused
from cli.grounds import Ground
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


def test_a_pair_without_real_is_no_wish_to_be_ignored(tmp_path: Path) -> None:
    with pytest.raises(Misused, match=r"--pair .* needs --real"):
        UpOptions(tmp_path / "k", pair=tmp_path)
