"""`millrace service status`: what the services of a running `up` do.

`up` answers with what it knows of its children (`running.py`). The command itself reads the probe
and the metrics of each one that runs, so that a service that hangs delays no other request.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import aiohttp

from cli.controlling import STATUS, ask
from cli.failing import CannotReach
from cli.kubeconfigs import find_kubeconfig, up_of
from cli.showing import Rows
from contracts.moments import moment_of

ANSWER_S_MAX = 2.0
"""Of `up`, and of each probe and page of metrics."""
UNREADY = 1
_WAITING = re.compile(r"^millrace_keys_waiting (\S+)$", flags=re.MULTILINE)
_UNKNOWN = "-"
_HEADINGS = (
    *("SERVICE", "INSTANCE", "STATE", "PID", "SINCE", "READY", "WAITING", "RESTARTS"),
    "ADDRESS",
)


@dataclass(frozen=True, slots=True)
class Reported:
    """What `up` knows of a service: `since_s` is the Unix time when its process began or ended.

    `state`: running, stopping, stopped (by `service stop`) or ended (`up` starts it again). `pid`
    is None unless there is a process, `exit_code` unless one has ended.
    """

    name: str
    instance: str
    state: str
    pid: int | None
    exit_code: int | None
    since_s: float | None
    restarts: int
    address: str
    log: str


@dataclass(frozen=True, slots=True)
class Probed:
    """What a service itself answers; `waiting` keys have changed and are not decided on yet."""

    is_ready: bool = False
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """A service by both sources."""

    reported: Reported
    probed: Probed

    @property
    def is_well(self) -> bool:
        """Whether it runs and is ready."""
        return self.reported.state == "running" and self.probed.is_ready


def report_text(reports: Sequence[Reported]) -> str:
    """The answer of `up` in one line."""
    return json.dumps([asdict(each) for each in reports])


def exit_code_of(statuses: Sequence[ServiceStatus]) -> int:
    """0 if every service runs and is ready."""
    return 0 if all(each.is_well for each in statuses) else UNREADY


def document_of_services(statuses: Sequence[ServiceStatus]) -> dict[str, Any]:
    """The stable structure of `-o json`; what is not known is null."""
    return {
        "services": [
            {
                "name": each.reported.name,
                "instance": each.reported.instance,
                "state": each.reported.state,
                "pid": each.reported.pid,
                "exitCode": each.reported.exit_code,
                "since": _moment(each.reported.since_s),
                "ready": each.probed.is_ready,
                "keysWaiting": each.probed.waiting,
                "restarts": each.reported.restarts,
                "metrics": f"{each.reported.address}/metrics",
                "probes": [f"{each.reported.address}/healthz", f"{each.reported.address}/readyz"],
                "log": each.reported.log,
            }
            for each in statuses
        ]
    }


def table_of_services(statuses: Sequence[ServiceStatus]) -> Rows:
    """One row for each service; /metrics, /healthz and /readyz are at its address."""
    table = Rows(box=None, pad_edge=False)
    for heading in _HEADINGS:
        table.add_column(heading, overflow="fold")
    for each in statuses:
        reported, waiting = each.reported, each.probed.waiting
        table.add_row(
            reported.name,
            reported.instance,
            reported.state,
            _UNKNOWN if reported.pid is None else str(reported.pid),
            _moment(reported.since_s) or _UNKNOWN,
            "yes" if each.probed.is_ready else "no",
            _UNKNOWN if waiting is None else str(waiting),
            str(reported.restarts),
            reported.address,
        )
    return table


def _moment(since_s: float | None) -> str | None:
    return None if since_s is None else moment_of(since_s)


def state_folder(given: Path | None, kubeconfig: Path | None) -> Path:
    """The folder of the `up` to ask; raises CannotReach if the current context is of none."""
    if given is not None:
        return given
    path = find_kubeconfig(kubeconfig)
    up = up_of(path)
    if up is None or up.state is None:
        raise CannotReach(
            f"the current context of {path} is not of a `millrace up`. Say --state DIR (the folder "
            "of `millrace up --state DIR`). Services in containers are shown by `docker compose "
            "ps`, those in pods by `kubectl get pods`."
        )
    return up.state


async def statuses_of(state: Path) -> list[ServiceStatus]:
    """The services of the `up` of a state folder. Raises CannotReach if none answers."""
    try:
        async with asyncio.timeout(ANSWER_S_MAX):
            answer = await ask(state, STATUS, "")
    except TimeoutError:
        raise CannotReach(
            f"`millrace up` in {state} did not answer in {ANSWER_S_MAX:g} s"
        ) from None
    reports = [Reported(**each) for each in json.loads(answer)]
    limit = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
    async with aiohttp.ClientSession(timeout=limit) as session:
        probed = await asyncio.gather(*(_probed(session, each) for each in reports))
    return [ServiceStatus(*each) for each in zip(reports, probed, strict=True)]


async def _probed(session: aiohttp.ClientSession, reported: Reported) -> Probed:
    if reported.pid is None:
        return Probed()
    ready, metrics = await asyncio.gather(
        _page(session, f"{reported.address}/readyz"), _page(session, f"{reported.address}/metrics")
    )
    found = _WAITING.search(metrics or "")
    return Probed(ready is not None, int(float(found[1])) if found else None)


async def _page(session: aiohttp.ClientSession, url: str) -> str | None:
    """The text of a page; None if it does not answer, or not with 200."""
    try:
        async with session.get(url) as response:
            return await response.text() if response.status == 200 else None
    except (aiohttp.ClientError, TimeoutError):
        return None
