"""A service in its process: drained by a signal, or crashed with a line that says why."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import aiohttp
import pytest

from sandbox.http.kubeconfig import write_kubeconfig
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.memory_log import MemoryLog
from services.chassis.log.sqlite_log import SqliteLog
from services.chassis.process.clock import LoopClock, SystemClock
from services.chassis.process.errors import TopicDiffers
from services.chassis.process.metrics import Metrics
from services.chassis.running.hosting import NO_TOPICS, after_topics, open_bus, run_until_drained
from services.chassis.running.probes import serve_probes
from services.chassis.running.wiring import Probes
from tests.patience import patient
from tests.places import ROOT
from tests.unit.chassis.running.staging import new_log, new_runtime
from tests.virtual_time import virtually

PATIENCE_S = patient(30.0)
PROGRAM = """
import asyncio, sys
from services.chassis.running.hosting import run_service
from services.chassis.running.service import Service

async def main(runtime):
    print("running", flush=True)
{body}

settings = "services.chassis.process.settings:ServiceSettings"
row = Service(name="probe", settings=settings, permissions="", main="__main__:make", compose_port=0)
make = lambda _settings: main
sys.exit(run_service(row))
"""

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a process whose service does what `body` says."""
    kubeconfig = tmp_path / "kubeconfig"
    write_kubeconfig(kubeconfig, port=1)

    def start(body: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(body=textwrap.indent(body, "    "))],
            cwd=ROOT,
            env={
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(ROOT),
                "MILLRACE_KUBECONFIG": str(kubeconfig),
                "MILLRACE_GRACE_S": "0.2",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_the_service_and_its_process_exits_0(
    start: Start, number: signal.Signals
) -> None:
    process = start("await runtime.stopping.wait()\nprint('drained', flush=True)")
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert out == "drained\n"
    assert process.returncode == 0
    last = json.loads(err.splitlines()[-1])
    assert (last["event"], last["service"]) == ("drained", "probe")


def test_a_service_that_does_not_end_within_its_grace_is_ended_and_still_exits_0(
    start: Start,
) -> None:
    process = start("await asyncio.Event().wait()")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "grace_exceeded" in err


def test_a_crash_is_one_line_and_exit_code_1(start: Start) -> None:
    process = start("raise ZeroDivisionError('boom')")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    last = json.loads(err.splitlines()[-1])
    assert last["event"] == "crashed"
    assert last["exception"][0]["exc_value"] == "boom"


def test_what_the_log_refused_is_reported_in_a_sentence_without_a_traceback(start: Start) -> None:
    process = start(
        "from services.chassis.process.errors import TopicDiffers\n"
        "async with asyncio.TaskGroup():\n"
        "    raise TopicDiffers('topic t.cluster is missing')"
    )
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    last = json.loads(err.splitlines()[-1])
    assert (last["event"], last["problem"]) == ("log_refused", "topic t.cluster is missing")
    assert "exception" not in last


def test_a_kubeconfig_that_cannot_be_used_is_reported_in_a_sentence(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "kubeconfig").unlink()
    process = start("return")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    (line,) = map(json.loads, err.splitlines())
    assert line["event"] == "misconfigured"
    assert line["problem"] == f"there is no kubeconfig at {tmp_path}/kubeconfig"


def test_a_service_that_ends_although_nobody_asked_has_crashed(start: Start) -> None:
    process = start("return")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "without a request to stop" in err


@virtually
async def test_a_service_has_its_grace_to_end_what_it_began() -> None:
    runtime = new_runtime(await new_log())
    ended: list[float] = []

    async def main(_runtime: object) -> None:
        await runtime.stopping.wait()
        await asyncio.sleep(9)
        ended.append(asyncio.get_running_loop().time())

    asyncio.get_running_loop().call_later(5, runtime.stopping.set)
    await run_until_drained(main, runtime, 10)
    assert ended == [14]


class Bare(MemoryLog):
    """A log whose topics come with its installation: at the fourth look."""

    looks = 0

    async def ensure_topics(self, partitions_of: Mapping[str, int]) -> None:
        self.looks += 1
        if self.looks <= 3:
            raise TopicDiffers("there is no topic millrace.resources")
        await super().ensure_topics(partitions_of)


async def begin(wait_s: float) -> tuple[float, list[str]]:
    """When a service without topics begins, and what its probe says before."""
    runtime, reasons = new_runtime(Bare(now=LoopClock().now)), list[str]()
    ready = runtime.probes.is_ready

    async def main(_runtime: object) -> None:
        assert runtime.probes.is_ready is ready

    begun = asyncio.ensure_future(after_topics(main, wait_s)(runtime))
    while not begun.done():
        await asyncio.sleep(0.5)
        if not runtime.probes.is_ready():
            reasons.append(runtime.probes.reason())
    begun.result()
    return asyncio.get_running_loop().time(), reasons


@virtually
async def test_a_service_waits_for_topics_that_come_with_its_installation() -> None:
    """An init container that waits would cost each later start of the pod seconds."""
    began_s, reasons = await begin(60)
    assert 3 <= began_s <= 4
    assert set(reasons) == {NO_TOPICS}


@virtually
async def test_topics_that_do_not_come_end_the_process_with_what_is_missing() -> None:
    with pytest.raises(TopicDiffers, match="no topic millrace"):
        await begin(1.5)


@virtually
async def test_where_topics_were_made_before_nothing_waits_for_them() -> None:
    """`main` finds out itself, and its process ends."""
    began_s, reasons = await begin(0)
    assert began_s <= 0.5
    assert not reasons


@virtually
async def test_a_service_that_waits_for_topics_ends_when_it_is_stopped() -> None:
    runtime = new_runtime(Bare(now=LoopClock().now))

    async def main(_runtime: object) -> None:
        raise AssertionError("it began")

    asyncio.get_running_loop().call_later(1.5, runtime.stopping.set)
    await after_topics(main, 60)(runtime)


async def test_probes_and_metrics_are_served() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    metrics, probes = Metrics(), Probes(is_ready=lambda: False)
    metrics.count("millrace_sleeps_total", 2)
    async with serve_probes(port, metrics, probes), aiohttp.ClientSession() as session:

        async def ask(path: str) -> tuple[int, str]:
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                return answer.status, await answer.text()

        assert await ask("/healthz") == (200, "ok\n")
        assert await ask("/readyz") == (503, "starting\n")
        probes.reason = lambda: "Kafka does not answer"
        assert await ask("/readyz") == (503, "Kafka does not answer\n")
        probes.is_ready = lambda: True
        assert (await ask("/readyz"))[0] == 200
        status, text = await ask("/metrics")
        assert status == 200
        assert "millrace_sleeps_total 2.0" in text


async def test_a_bus_is_opened_by_its_url(tmp_path: Path) -> None:
    memory = open_bus("memory:", SystemClock())
    file = open_bus(f"sqlite://{tmp_path}/log.sqlite", SystemClock())
    kafka = open_bus("kafka://a.example:9092,b.example:9093", SystemClock())
    assert isinstance(kafka, KafkaLog)
    assert isinstance(memory, MemoryLog)
    assert isinstance(file, SqliteLog)
    await file.ensure_topics({"t": 1})
    assert (tmp_path / "log.sqlite").exists()
    await kafka.close()
    await file.close()
    await memory.close()
