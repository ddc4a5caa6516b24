"""`python -m sandbox` as people start and stop it."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox.__main__ import main
from tests.unit.sandbox.http.test_discovery import WIDGET_YAML

STOP_S = 30


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A sandbox with two nodes and the definition of widgets; killed at the latest here."""
    definitions = tmp_path / "crds"
    definitions.mkdir()
    (definitions / "widgets.yaml").write_text(WIDGET_YAML, encoding="utf-8")
    command = [sys.executable, "-m", "sandbox", "--nodes", "2", "--crds", str(definitions)]
    command += ["--kubeconfig", str(tmp_path / "kubeconfig")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        yield started
        if started.poll() is None:
            started.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_when_it_says_ready_and_exits_with_0_at_a_signal(
    process: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    kubeconfig = yaml.safe_load((tmp_path / "kubeconfig").read_text(encoding="utf-8"))
    server = kubeconfig["clusters"][0]["cluster"]["server"]
    with urllib.request.urlopen(f"{server}/apis/example.org/v1/widgets?watch=1") as stream:
        assert stream.status == 200
        process.send_signal(number)  # while a watch is open: it is ended, not waited for
        assert process.wait(STOP_S) == 0


@pytest.mark.parametrize("options", [["--port", "70000"], ["--nodes", "-1"], ["--nodes", "x"]])
def test_options_that_make_no_sense_are_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(options)
    assert exited.value.code == 2
    assert options[0] in capsys.readouterr().err
