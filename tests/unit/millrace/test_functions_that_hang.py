"""A function that does not come to an end with a tuple is named, until it does."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from millrace import App, tumbling
from millrace.protocol import Trouble
from millrace.runtime.__main__ import report_hanging
from millrace.runtime.hanging import HANGS_S, Hanging
from millrace.runtime.signs import HANGING_LOOKS, STALLED_LOOKS, LiveFile
from planner.numbering.records import Fusion
from tests.patience import patient
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_gateway_client import Played, status

COUNT = 10
ODD = 3
GOT: list[int] = []
GATES: list[asyncio.Event] = []
"""What functions wait for at one tuple."""


@pytest.fixture(autouse=True)
def _empty() -> None:
    GOT.clear()
    GATES.clear()


@dataclass
class Number:
    value: int


def numbers() -> Iterator[Number]:
    yield from map(Number, range(COUNT))


async def waits_at(value: int) -> None:
    if value == ODD:
        GATES.append(asyncio.Event())
        await GATES[-1].wait()


async def mapped(number: Number) -> Number:
    await waits_at(number.value)
    return number


async def flat_mapped(number: Number) -> AsyncIterator[Number]:
    await waits_at(number.value)
    yield number


async def filtered(number: Number) -> bool:
    await waits_at(number.value)
    return True


async def took(number: Number) -> None:
    await waits_at(number.value)
    GOT.append(number.value)


class Flushes:
    """A sink whose flush awaits what nobody gives."""

    def __call__(self, number: Number) -> None:
        GOT.append(number.value)

    async def flush(self) -> None:
        await waits_at(ODD)


def got(number: Number) -> None:
    GOT.append(number.value)


def made(step: Callable[[Any], None]) -> App:
    app = App("tests::Hanging")
    step(app.source(numbers, name="Numbers"))
    return app


by_map = made(lambda stream: stream.map(mapped, name="Op").sink(got))
by_flat_map = made(lambda stream: stream.flat_map(flat_mapped, name="Op").sink(got))
by_filter = made(lambda stream: stream.filter(filtered, name="Op").sink(got))
by_sink = made(lambda stream: stream.sink(took, name="Op"))
by_flush = made(lambda stream: stream.sink(Flushes, name="Op"))
APPS = {
    "map": by_map,
    "flat_map": by_flat_map,
    "filter": by_filter,
    "sink": by_sink,
    "flush": by_flush,
}
FUSIONS = {"PEs": Fusion("legacy"), "one PE": Fusion("manual", 1)}


def sentence(kind: str) -> str:
    at = "been in flush" if kind == "flush" else f"worked on Number(value={ODD})"
    return f"operator Op has {at} for more than {HANGS_S:g} s"


@pytest.mark.looptime
@pytest.mark.parametrize("kind", APPS)
@pytest.mark.parametrize("fusion", FUSIONS.values(), ids=FUSIONS)
async def test_a_pe_reports_an_async_function_that_does_not_return_until_it_does(
    fusion: Fusion, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Cluster(APPS[kind], store=MemoryStore(), fusion=fusion) as cluster:
        await asyncio.sleep(HANGS_S - 2)
        pods = list(cluster.pods.values())
        assert not any(isinstance(each, Trouble) for pod in pods for each in pod.reports)
        await asyncio.sleep(4)
        assert not cluster.has_ended
        found = [each for pod in pods for each in pod.reports if isinstance(each, Trouble)]
        assert found == [Trouble("OperatorHangs", sentence(kind))]
        assert f"{sentence(kind)}, and has not returned" in caplog.text
        GATES[0].set()
        await asyncio.sleep(1)
        found = [each for pod in pods for each in pod.reports if isinstance(each, Trouble)]
        assert found[-1] == Trouble()
        await cluster.until(lambda: cluster.has_ended)
        assert list(range(COUNT)) == GOT


@pytest.mark.looptime
@pytest.mark.parametrize("kind", APPS)
async def test_a_run_logs_an_async_function_that_does_not_return(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    running = asyncio.create_task(APPS[kind].run_async())
    await asyncio.sleep(HANGS_S + 2)
    assert f"{sentence(kind)}, and has not returned" in caplog.text
    GATES[0].set()
    await running
    assert list(range(COUNT)) == GOT


def test_a_function_that_goes_on_from_tuple_to_tuple_does_not_hang() -> None:
    execution = SimpleNamespace(works_on=(0, Number(1), ""), operator=SimpleNamespace(name="Op"))
    node: Any = SimpleNamespace(name="Op", execution=execution)
    hanging = Hanging()
    for second in range(100):
        execution.works_on = (second // 20, Number(1), "")
        hanging.look([node], float(second))
        assert hanging.trouble == Trouble()


def test_a_loop_that_did_not_move_makes_no_function_hang_that_had_no_turn() -> None:
    execution = SimpleNamespace(works_on=(0, Number(1), ""), operator=SimpleNamespace(name="Op"))
    node: Any = SimpleNamespace(name="Op", execution=execution)
    hanging = Hanging()
    for moment in (0.0, 100.0, 200.0):
        hanging.look([node], moment)
        assert hanging.trouble == Trouble()


# ------------------------------------------------------------------ the event loop itself hangs


class Stalled:
    """A liveness file whose thread looks while a function does not return."""

    def __init__(self, folder: Path) -> None:
        self.found: list[str] = []
        self.log = folder / "termination-log"
        self.file = LiveFile(folder / "live", hangs=self.found.append, termination_log=self.log)

    def hang(self, looks: int) -> None:
        self.file.beat()
        for _ in range(looks):
            self.file.look()


def plain(then: Callable[[], None]) -> Callable[[Any], Any]:
    def function(item: Any) -> Any:
        number = item[-1] if isinstance(item, list) else item
        if number.value == ODD:
            then()
        return number

    return function


def later(then: Callable[[], None]) -> Callable[[Any], Awaitable[Any]]:
    async def function(number: Number) -> Number:
        await asyncio.sleep(0)
        return plain(then)(number)  # type: ignore[no-any-return]

    return function


def flushes(then: Callable[[], None]) -> Any:
    class Sink:
        def __call__(self, number: Number) -> None:
            """Take it."""

        def flush(self) -> None:
            then()

    return Sink()


HOLDS_UP: dict[str, Callable[[Any, Callable[[], None]], None]] = {
    "map": lambda stream, then: stream.map(plain(then), returns=Number, name="Op").sink(got),
    "async map": lambda stream, then: stream.map(later(then), returns=Number, name="Op").sink(got),
    "filter": lambda stream, then: stream.filter(plain(then), name="Op").sink(got),
    "sink": lambda stream, then: stream.sink(plain(then), name="Op"),
    "window": lambda stream, then: (
        stream.window(tumbling(count=1)).aggregate(plain(then), returns=Number, name="Op").sink(got)
    ),
    "flush": lambda stream, then: stream.sink(flushes(then), name="Op"),
}


@pytest.mark.parametrize("kind", HOLDS_UP)
def test_a_plain_function_that_holds_up_the_loop_is_named(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stalled = Stalled(tmp_path)
    app = made(lambda stream: HOLDS_UP[kind](stream, lambda: stalled.hang(HANGING_LOOKS)))
    with caplog.at_level(logging.WARNING):
        app.run()
    (who,) = stalled.found
    assert f"Number(value={ODD})" in who or kind == "flush"
    assert who.startswith("operator Op has ")
    assert who.endswith(f"for more than {HANGS_S:g} s, and holds up its whole process")
    assert who in caplog.text
    assert not stalled.log.exists()


def test_who_ends_such_a_process_finds_the_operator_in_its_termination_message(
    tmp_path: Path,
) -> None:
    stalled = Stalled(tmp_path)
    made(lambda stream: HOLDS_UP["map"](stream, lambda: stalled.hang(STALLED_LOOKS))).run()
    assert stalled.log.read_text().startswith("OperatorFailed: operator Op has worked on Number")
    stalled.file.beat()
    assert not stalled.log.exists(), "it went on"


async def test_that_the_loop_hangs_is_reported_beside_it(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    played = Played(status(503), status(204))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", played.reply)
    async with TestServer(app) as server:
        environment: Any = SimpleNamespace(
            gateway_url=str(server.make_url("")).rstrip("/"),
            job="shop",
            pe=4,
            launch=3,
            paths=SimpleNamespace(token=token),
        )
        await asyncio.to_thread(report_hanging, environment, "operator f has worked on 1")
    body = (
        '{"launch":3,"trouble":{"reason":"OperatorHangs","message":"operator f has worked on 1"}}'
    )
    assert played.bodies == [body, body]


class Opens(logging.Handler):
    """Opens a gate at the first line that is logged, and keeps the lines.

    The thread that logs calls this handler before those of the logger's parents: a handler
    there may have no line yet when the gate is open.
    """

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.gate.set()


def test_a_run_names_a_plain_function_that_holds_up_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("millrace.runtime.hanging.HANGS_S", 0.2)
    gate = threading.Event()

    def holds(number: Number) -> None:
        if number.value == ODD:
            gate.wait(patient(60))

    log, handler = logging.getLogger("millrace.runtime.hanging"), Opens(gate)
    log.addHandler(handler)
    try:
        made(lambda stream: stream.sink(holds, name="Op")).run()
    finally:
        log.removeHandler(handler)
    assert gate.is_set()
    [line] = [each for each in handler.lines if "holds up" in each]
    assert line.startswith("operator Op has worked on Number(value=3) for more than 0.2 s")
