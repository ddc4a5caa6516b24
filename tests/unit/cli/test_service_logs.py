"""`millrace logs` of services: from the folder of an `up`, and from the pods of an installation."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner, Result

from cli import pod_logs
from cli.commands import app
from cli.connecting import connected
from cli.failing import Failure
from cli.pod_logs import last_lines
from cli.service_lines import Line, line_of, readable
from cli.service_logs import ServiceLogOptions, lines_of_pods
from sandbox.http.api import Api
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import serving
from sandbox.store.steering import LOG
from services.chassis.process.errors import Transient
from tests.builders import a_pod
from tests.places import ROOT
from tests.sandboxed import Sandboxed

SERVED = ("watch-ingest", "fusion-backend", "node-tainter")


def text_of(event: str, second: int, **fields: object) -> str:
    at = f"2026-11-26T11:50:{second:02}.000000Z"
    return json.dumps({"event": event, "level": "info", "timestamp": at, **fields})


@pytest.fixture
def state(tmp_path: Path) -> Path:
    logs = tmp_path / "state" / "logs"
    logs.mkdir(parents=True)
    (logs / "watch-ingest.log.1").write_text(text_of("started", 1) + "\n")
    (logs / "watch-ingest.log").write_text(
        text_of("spec_changed", 3, namespace="default", job="shop") + "\n"
    )
    (logs / "fusion-backend.log").write_text(text_of("live", 2) + "\n")
    return tmp_path / "state"


def logs(*words: object) -> Result:
    return CliRunner().invoke(app, ["logs", *map(str, words)])


def test_lines_of_all_services_are_in_order_of_time(state: Path) -> None:
    """Of files that were set aside, too."""
    found = logs("--state", state, "-o", "json")
    assert found.exit_code == 0
    events = [json.loads(line)["event"] for line in found.stdout.splitlines()]
    assert events == ["started", "live", "spec_changed"]


def test_lines_are_chosen_by_service_and_job(state: Path) -> None:
    assert "spec" not in logs("--state", state, "--service", "fusion-backend").stdout
    [line] = logs("--state", state, "--job", "shop").stdout.splitlines()
    assert "watch-ingest" in line
    assert logs("--state", state, "--since", "1s").stdout == ""


def test_where_no_line_is_of_the_wanted_time_the_last_one_is_named(state: Path) -> None:
    """A service that hangs logs nothing: since when, is what people look for."""
    found = logs("--state", state, "--service", "fusion-backend", "--since", "2m")
    assert "the last one, of fusion-backend, is of 2026-11-26T11:50:02Z (" in found.stderr
    assert "the last" not in logs("--state", state, "--job", "nobody", "--since", "2m").stderr


def test_a_job_of_the_same_name_elsewhere_is_another_one(state: Path) -> None:
    log = state / "logs" / "fusion-backend.log"
    texts = [
        text_of("live", 2),
        "of nobody",
        text_of("effect_crashed", 4, namespace="blue", job="shop"),
        "Traceback of a library",
        text_of("effect", 5, namespace="green", job="shop"),
        "of the green one",
    ]
    log.write_text("\n".join(texts) + "\n")
    found = logs("--state", state, "--job", "shop", "-n", "blue", "-o", "json").stdout
    lines = [json.loads(line) for line in found.splitlines()]
    assert [each.get("event", each.get("text")) for each in lines] == [
        "effect_crashed",
        "Traceback of a library",
    ]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--service", "kafka"), "'kafka' is no service"),
        (("--since", "yesterday"), "is no duration such as"),
        (("shop", "--since", "10m"), "say --job shop"),
        (("--previous",), "--previous is for pods"),
        (("--service", "node-tainter"), "has no log of node-tainter"),
    ],
)
def test_what_cannot_be_is_refused(state: Path, words: tuple[str, ...], problem: str) -> None:
    found = logs("--state", state, *words)
    assert found.exit_code == 2
    assert problem in " ".join(found.output.replace("│", " ").split())


async def test_on_a_cluster_the_lines_are_those_of_the_pods(tmp_path: Path) -> None:
    sandboxed = Sandboxed()
    for name, component, second in (
        ("millrace-fusion-backend-7d-x", "fusion-backend", 2),
        ("millrace-watch-ingest-5c-y", "watch-ingest", 1),
        ("millrace-kafka-0", "kafka", 0),
    ):
        pod = a_pod("x", 0).orphaned().named(name)
        pod = pod.with_spec(containers=[{"name": "service", "image": "millrace:1"}])
        pod = pod.with_label("app.kubernetes.io/name", "millrace")
        pod = pod.with_label("app.kubernetes.io/component", component)
        text = text_of("live", second, namespace="default", job="shop")
        text = f"{text_of('started', second)}\n{text}"
        pod = pod.having("metadata", "annotations", value={LOG: text})
        sandboxed.create(pod, api_version="v1")
    async with serving(Api(sandboxed.cluster.store, now=sandboxed.clock.now)) as port:
        write_kubeconfig(tmp_path / "kubeconfig", port=port)
        async with connected(tmp_path / "kubeconfig") as cluster:

            async def lines(**options: object) -> list[Line]:
                wanted = ServiceLogOptions(**options)  # type: ignore[arg-type]
                return [each async for each in lines_of_pods(cluster, "default", SERVED, wanted)]

            found = await lines(job=("default", "shop"))
            assert await lines(job=("other", "shop")) == []
            last = await lines(job=("default", "shop"), tail=1)
            with pytest.raises(Failure, match="has no pod of service node-tainter"):
                await lines(service="node-tainter")
    pods = [each.instance for each in found]
    assert pods == ["millrace-watch-ingest-5c-y", "millrace-fusion-backend-7d-x"]
    assert last == found[1:]


async def test_the_last_lines_of_pods_are_those_that_are_not_empty(tmp_path: Path) -> None:
    """A pod that is gone has no line, and that is no failure."""
    sandboxed = Sandboxed()
    pod = a_pod("x", 0).orphaned().named("failed")
    pod = pod.with_spec(containers=[{"name": "pe", "image": "millrace:1"}])
    pod = pod.having("metadata", "annotations", value={LOG: "begins\nKeyError: 'price'\n\n"})
    sandboxed.create(pod, api_version="v1")
    async with serving(Api(sandboxed.cluster.store, now=sandboxed.clock.now)) as port:
        write_kubeconfig(tmp_path / "kubeconfig", port=port)
        found = await last_lines(tmp_path / "kubeconfig", "default", ["gone", "failed"])
    assert found == {"failed": "KeyError: 'price'"}


async def test_the_last_line_is_that_of_the_container_of_the_pe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod with a sidecar has no log without the name of a container."""
    paths: list[str] = []

    class Asked:
        def stream(self, path: str, **_: object) -> NoReturn:
            paths.append(path)
            raise Transient("away")

    @asynccontextmanager
    async def transport(*_: object) -> AsyncIterator[Asked]:
        yield Asked()

    monkeypatch.setattr(pod_logs, "aclosing_transport", transport)
    assert await last_lines(tmp_path / "kubeconfig", "default", ["failed"]) == {}
    assert [path.partition("?")[2] for path in paths] == ["container=pe&tailLines=5"]


