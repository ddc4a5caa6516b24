"""A PE that is stopped ends within its time, whatever is slow just then."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from deploy.image.contents import BOOTSTRAP, RUNTIME
from millrace import App
from millrace.runtime.endings import Ending
from millrace.runtime.state_names import StateName
from planner.numbering.records import Fusion
from tests.patience import patient
from tests.places import ROOT
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

STOP_S = 5.0
GOODBYE_S = 1.5


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


class HungStore(MemoryStore):
    """Answers nothing while it hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.answers_reads = self.answers_writes = asyncio.Event()
        self.answers_reads.set()

    async def read(self, name: StateName) -> bytes:
        await self.answers_reads.wait()
        return await super().read(name)

    async def write(self, name: StateName, data: bytes) -> None:
        await self.answers_writes.wait()
        await super().write(name, data)


async def stopped_within(cluster: Cluster, pe: int, seconds: float) -> Ending:
    async with asyncio.timeout(seconds):
        return await cluster.stop(pe)


@pytest.mark.looptime
async def test_a_pe_that_is_stopped_while_it_loads_ends_at_once() -> None:
    store = HungStore()
    async with Cluster(job.app, store=store, stop_s=STOP_S) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        await cluster.stop(1)
        store.answers_reads = asyncio.Event()
        cluster.launch(1, 2)
        await asyncio.sleep(1)
        assert await stopped_within(cluster, 1, 0.1) is Ending.STOPPED
        store.answers_reads.set()
        cluster.launch(1, 3)
        await cluster.until(lambda: job.is_done(10_000))
        job.check(10_000)


@pytest.mark.looptime
async def test_pes_of_a_deleted_job_do_not_wait_for_each_other() -> None:
    """Their peers end as well: what they sent last is never acknowledged."""
    async with Cluster(job.app, stop_s=30.0) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        await cluster.kill(1)
        await asyncio.sleep(1)
        cluster.is_deleted = True
        cluster.tell()
        pes = list(cluster.pods)
        endings = await asyncio.gather(*(stopped_within(cluster, pe, 4.0) for pe in pes))
        assert set(endings) == {Ending.STOPPED}


class LateStore(MemoryStore):
    """Takes three seconds for the state of a stop."""

    async def write(self, name: StateName, data: bytes) -> None:
        if name.kind == "stopped":
            await asyncio.sleep(3.0)
        await super().write(name, data)


@pytest.mark.looptime
async def test_pes_of_a_deleted_job_with_a_store_save_their_state_all_the_same() -> None:
    """It is the only copy of what was counted."""
    store = LateStore()
    async with Cluster(job.app, store=store, stop_s=30.0) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        cluster.is_deleted = True
        cluster.tell()
        pes = list(cluster.pods)
        await asyncio.gather(*(stopped_within(cluster, pe, 8.0) for pe in pes))
        assert {StateName(pe, 1, "stopped") for pe in pes} <= store.kept.keys()


@pytest.mark.looptime
async def test_a_pe_that_is_stopped_while_it_saves_what_it_loaded_ends_in_time() -> None:
    """If the store answers in time, its state is exact as ever."""
    store = HungStore()
    async with Cluster(job.app, store=store, stop_s=STOP_S) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        await cluster.stop(1)
        store.answers_writes = asyncio.Event()
        for launch, ending in ((2, Ending.STOPPED_LATE), (3, Ending.STOPPED)):
            cluster.launch(1, launch)
            await asyncio.sleep(1)
            if ending is Ending.STOPPED:
                asyncio.get_running_loop().call_later(STOP_S / 2, store.answers_writes.set)
            assert await stopped_within(cluster, 1, STOP_S + GOODBYE_S) is ending
        cluster.launch(1, 4)
        await cluster.until(lambda: job.is_done(10_000))
        job.check(10_000)


async def stuck(_: job.Number) -> None:
    await asyncio.Event().wait()


stuck_app = App("tests::Stuck")
numbers = stuck_app.source(job.numbers, state=job.Given, fn_kwargs={"upto": 100_000})
numbers.sink(stuck, name="Stuck")


@pytest.mark.looptime
async def test_a_pe_whose_operator_takes_for_ever_ends_in_time() -> None:
    two = Fusion("manual", 2)
    async with Cluster(stuck_app, store=MemoryStore(), stop_s=STOP_S, fusion=two) as cluster:
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        await asyncio.sleep(1)
        for pe in list(cluster.pods):
            await stopped_within(cluster, pe, STOP_S + GOODBYE_S)


def test_a_thread_that_hangs_does_not_keep_the_process() -> None:
    """Such as one that reads from a disk that is away."""
    code = """
import asyncio, threading
from types import SimpleNamespace
from millrace.runtime import __main__ as main
from millrace.runtime.endings import Ending
async def run(_):
    asyncio.ensure_future(asyncio.to_thread(threading.Event().wait))
    await asyncio.sleep(0.01)
    return Ending.STOPPED
main._run = run
main.read_environment = lambda _: SimpleNamespace(paths=SimpleNamespace(termination_log=None))
main.write_termination_message = lambda *_: None
main.main()
"""
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=patient(60), check=False)
    assert found.returncode == Ending.STOPPED.code


def test_a_pe_whose_signal_to_stop_comes_while_it_imports_stops() -> None:
    """The kernel drops a signal that process 1 of a pod neither handles nor blocks."""
    code = f"""
import asyncio, os, runpy, signal
def imported(*_, **__):
    os.kill(os.getpid(), signal.SIGTERM)
    from millrace.runtime import __main__ as main
    async def run():
        await asyncio.wait_for(main._stopping().wait(), {patient(10)})
        print("stopped")
    main._runner()(run())
runpy.run_module = imported
exec({RUNTIME.files[BOOTSTRAP]!r})
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        timeout=patient(60),
        check=False,
        capture_output=True,
    )
    assert (found.returncode, found.stdout) == (0, b"stopped\n"), found.stderr
