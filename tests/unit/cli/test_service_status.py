"""`service status` shows each service of a running `up`, by what `up` and the service answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.controlling import STATUS, ask, controlled
from cli.failing import CannotReach
from cli.ports import LOOPBACK
from cli.service_status import (
    document_of_services,
    exit_code_of,
    state_folder,
    statuses_of,
    table_of_services,
)
from cli.showing import Screen
from services.chassis.process.metrics import Metrics
from services.chassis.running.probes import serve_probes
from services.chassis.running.wiring import Probes
from tests.unit.cli.test_controlling import system_of

INGEST, BACKEND = "watch-ingest", "fusion-backend"


@asynccontextmanager
async def a_system(folder: Path) -> AsyncIterator[SimpleNamespace]:
    """Two children under control; only watch-ingest serves probes, with 7 keys that wait."""
    metrics, probes = Metrics(), Probes()
    metrics.set_gauge("millrace_keys_waiting", 7)
    async with system_of(folder, INGEST, BACKEND) as system:
        acts = {STATUS: system.services_status}
        port = system.layout.ports[INGEST]
        async with (
            controlled(folder, acts, print),
            serve_probes(port, metrics, probes, host=LOOPBACK),
        ):
            yield SimpleNamespace(system=system, probes=probes)


async def test_each_service_is_shown_by_what_up_and_the_service_answer(tmp_path: Path) -> None:
    async with a_system(tmp_path) as running:
        statuses = await statuses_of(tmp_path)
        ingest, backend = document_of_services(statuses)["services"]
        children, addresses = running.system.children, running.system.layout.probes()
        assert (ingest["name"], ingest["state"], ingest["ready"]) == (INGEST, "running", True)
        assert (ingest["keysWaiting"], ingest["restarts"]) == (7, 0)
        assert ingest["pid"] == children[INGEST].pid
        assert ingest["metrics"] == f"{addresses[INGEST]}/metrics"
        assert ingest["since"].endswith("Z")
        assert (backend["state"], backend["ready"], backend["keysWaiting"]) == (
            *("running", False),
            None,
        )
        screen = Screen(width=200)
        with screen.capture() as shown:
            screen.print(table_of_services(statuses))
        shown_pid = f"running  {children[INGEST].pid}"
        assert [INGEST in line and shown_pid in line for line in shown.get().splitlines()] == [
            *(False, True),
            False,
        ]


async def test_the_exit_code_is_0_only_if_every_service_runs_and_is_ready(tmp_path: Path) -> None:
    async with a_system(tmp_path) as running:
        ingest, backend = await statuses_of(tmp_path)
        assert (exit_code_of([ingest]), exit_code_of([ingest, backend])) == (0, 1)
        running.probes.is_ready = lambda: False
        ingest, _ = await statuses_of(tmp_path)
        assert (ingest.reported.state, exit_code_of([ingest])) == ("running", 1)


async def test_a_stopped_service_has_its_exit_code_and_no_pid(tmp_path: Path) -> None:
    """Its address may be another process's by now: nothing is sent to it."""
    async with a_system(tmp_path) as running:
        await running.system.stop_service(INGEST)
        ingest, _ = document_of_services(await statuses_of(tmp_path))["services"]
        assert (ingest["state"], ingest["pid"], ingest["exitCode"]) == ("stopped", None, -15)
        assert not ingest["ready"]


async def test_the_status_is_answered_while_a_service_starts(tmp_path: Path) -> None:
    starting, may_end = asyncio.Event(), asyncio.Event()

    async def start(_service: str) -> str:
        starting.set()
        await may_end.wait()
        return "started"

    async def status(_service: str) -> str:
        return "[]"

    async with (
        controlled(tmp_path, {"start": start, STATUS: status}, print),
        asyncio.TaskGroup() as group,
    ):
        group.create_task(ask(tmp_path, "start", "a"))
        await starting.wait()
        assert await statuses_of(tmp_path) == []
        may_end.set()


async def test_without_an_up_there_is_a_sentence_and_exit_code_3(tmp_path: Path) -> None:
    with pytest.raises(CannotReach, match=str(tmp_path)) as caught:
        await statuses_of(tmp_path)
    assert caught.value.exit_code == 3
    other = tmp_path / "kubeconfig"
    other.write_text("{current-context: a, contexts: [{name: a, context: {cluster: a}}]}")
    with pytest.raises(CannotReach, match="Say --state DIR"):
        state_folder(None, other)
