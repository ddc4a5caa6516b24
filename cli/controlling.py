"""Requests to a running `millrace up`: stop one of its services, or start it again.

`up` listens on a unix socket in its state folder, for its owner only. A request is one line, `stop
SERVICE`, `start SERVICE`, `away` (which services do not run) or `status`. The answer is one line,
sent after the request is carried out: `done: SENTENCE` or `refused: SENTENCE`. `running.py`
implements them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from cli.failing import CannotReach, Failure, Misused

SOCKET = "control"
REQUEST_S_MAX = 10.0
AWAY_S_MAX = 2.0
"""While a service starts, other requests wait: a person is not kept waiting for a hint."""
AWAY = "away"
STATUS = "status"
"""Answered at once: it shows how far the start of a service is."""
NO_SERVICE = "none"
DONE = "done"
REFUSED = "refused"

Acts = Mapping[str, Callable[[str], Awaitable[str]]]
"""Request word → function of a service name; returns a sentence about it or raises Failure."""


@asynccontextmanager
async def controlled(state: Path, acts: Acts, report: Callable[[str], None]) -> AsyncIterator[None]:
    """Serve requests inside of the block.

    One request at a time, but for `status`: a start that overtakes a stop would leave two processes
    of a service.
    """
    turn = asyncio.Lock()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_S_MAX):
                request = (await reader.readline()).decode(errors="replace").strip()
            async with contextlib.nullcontext() if request == STATUS else turn:
                outcome = await _carry_out(request, acts)
            writer.write(f"{outcome}\n".encode())
            await writer.drain()
        except (OSError, TimeoutError):
            pass  # the client is gone; its request is carried out nevertheless
        finally:
            writer.close()

    socket = state / SOCKET
    socket.unlink(missing_ok=True)  # left by an `up` that was killed
    try:
        server = await asyncio.start_unix_server(answer, socket)
    except OSError as problem:  # a path may have 107 characters
        report(f"services cannot be stopped and started from outside: {problem}")
        yield
        return
    socket.chmod(0o600)
    try:
        async with server:
            yield
    finally:
        socket.unlink(missing_ok=True)


async def _carry_out(request: str, acts: Acts) -> str:
    word, _, service = request.partition(" ")
    try:
        if word not in acts:
            raise Misused(f"{request!r} is not one of {', '.join(acts)}, and a service")
        sentence = await acts[word](service)
    except Failure as failure:
        return f"{REFUSED}: {_one_line(str(failure))}"
    return f"{DONE}: {_one_line(sentence)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


async def services_away(state: Path) -> str:
    """Which services of a running `up` do not run, in words; "" if all do, or it is not known."""
    try:
        async with asyncio.timeout(AWAY_S_MAX):
            away = await ask(state, AWAY, "")
    except (Failure, TimeoutError):
        return ""
    return "" if away == NO_SERVICE else away


def _why(problem: OSError, state: Path) -> str:
    if isinstance(problem, FileNotFoundError) and state.is_dir():
        return "it has ended, or has not printed `ready` yet"
    return problem.strerror or str(problem)


async def ask(state: Path, word: str, service: str) -> str:
    """Send a request to the `millrace up` of a state folder; returns the sentence of its answer.

    Raises CannotReach if no `up` runs there, Failure if it refuses.
    """
    try:
        reader, writer = await asyncio.open_unix_connection(state / SOCKET)
    except OSError as problem:
        raise CannotReach(
            f"no `millrace up` answers in {state}: {_why(problem, state)}"
        ) from problem
    try:
        writer.write(f"{word} {service}\n".encode())
        await writer.drain()
        answer = (await reader.readline()).decode().strip()
    finally:
        writer.close()
        await writer.wait_closed()
    outcome, _, sentence = answer.partition(": ")
    if not sentence:
        raise CannotReach(f"`millrace up` in {state} ended before it answered")
    if outcome != DONE:
        raise Failure(sentence)
    return sentence
