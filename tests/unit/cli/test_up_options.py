"""`millrace up` names an invalid option in a sentence."""

from __future__ import annotations

import os
import re
import socket
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from cli.failing import Misused
from cli.layouts import SANDBOX_NEEDS, Layout, UpOptions
from cli.ports import PORTS
from cli.private import TEMPORARY_FILE, locked
from cli.running import running_system
from contracts.runtime_image import BOOTSTRAP
from sandbox.__main__ import _parser as sandbox_options
from sandbox.containers.programs import Programs
from tests.places import ROOT


def test_a_state_that_is_a_file_is_named(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("")
    with pytest.raises(Misused, match=r"state is not a folder. Say another --state"):
        Layout(UpOptions(tmp_path / "k"), state)


def test_a_kubeconfig_of_another_form_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """Else the whole cluster would start first."""
    target = tmp_path / "k"
    target.write_text("clusters: 7")
    with pytest.raises(Misused, match=f"{target} is not a kubeconfig: clusters"):
        Layout(UpOptions(target), tmp_path / "state")


def test_a_bundle_root_that_does_not_exist_is_created_on_request_only(tmp_path: Path) -> None:
    """It may be a typing error: jobs would not find their bundles."""
    bundles = tmp_path / "typo"
    with pytest.raises(Misused, match=f"--bundles {bundles} does not exist.*--create"):
        Layout(UpOptions(tmp_path / "k", bundles=bundles), tmp_path / "state")
    assert not bundles.exists()
    Layout(UpOptions(tmp_path / "k", bundles=bundles, create=True), tmp_path / "state")
    assert bundles.is_dir()
    Layout(UpOptions(tmp_path / "k", bundles=bundles), tmp_path / "state")
    bundles.rmdir()
    bundles.touch()
    with pytest.raises(Misused, match=f"--bundles {bundles} is not a folder"):
        Layout(UpOptions(tmp_path / "k", bundles=bundles), tmp_path / "state")


def test_a_state_has_one_up_at_a_time(tmp_path: Path) -> None:
    """A second one took the log and the API of the first, which went on against nothing."""
    logs = tmp_path / "logs"
    logs.mkdir()
    is_used = rf"--state {tmp_path} is in use: .* \(pid {os.getpid()}\).* kill {os.getpid()}"
    with locked(logs), pytest.raises(Misused, match=is_used), locked(logs):
        pass
    with locked(logs):
        pass


async def test_a_state_that_is_refused_stays_as_it_is(tmp_path: Path) -> None:
    """A file with the name of our mark was removed first, and a state that is a file crashed."""
    project, used, file = (tmp_path / each for each in ("project", "used", "file"))
    for folder in (project, used):
        folder.mkdir(mode=0o755)
        (folder / TEMPORARY_FILE).touch()
    (project / "app.py").touch()
    (used / "logs").mkdir()
    file.touch()
    with locked(used / "logs"):
        for state, sentence in (
            (project, "holds app.py, which is not millrace's"),
            (used, "is in use"),
            (file, "is not a folder"),
        ):
            with pytest.raises(Misused, match=sentence):
                async with running_system(UpOptions(tmp_path / "k", state=state), print):
                    pass
    assert (project / TEMPORARY_FILE).exists()
    assert (used / TEMPORARY_FILE).exists(), "else it is not removed after a kill of that one"


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


def test_pods_of_our_runtime_are_processes_that_know_pe_gateway(tmp_path: Path) -> None:
    layout = Layout(UpOptions(tmp_path / "k"), tmp_path / "state")
    _, _, module, *words = layout.sandbox().command
    assert module == "sandbox"
    options = sandbox_options().parse_args(words)
    programs = Programs(tuple(options.run_image), dict(options.run_program))
    pod: dict[str, Any] = {
        "containers": [{"image": "localhost/millrace/runtime:0.1", "args": [BOOTSTRAP]}]
    }
    assert programs.runs({"spec": pod})
    assert programs.command_of(pod["containers"][0]) == (sys.executable, "-m", "millrace.runtime")
    assert dict(options.run_env) == {"MILLRACE_GATEWAY_URL": layout.given()[0][-1]}
    assert options.run_folder.is_relative_to(layout.state)


def test_without_pe_gateway_nobody_is_led_to_it(tmp_path: Path) -> None:
    options = UpOptions(tmp_path / "k", services=("watch-ingest",))
    command = Layout(options, tmp_path / "state").sandbox().command
    assert "--run-env" not in command
