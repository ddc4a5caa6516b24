"""The health check of a container: what counts as progress, and what a container engine gets."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from cli.ports import free_ports
from services.chassis.process.metrics import Metrics
from services.chassis.running import health_checks
from services.chassis.running.health_checks import (
    PORT_SETTING,
    Sample,
    last_seen,
    main,
    note_seen,
    problem_of,
    sample_of,
)
from services.chassis.running.probes import serve_probes
from services.chassis.running.wiring import Probes

READY = (200, "ok")
BUSY = Sample(waiting=3, work=10, answered=5, unanswered=0)


def test_a_service_that_is_not_ready_is_not_healthy() -> None:
    assert problem_of((503, "restoring"), BUSY, None) == "it is not ready (503): restoring"


def test_the_first_check_of_a_process_demands_no_progress() -> None:
    assert problem_of(READY, BUSY, None) == ""


def test_keys_that_wait_while_nothing_is_done_are_no_progress() -> None:
    assert (
        problem_of(READY, BUSY, BUSY) == "3 keys wait, and nothing was done since the check before"
    )


@pytest.mark.parametrize(
    "now",
    [
        BUSY._replace(work=11),
        BUSY._replace(waiting=0),
        BUSY._replace(answered=6, unanswered=1, work=11),
    ],
    ids=["something was done", "nothing waits", "some requests were answered"],
)
def test_work_and_rest_are_both_healthy(now: Sample) -> None:
    assert problem_of(READY, now, BUSY) == ""


def test_an_api_server_that_answers_nothing_is_named() -> None:
    now = BUSY._replace(unanswered=2, work=11)
    assert "API server has not answered" in problem_of(READY, now, BUSY)


def test_counters_that_fell_are_of_another_process() -> None:
    assert problem_of(READY, BUSY._replace(work=1), BUSY) == ""
    restarted = BUSY._replace(work=1, answered=5, unanswered=1)
    assert problem_of(READY, restarted, BUSY) == ""


def test_a_sample_has_the_counters_of_the_catalogue() -> None:
    metrics = Metrics()
    metrics.set_gauge("millrace_keys_waiting", 4)
    metrics.count("millrace_effects_total", 2, effect="CreatePod", outcome="done")
    metrics.count("millrace_records_read_total", 3)
    metrics.observe("millrace_stage_seconds", 0.1, stage="queue")
    metrics.count("watch_ingest_records_total", 5)
    for code, times in (("200", 7), ("409", 1), ("none", 2)):
        metrics.count("millrace_api_requests_total", times, verb="GET", resource="pods", code=code)
    metrics.add_process()
    assert sample_of(metrics.text()) == Sample(waiting=4, work=11, answered=8, unanswered=2)


def test_what_a_check_saw_is_there_for_the_next_one(tmp_path: Path) -> None:
    file = str(tmp_path / "seen.json")
    assert last_seen(file) is None
    note_seen(file, BUSY)
    assert last_seen(file) == BUSY
    (tmp_path / "seen.json").write_text("[1, 2")
    assert last_seen(file) is None


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where checks leave what they saw."""
    file = tmp_path / "seen.json"
    monkeypatch.setattr(health_checks, "SEEN_FILE", str(file))
    return file


def _port() -> int:
    (port,) = free_ports(1, random.SystemRandom())
    return port


@pytest.mark.usefixtures("seen")
async def test_a_service_is_checked_over_its_probes(capsys: pytest.CaptureFixture[str]) -> None:
    port, metrics, probes = _port(), Metrics(), Probes(lambda: True)
    metrics.set_gauge("millrace_keys_waiting", 1)

    async def checked() -> tuple[int, str]:
        code = await asyncio.to_thread(main, [], {PORT_SETTING: str(port)})
        return code, capsys.readouterr().out.strip()

    async with serve_probes(port, metrics, probes, host="127.0.0.1"):
        assert await checked() == (0, "ok")
        code, text = await checked()
        assert (code, text.split(",")[0]) == (1, "1 keys wait")
        metrics.count("millrace_records_read_total")
        assert await checked() == (0, "ok")
        probes.is_ready, probes.reason = lambda: False, lambda: "Kafka does not answer"
        assert await checked() == (1, "it is not ready (503): Kafka does not answer")


@pytest.mark.usefixtures("seen")
def test_a_service_that_does_not_listen_is_not_healthy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([], {PORT_SETTING: str(_port())}) == 1
    assert "it does not answer" in capsys.readouterr().out
    assert main([], {}) == 1
    assert f"{PORT_SETTING} is not set" in capsys.readouterr().out


def test_a_check_imports_no_library() -> None:
    """It is a process of its own every few seconds."""
    program = f"import sys; known = set(sys.modules); import {health_checks.__name__}; "
    program += "print(*sorted({name.split('.')[0] for name in set(sys.modules) - known}))"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(ended.stdout.split()) - set(sys.stdlib_module_names) == {"services"}
    assert "asyncio" not in ended.stdout.split()
