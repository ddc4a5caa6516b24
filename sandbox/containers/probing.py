"""Tries probes and hooks of a container: exec, httpGet, tcpSocket. What they come to is counted
in probe_counts.py, and decided on by the kubelet.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import aiohttp

from sandbox.containers.probe_counts import Count, counted, timing_of
from sandbox.containers.runs import Verdict

Obj = Mapping[str, Any]
Execute = Callable[[tuple[str, ...], float], Awaitable[tuple[int, str]]]
"""(words, seconds) → exit code and the end of the output. Raises TimeoutError."""
Tell = Callable[[str, Verdict, str], None]
"""(startup, liveness or readiness; verdict; output of the failure, empty if it passed)."""
OUTPUT_CHARS_MAX: Final = 1024
PROBES: Final = ("startup", "liveness", "readiness")


def first_verdict(container: Obj, kind: str) -> Verdict:
    """What a container counts as before its probe has been tried; liveness is believed."""
    if f"{kind}Probe" not in container or kind == "liveness":
        return Verdict.PASSED
    return Verdict.UNKNOWN


async def probe_all(container: Obj, address: str, execute: Execute, tell: Tell) -> None:
    """Try the probes of a container for as long as it runs; the others wait for startup."""
    if startup := container.get("startupProbe"):
        verdict = await _repeat("startup", startup, container, address, execute, tell)
        if verdict is Verdict.FAILED:
            return
    async with asyncio.TaskGroup() as tasks:
        for kind in ("liveness", "readiness"):
            if probe := container.get(f"{kind}Probe"):
                tasks.create_task(_repeat(kind, probe, container, address, execute, tell))


async def _repeat(
    kind: str, probe: Obj, container: Obj, address: str, execute: Execute, tell: Tell
) -> Verdict:
    """Try one probe until it is decided for good: a startup probe, or a failed liveness probe."""
    timing = timing_of(probe)
    count = Count(first_verdict(container, kind))
    await asyncio.sleep(timing.delay_s)
    while True:
        problem = await _problem(probe, container, address, execute, timing.timeout_s)
        before, count = count, counted(count, not problem, timing)
        recovers = before.failures and not count.failures
        if count.verdict is not before.verdict or count.failures == 1 or recovers:
            tell(kind, count.verdict, problem)
        if _is_final(kind, count.verdict):
            return count.verdict
        await asyncio.sleep(timing.period_s)


def _is_final(kind: str, verdict: Verdict) -> bool:
    """Whether a probe is not tried again: startup has an end, and a failed liveness kills."""
    if kind == "startup":
        return verdict is not Verdict.UNKNOWN
    return kind == "liveness" and verdict is Verdict.FAILED


async def _problem(
    probe: Obj, container: Obj, address: str, execute: Execute, timeout_s: float
) -> str:
    """What a probe complains about; empty if it passes."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _action(probe, container, address, execute, timeout_s)
    except TimeoutError:
        return f"timed out after {timeout_s:g} s"
    except (OSError, ValueError, aiohttp.ClientError) as problem:
        return str(problem) or type(problem).__name__


async def run_hook(
    hook: Obj, container: Obj, address: str, execute: Execute, timeout_s: float
) -> str:
    """Carry out a hook; returns what it complains about, empty if nothing."""
    if sleep := hook.get("sleep"):
        await asyncio.sleep(min(float(sleep.get("seconds") or 0), timeout_s))
        return ""
    return await _problem(hook, container, address, execute, timeout_s)


async def _action(
    action: Obj, container: Obj, address: str, execute: Execute, timeout_s: float
) -> str:
    if "exec" in action:
        words = tuple(map(str, action["exec"].get("command") or ()))
        code, output = await execute(words, timeout_s)
        return "" if code == 0 else (output.strip()[-OUTPUT_CHARS_MAX:] or f"exit code {code}")
    if "httpGet" in action:
        return await _get(action["httpGet"], container, address)
    if "tcpSocket" in action:
        target = action["tcpSocket"]
        port = port_of(target.get("port"), container)
        _, writer = await asyncio.open_connection(target.get("host") or address, port)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return ""
    return "the sandbox tries exec, httpGet and tcpSocket only"


async def _get(target: Obj, container: Obj, address: str) -> str:
    port = port_of(target.get("port"), container)
    scheme = str(target.get("scheme") or "HTTP").lower()
    path = str(target.get("path") or "/")
    url = f"{scheme}://{target.get('host') or address}:{port}/{path.removeprefix('/')}"
    headers = {str(each["name"]): str(each["value"]) for each in target.get("httpHeaders") or ()}
    headers.setdefault("User-Agent", "kube-probe/1.36")
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=headers, ssl=False, allow_redirects=False) as response,
    ):
        if 200 <= response.status < 400:  # as the kubelet: redirections are fine
            return ""
        return f"HTTP probe failed with statuscode: {response.status}"


def port_of(port: Any, container: Obj) -> int:
    """A port by its number, or by its name among those of the container. Raises OSError."""
    text = str(port)
    if text.isdecimal():
        return int(text)
    for each in container.get("ports") or ():
        if each.get("name") == text:
            return int(each["containerPort"])
    raise OSError(f"the container has no port named {text}")
