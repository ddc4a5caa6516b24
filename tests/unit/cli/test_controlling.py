"""Services of a running `up` are stopped and started from outside, one request at a time."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.children import ChildSpec, Crew
from cli.contexts import new_info
from cli.controlling import AWAY, SOCKET, Acts, ask, controlled
from cli.ending import after_time_out
from cli.failing import CannotReach, Failure, Misused
from cli.layouts import LOG, Layout, UpOptions
from cli.running import RunningSystem, what_runs

STAYS = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(600)"
"""A child that signals its start through a pipe, and is ended by SIGTERM."""


@asynccontextmanager
async def listening(state: Path, acts: Acts) -> AsyncIterator[list[str]]:
    lines: list[str] = []
    async with controlled(state, acts, lines.append):
        yield lines


async def test_the_answer_comes_after_the_request_is_carried_out(tmp_path: Path) -> None:
    done: list[str] = []

    async def stop(service: str) -> str:
        await asyncio.sleep(0)
        done.append(service)
        return f"{service} ended"

    async with listening(tmp_path, {"stop": stop}):
        assert await ask(tmp_path, "stop", "watch-ingest") == "watch-ingest ended"
        assert done == ["watch-ingest"]


async def test_a_refusal_is_its_sentence_in_one_line(tmp_path: Path) -> None:
    """A sentence with the end of a log in it has many lines; the answer has one."""

    async def start(_service: str) -> str:
        raise Failure("it keeps ending:\nno topic\n")

    async with listening(tmp_path, {"start": start}):
        with pytest.raises(Failure, match="it keeps ending: no topic"):
            await ask(tmp_path, "start", "watch-ingest")
        with pytest.raises(Failure, match="'pause watch-ingest' is not one of start"):
            await ask(tmp_path, "pause", "watch-ingest")


async def test_one_request_runs_at_a_time(tmp_path: Path) -> None:
    """A start that is requested during a stop begins after it."""
    order: list[str] = []
    stopping, may_end = asyncio.Event(), asyncio.Event()

    async def stop(_service: str) -> str:
        stopping.set()
        await may_end.wait()
        order.append("stopped")
        return "stopped"

    async def start(_service: str) -> str:
        order.append("started")
        return "started"

    async with listening(tmp_path, {"stop": stop, "start": start}), asyncio.TaskGroup() as group:
        group.create_task(ask(tmp_path, "stop", "a"))
        await stopping.wait()
        group.create_task(ask(tmp_path, "start", "a"))
        may_end.set()
    assert order == ["stopped", "started"]


async def test_only_the_owner_can_send_requests(tmp_path: Path) -> None:
    async with listening(tmp_path, {}):
        assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600


async def test_the_socket_is_removed_at_the_end(tmp_path: Path) -> None:
    """`up` ends by being cancelled: at Ctrl-C, at SIGTERM, and when its ground ends."""
    listens = asyncio.Event()

    async def stay() -> None:
        async with listening(tmp_path, {}):
            listens.set()
            await asyncio.Event().wait()

    staying = asyncio.create_task(stay())
    await listens.wait()
    assert (tmp_path / SOCKET).exists()
    staying.cancel()
    await asyncio.wait((staying,))
    assert not (tmp_path / SOCKET).exists()


async def test_a_request_without_a_running_up_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(CannotReach, match=str(tmp_path)):
        await ask(tmp_path, "stop", "watch-ingest")


async def test_a_folder_too_deep_for_a_socket_costs_the_control_only(tmp_path: Path) -> None:
    """The system runs; a line reports that it cannot be controlled."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    async with listening(deep, {}) as lines:
        assert "cannot be stopped" in lines[0]


@asynccontextmanager
async def system_of(tmp_path: Path, *names: str) -> AsyncIterator[RunningSystem]:
    """Children that only sleep, under the names of services."""
    layout = Layout(UpOptions(tmp_path / "kubeconfig"), tmp_path)
    crew = Crew(layout.logs, None)
    for name in names:
        runs = tmp_path / f"{name}.runs"
        os.mkfifo(runs)
        crew.start(ChildSpec(name, (sys.executable, "-c", STAYS, str(runs))))
        await asyncio.to_thread(runs.read_bytes)
    try:
        yield RunningSystem(layout, layout.sandbox_ground(), crew, "millrace")
    finally:
        await crew.stop(names)


async def test_a_stopped_service_stays_stopped_and_the_others_run(tmp_path: Path) -> None:
    async with system_of(tmp_path, "watch-ingest", "fusion-backend") as system:
        assert await system.stop_service("watch-ingest") == "watch-ingest ended with code -15"
        assert system.children["watch-ingest"].is_stopped()
        assert system.children["watch-ingest"].restarts == 0
        assert system.children["fusion-backend"].exit_code is None


async def test_a_second_stop_or_start_says_that_there_was_nothing_to_do(tmp_path: Path) -> None:
    async with system_of(tmp_path, "watch-ingest") as system:
        await system.stop_service("watch-ingest")
        again = await system.stop_service("watch-ingest")
    assert again == "watch-ingest is stopped already; it ended with code -15"


async def test_what_runs_and_what_is_kept_is_printed_for_a_person(tmp_path: Path) -> None:
    """The jobs of an earlier `up` were lost without a word; nobody knew where metrics are."""
    gone = f"an `up` used {tmp_path} before"
    async with system_of(tmp_path) as system:
        lines = what_runs(system)
        assert gone not in lines[0]
        for name, address in system.layout.probes().items():
            assert f"  {name} {address}" in lines
        assert f"context millrace, now the current one of {tmp_path / 'kubeconfig'}" in lines
    (tmp_path / LOG).touch()
    async with system_of(tmp_path) as system:
        assert gone in what_runs(system)[0]
        assert "submit them again" in what_runs(system)[0]


async def test_after_a_time_out_the_services_that_do_not_run_are_named(tmp_path: Path) -> None:
    """With the command that starts them, and what becomes of the request."""
    up = new_info(tmp_path / "b", tmp_path)
    stands = "The request stands: it is carried out without this command."
    assert await after_time_out(None) == [stands]
    assert await after_time_out(up) == [stands]
    async with system_of(tmp_path, "watch-ingest", "fusion-backend") as system:
        acts = {AWAY: system.services_away}
        async with controlled(tmp_path, acts, print):
            assert await after_time_out(up) == [stands]
            await system.stop_service("fusion-backend")
            stopped = (
                "fusion-backend is stopped. `millrace service start NAME --state "
                f"{tmp_path}` starts a stopped service."
            )
            assert await after_time_out(up) == [stopped, stands]


async def test_only_services_are_stopped(tmp_path: Path) -> None:
    """The sandbox is their ground: without it everything would end."""
    async with system_of(tmp_path, "sandbox", "watch-ingest") as system:
        for name in ("sandbox", "nobody"):
            with pytest.raises(Misused, match="there are watch-ingest"):
                await system.stop_service(name)


async def test_an_up_that_does_not_answer_yet_is_told_from_one_that_is_nowhere(
    tmp_path: Path,
) -> None:
    with pytest.raises(CannotReach, match="it has ended, or has not printed `ready` yet"):
        await ask(tmp_path, AWAY, "")
    with pytest.raises(CannotReach, match="No such file or directory"):
        await ask(tmp_path / "gone", AWAY, "")
