"""`python -m sandbox` as people start and stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import orjson
import pytest
import yaml

from sandbox.__main__ import main
from tests.patience import patient
from tests.unit.sandbox.containers.running import processes_of
from tests.unit.sandbox.http.test_discovery import WIDGET_YAML

STOP_S = patient(30)
T = TypeVar("T")


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


def test_nothing_of_its_pods_is_left_when_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sandbox", "--nodes", "1", "--run-image", "acme/tool"]
    command += ["--run-folder", str(tmp_path / "run"), "--kubeconfig", str(tmp_path / "kubeconfig")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        kubeconfig = yaml.safe_load((tmp_path / "kubeconfig").read_text(encoding="utf-8"))
        pods = f"{kubeconfig['clusters'][0]['cluster']['server']}/api/v1/namespaces/default/pods"
        script = "sleep 60 & sleep 60"
        container = {"name": "pe", "image": "acme/tool:1", "command": ["sh", "-c", script]}
        body = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
        headers = {"content-type": "application/json"}
        page = {**headers, "origin": "http://page.test"}
        with pytest.raises(urllib.error.HTTPError, match="Forbidden"):
            urllib.request.urlopen(urllib.request.Request(pods, orjson.dumps(body), page))
        urllib.request.urlopen(urllib.request.Request(pods, orjson.dumps(body), headers)).close()
        group = _process_of(f"{pods}/p")
        assert len(_until(lambda: processes_of(group), lambda found: len(found) == 3)) == 3
        started.kill()
        started.wait(STOP_S)
    assert _until(lambda: processes_of(group), lambda found: not found) == []
    assert _until(lambda: os.listdir(tmp_path / "run"), lambda found: not found) == []


def _process_of(pod: str) -> int:
    """The first process of a pod, when it runs."""

    def found() -> str:
        with urllib.request.urlopen(pod) as answer:
            statuses = orjson.loads(answer.read())["status"].get("containerStatuses") or [{}]
        return str(statuses[0].get("containerID", ""))

    return int(_until(found, bool).removeprefix("process://"))


def _until(look: Callable[[], T], holds: Callable[[T], bool]) -> T:
    """What is found when it is what is waited for, or in the end."""
    end_s = time.monotonic() + STOP_S
    while not holds(found := look()) and time.monotonic() < end_s:
        time.sleep(0.02)
    return found
