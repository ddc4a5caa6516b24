"""Several instances of a service: each has a name, a log and a port of its own, one account."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.failing import Misused
from cli.grounds import Ground
from cli.layouts import Layout, UpOptions


def test_instances_differ_in_name_and_port_and_share_account_and_bundles(tmp_path: Path) -> None:
    layout = Layout(UpOptions(tmp_path / "k", real=True, instances=2), tmp_path)
    ground = Ground("", tmp_path / "admin", "", accounts={"fusion-backend": tmp_path / "fusion"})
    first, second = (layout.service("fusion-backend", ground, number) for number in (1, 2))
    assert (first.name, second.name) == ("fusion-backend", "fusion-backend-2")
    assert first.command == second.command
    differing = {k for k in first.environment if first.environment[k] != second.environment[k]}
    assert differing == {"MILLRACE_METRICS_PORT", "MILLRACE_INSTANCE"}
    assert second.environment["MILLRACE_KUBECONFIG"] == str(tmp_path / "fusion")


def test_metrics_and_probes_are_served_on_loopback_in_any_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For users of the machine, not for the network; also on the real pair."""
    monkeypatch.setenv("MILLRACE_METRICS_HOST", "0.0.0.0")
    for real in (False, True):
        layout = Layout(UpOptions(tmp_path / "k", real=real), tmp_path)
        service = layout.service("node-tainter", Ground("", tmp_path / "admin", ""))
        assert service.environment["MILLRACE_METRICS_HOST"] == "127.0.0.1"


def test_a_log_in_a_file_has_one_instance_of_each_service(tmp_path: Path) -> None:
    with pytest.raises(Misused, match="--real"):
        UpOptions(tmp_path / "k", instances=2)
