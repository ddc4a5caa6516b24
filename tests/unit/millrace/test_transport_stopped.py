"""A process that is stopped for longer than silence is borne loses nothing when it goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

import msgspec
import pytest

from millrace.runtime import wires
from millrace.runtime.barriers import Barrier, Route
from millrace.runtime.sending import Limits, Sender
from tests.patience import patient
from tests.places import ROOT
from tests.unit.millrace.wiring import until

TICK_S = 0.1
COUNT = 3_000
RECEIVER = f"""
import asyncio, json, sys
import msgspec
from millrace.runtime import wires
from millrace.runtime.barriers import Barrier, Origin
from millrace.runtime.receiving import Receivers

wires.TICK_S = {TICK_S}
ORIGIN = Origin(1, 0, 0)

async def main():
    got, ends = [], asyncio.Event()
    async def deliver(_, item):
        if isinstance(item, Barrier):
            ends.set()
        else:
            got.extend(item)
    decode = msgspec.msgpack.Decoder(list[int]).decode
    receivers = Receivers(7, 2, 1, {{0: decode}}, [ORIGIN], deliver, port_base=0)
    await receivers.start("127.0.0.1")
    port = receivers._listeners[0].sockets[0].getsockname()[1]
    print(json.dumps(port), flush=True)
    async with asyncio.timeout({patient(60)}):
        await ends.wait()
    print(json.dumps(got), flush=True)
    await receivers.stop()

asyncio.run(main())
"""


@pytest.mark.parametrize("stopped", ["receiver", "sender"])
async def test_a_process_that_is_stopped_loses_nothing(
    stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "TICK_S", TICK_S)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RECEIVER, cwd=ROOT, stdout=asyncio.subprocess.PIPE, limit=1 << 20
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(patient(60)):
            port = json.loads(await process.stdout.readline())
            sender = Sender(
                Route(7, 1, 0, 2, 0), msgspec.msgpack.Encoder().encode, 1,
                port_base=port, limits=Limits(tuples_max=400),
            )  # fmt: skip
            sender.aim("127.0.0.1", 1)
            run = asyncio.create_task(sender.run())
            sending = asyncio.create_task(_send(sender))
            await until(lambda: sender.counts.tuples_transmitted > 500)
            await _stop_for_a_while(process.pid, sender, stopped)
            await sending
            await sender.take_barrier(Barrier("final"))
            got = json.loads(await process.stdout.readline())
            sender.close()
            await run
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert got == list(range(COUNT))
    assert sender.counts.lost == 0
    assert sender.counts.broken > 0


async def _send(sender: Sender) -> None:
    for begin in range(0, COUNT, 10):
        await sender.send(list(range(begin, begin + 10)))
        await asyncio.sleep(0.005)


async def _stop_for_a_while(pid: int, sender: Sender, stopped: str) -> None:
    """The receiver is stopped by a signal; this process stops by doing nothing else."""
    if stopped == "sender":
        end = asyncio.get_running_loop().time() + 2
        while asyncio.get_running_loop().time() < end:
            pass
        return
    os.kill(pid, signal.SIGSTOP)
    try:
        await until(lambda: not sender.is_connected, patient(10))
        await asyncio.sleep(1.5)  # it connects again and again to a process that does not answer
    finally:
        os.kill(pid, signal.SIGCONT)
