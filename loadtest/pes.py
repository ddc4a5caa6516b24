"""Runs the PEs of a job as processes, without a control plane, so that they are measured alone.

The job is planned by the planner. A small pe-gateway answers PEs, and knows when each of them
is connected. Each PE has an address of its own and a folder as its root.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen
from types import TracebackType
from typing import Any, Final

import orjson
from aiohttp import web

from contracts.bundle_format import BundleLimits, open_bundle, pack
from loadtest import flows
from millrace import App
from millrace.loading import load_file
from planner.application.adl import read_application
from planner.numbering.records import Fusion
from planner.planning import plan
from planner.requesting import PlanRequest

JOB: Final = "flow"
JOB_ID: Final = 7
NETWORK: Final = "127.78"
"""Addresses of PEs are below it."""
WAIT_S: Final = 20
MIB: Final = 1024 * 1024
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class PeProcess:
    """A PE that runs. `connected_s`: from its start until it reported it, or None."""

    pe: int
    root: Path
    process: Popen[bytes]
    begun: float
    connected_s: float | None = None

    @property
    def result(self) -> dict[str, Any] | None:
        """What its sink wrote at the end."""
        path = self.root / flows.RESULT.lstrip("/")
        return dict(orjson.loads(path.read_bytes())) if path.exists() else None

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def resident_bytes(self) -> int:
        """Its resident memory."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0


class Flow:
    """A job whose PEs run as processes. Use it as an async context manager, which ends them.

    `cores`: those that PEs may use; None: all. `together`: all operators in one PE.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        values: Mapping[str, object],
        together: bool = False,
        cores: Iterable[int] | None = None,
    ) -> None:
        """A job of an application of `flows.py`, by its name there, that does not run yet."""
        self._folder = folder
        app = _app(name, folder)
        self._bundle = app.bundle(folder / "flow.sab").read_bytes()
        self._cores = None if cores is None else set(cores)
        request = PlanRequest(
            application=read_application(open_bundle(pack(app.adl()), BundleLimits())),
            bundle_digest="digest",
            job_name=JOB,
            job_id=JOB_ID,
            fusion=Fusion("manual", 1) if together else Fusion("legacy"),
            submission_time_values={name: str(value) for name, value in values.items()},
        )
        self._aadls = plan(request).aadls
        self.pes: dict[int, PeProcess] = {}

    async def __aenter__(self) -> Flow:
        """Start the gateway and all PEs."""
        served = web.Application()
        served.router.add_get("/api/runtime/job/{job}/bundle", self._give_bundle)
        served.router.add_get("/api/runtime/job/{job}/pe/{pe}", self._show)
        served.router.add_put("/api/runtime/job/{job}/pe/{pe}", self._take)
        self._runner = web.AppRunner(served, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        for pe, aadl in self._aadls.items():
            self.pes[pe] = self._started(pe, aadl, f"http://127.0.0.1:{port}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all PEs and the gateway."""
        for each in self.pes.values():
            each.process.send_signal(signal.SIGCONT)
            each.process.kill()
            each.process.wait()
        await self._runner.cleanup()

    def _started(self, pe: int, aadl: str, gateway: str) -> PeProcess:
        root = self._folder / f"pe-{pe}"
        for name in ("etc/config/pe", "var/run/secrets/streams-api", "tmp", "dev", "data"):
            (root / name).mkdir(parents=True)
        (root / "etc/config/pe/aadl.xml").write_text(aadl)
        (root / "var/run/secrets/streams-api/token").write_text("token")
        inherited = dict(os.environ)
        inherited.pop("PYTHONDONTWRITEBYTECODE", None)  # an image has compiled modules, too
        environment = {
            **inherited,
            "STREAMS_INSTANCE_ID": "default",
            "STREAMS_JOB_NAME": JOB,
            "STREAMS_PE_ID": str(pe),
            "STREAMS_PE_LAUNCH_COUNT": "1",
            "STREAMS_SAB_NAME": "flow.sab",
            "MILLRACE_JOB_UID": "uid",
            "MILLRACE_POD_IP": _address(pe),
            "MILLRACE_GATEWAY_URL": gateway,
            "MILLRACE_ROOT": str(root),
        }
        log = (root / "log").open("wb")
        with log:
            process = Popen(
                (sys.executable, "-m", "millrace.runtime"),
                env=environment,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
            )
        if self._cores is not None:  # threads that it starts later inherit it
            os.sched_setaffinity(process.pid, self._cores)
        return PeProcess(pe, root, process, time.monotonic())

    # ------------------------------------------------------------------ what PEs request

    async def _give_bundle(self, _: web.Request) -> web.Response:
        return web.Response(body=self._bundle, content_type="application/octet-stream")

    async def _show(self, request: web.Request) -> web.Response:
        if request.query.get("seen"):
            await asyncio.sleep(min(WAIT_S, int(request.query.get("wait", "0"))))
            return web.Response(status=304)
        peers = [each for each in request.query.get("peers", "").split(",") if each]
        seen = {
            "version": "1",
            "jobId": JOB_ID,
            "jobUid": "uid",
            "launch": 1,
            "peers": {each: {"address": _address(int(each)), "launch": 1} for each in peers},
            "handOver": None,
        }
        return web.json_response(seen)

    async def _take(self, request: web.Request) -> web.Response:
        """Take a report, and note when the PE first says that it is connected."""
        found, report = self.pes[int(request.match_info["pe"])], await request.json()
        if report.get("connectivity") == "Full" and found.connected_s is None:
            found.connected_s = time.monotonic() - found.begun
        return web.Response(status=204)

    # ------------------------------------------------------------------ waiting

    async def until_connected(self, within_s: float = 60) -> None:
        """Until all PEs have reported that they are. Raises TimeoutError, ChildProcessError."""
        async with asyncio.timeout(within_s):
            while not all(each.connected_s is not None for each in self.pes.values()):
                self.check()
                await asyncio.sleep(0.01)

    def go(self) -> None:
        """Let the sources begin."""
        for each in self.pes.values():
            (each.root / flows.GO.lstrip("/")).touch()

    async def result(self, within_s: float = 300) -> dict[str, Any]:
        """What the sink wrote. Raises TimeoutError, ChildProcessError."""
        async with asyncio.timeout(within_s):
            while True:
                self.check()
                for each in self.pes.values():
                    if (found := each.result) is not None:
                        return found
                await asyncio.sleep(0.05)

    def check(self) -> None:
        """Raises ChildProcessError if a PE has ended."""
        for each in self.pes.values():
            if (code := each.process.poll()) is not None:
                text = (each.root / "log").read_text(errors="replace")[-2000:]
                raise ChildProcessError(f"PE {each.pe} ended with code {code}: {text}")


def _app(name: str, folder: Path) -> App:
    """The application, from a copy of its file: what else is in its folder is not packed."""
    copy = folder / Path(flows.__file__).name
    shutil.copy(flows.__file__, copy)
    return load_file(copy, name)


def _address(pe: int) -> str:
    return f"{NETWORK}.{os.getpid() % 250 + 1}.{pe + 1}"