def test_the_examples_of_the_page_are_accepted(state: Path) -> None:
    """Each of a command on the logs of services, with this `up` for the one that is meant."""
    page = (ROOT / "docs" / "observability.md").read_text()
    commands = re.findall(r"^millrace logs(.*?)(?:\s+#.*)?$", page, flags=re.MULTILINE)
    examples = [shlex.split(each) for each in commands]
    ours = [
        each for each in examples if "--follow" not in each and "--system-namespace" not in each
    ]
    assert len(ours) >= 4
    for words in ours:
        found = logs(*(word for word in words if word not in ("--state", "DIR")), "--state", state)
        assert found.exit_code == 0, words


def test_the_sentences_of_the_page_are_those_of_the_command() -> None:
    page = (ROOT / "docs" / "observability.md").read_text()
    fields = {
        **{"timestamp": "2026-11-26T11:50:19.256482Z", "level": "info", "event": "effect"},
        **{"namespace": "default", "job": "wordcount", "effect": "CreatePod", "launch": 1},
        **{"object": "Pod/wordcount-0-3f63182280", "outcome": "created", "seconds": 0.0123},
        **{"rule": "LAUNCH_DUE", "reason": "FirstLaunch", "pe": "wordcount-0"},
    }
    line = line_of("pod-state-machine", json.dumps(fields))
    assert line is not None
    assert readable(line) in page.splitlines()
