"""What the log lines of all services tell of a job: one for each effect, and nothing at rest."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.http.in_process import Fault
from services.chassis.process.log_lines import configure
from tests.simulation.applications import submit_example
from tests.simulation.world import Request, World, simulate

Line = dict[str, Any]
SECRETS = "/api/v1/namespaces/default/secrets"
HOURS_S = 2 * 3600.0 + 60.0


@pytest.fixture
def lines() -> io.StringIO:
    out = io.StringIO()
    configure("world", "INFO", out)
    return out


def read(out: io.StringIO) -> list[Line]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


async def run_and_resize(world: World) -> None:
    world.start()
    await world.settle()
    submit_example(world, "j", width=2)
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()
    world.resize("j", "Counted", 3)
    await world.until("resized", lambda: world.is_running("j"))
    await world.settle()


def test_a_person_can_follow_a_job_by_its_lines(lines: io.StringIO, tmp_path: Path) -> None:
    """Each write of an object is a line with job, object, rule, reason and one trace an action."""
    world = simulate(tmp_path, run_and_resize)
    found = read(lines)
    roots = [each for each in found if each["event"] == "spec_changed"]
    assert [each["object"] for each in roots] == ["Job/j", "ParallelRegion/j-0"]
    assert all(each["job"] == "j" and each["generation"] for each in roots)
    effects = [each for each in found if each["event"] == "effect"]
    traces = [each["trace"] for each in roots]
    assert {each["trace"] for each in effects} == set(traces)
    for each in effects:
        assert each["namespace"] == "default"
        assert each["job"] == "j"
        assert each["seconds"] >= 0
        assert each["rule"]
        assert each["reason"]
        kind, _, name = each["object"].partition("/")
        assert kind
        assert name.startswith("j")
    pods = [each for each in effects if each["effect"] == "CreatePod"]
    assert {each["object"] for each in pods} >= {f"Pod/{name}" for name in world.objects("pods")}
    resized = [each for each in pods if each["trace"] == traces[1]]
    assert {each["pe"] for each in resized} < {each["pe"] for each in pods} | {"j-7"}
    assert {each["launch"] for each in resized} == {1, 2}
    created = {each["object"] for each in effects if each["outcome"] == "created"}
    assert {f"ProcessingElement/{name}" for name in world.objects("streamspes")} <= created


def test_a_healthy_system_writes_no_line(lines: io.StringIO, tmp_path: Path) -> None:
    """Two resyncs pass."""

    async def test(world: World) -> None:
        await run_and_resize(world)
        before = len(read(lines))
        await world.clock.sleep(HOURS_S)
        assert read(lines)[before:] == []

    simulate(tmp_path, test)


def test_a_start_of_watch_ingest_tells_of_no_action_of_before(
    lines: io.StringIO, tmp_path: Path
) -> None:
    async def test(world: World) -> None:
        await run_and_resize(world)
        before = len(read(lines))
        await world.kill("watch-ingest")
        world.start("watch-ingest")
        await world.settle()
        events = [each["event"] for each in read(lines)[before:]]
        assert "resync_complete" in events
        assert "spec_changed" not in events

    simulate(tmp_path, test)


@pytest.mark.parametrize("status", [422, 503])
def test_no_byte_of_a_secret_is_in_a_line(tmp_path: Path, status: int) -> None:
    """Not of level debug either, and not where its write fails."""
    out = io.StringIO()
    configure("world", "DEBUG", out)
    refused: list[str] = []

    def faults(request: Request) -> Fault | None:
        if request.method == "POST" and request.path.startswith(SECRETS) and not refused:
            refused.append(request.path)
            return Fault(status=status)
        return None

    async def test(world: World) -> None:
        world.faults = faults
        world.start()
        encrypted = {"processingElement": {"transportSecurityType": "TLSv1.2"}}
        submit_example(world, "j", width=2, more=encrypted)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    world = simulate(tmp_path, test)
    assert refused
    assert "effect_failed" in out.getvalue()
    [secret] = world.objects("secrets").values()
    for value in secret["data"].values():
        plain = base64.b64decode(value).decode().splitlines()
        hidden = [each for each in [value, *plain] if "-----" not in each]
        assert len(hidden) > 3
        assert not [each for each in hidden if each[:40] in out.getvalue()]
