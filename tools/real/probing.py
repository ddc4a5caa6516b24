"""Health checks of the parts. Each returns a problem as text, empty if the part is healthy.

Every check has a time limit.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Awaitable, Callable, Sequence

import aiohttp

from cli.failing import TimedOut
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_security import KafkaSecurity
from services.chassis.log.kafka_topics import look_at
from services.chassis.process.errors import LogRefused
from tools.real.files import certificate_of
from tools.real.node.namespaces import NODE
from tools.real.node.parts import CONTAINERD, HEALTH_PORTS
from tools.real.node_running import containerd_problem
from tools.real.parts import API_SERVER, CONTROLLER_MANAGER, ETCD, KWOK, SCHEDULER
from tools.real.state import PairFolder, PairPlan

PROBE_TIMEOUT_S = 3.0
POLL_S = 0.1
ANSWER_BYTES_MAX = 1 << 20
HEALTHY = ""
_METADATA, _METADATA_VERSION = 3, 1
_PATHS = {
    ETCD: "/health",
    API_SERVER: "/readyz",
    CONTROLLER_MANAGER: "/healthz",
    SCHEDULER: "/readyz",
    KWOK: "/healthz",
}


async def problem_of(folder: PairFolder, plan: PairPlan, part: str) -> str:
    """The problem of a part of the pair."""
    if folder.running(part) is None:
        return "does not run"
    if part == NODE:
        return HEALTHY
    if part == CONTAINERD:
        return await containerd_problem(folder)
    if plan.node and part in HEALTH_PORTS:
        url = f"http://{plan.node.node_ip}:{HEALTH_PORTS[part]}/healthz"
        return await http_problem(url, None)
    address = plan.address(part)
    if part not in _PATHS:
        return await kafka_problem(address, plan.brokers)
    if part in (ETCD, KWOK):
        return await http_problem(f"http://{address}{_PATHS[part]}", None)
    try:
        # These parts sign their own certificates, a moment after their start.
        trust = ssl.create_default_context(cafile=str(certificate_of(folder, part)))
    except (OSError, ssl.SSLError):
        return "has no certificate yet"
    return await http_problem(f"https://{address}{_PATHS[part]}", trust)


async def http_problem(url: str, trust: ssl.SSLContext | None) -> str:
    """The problem of a health endpoint."""
    limit = aiohttp.ClientTimeout(total=PROBE_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(url, ssl=trust or True) as response,
        ):
            body = await response.text()
            return HEALTHY if response.status == 200 else f"answers {response.status}: {body[:200]}"
    except TimeoutError:
        return f"does not answer in {PROBE_TIMEOUT_S:g} s"
    except aiohttp.ClientError as problem:
        return f"does not answer: {problem}"


async def kafka_problem(address: str, brokers_min: int) -> str:
    """The problem of a broker; it has to know at least `brokers_min` brokers."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            known = await _known_brokers(address)
    except TimeoutError:
        return f"does not answer in {PROBE_TIMEOUT_S:g} s"
    except (OSError, EOFError, ValueError, struct.error) as problem:
        return f"does not answer as a broker: {problem}"
    return HEALTHY if known >= brokers_min else f"knows {known} of {brokers_min} brokers"


async def secured_kafka_problem(address: str, security: KafkaSecurity) -> str:
    """The problem of a broker that wants TLS or a login, which the services' own client has."""
    brokers = Brokers(address, client_id="millrace-probe", security=security)
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            await look_at(brokers, ())
    except TimeoutError:
        return f"does not answer in {PROBE_TIMEOUT_S:g} s: {brokers.problem}".rstrip(": ")
    except LogRefused as refusal:
        return f"refuses: {refusal}"
    finally:
        await brokers.close()
    return HEALTHY


async def _known_brokers(address: str) -> int:
    """The number of brokers in the cluster metadata of one broker."""
    host, _, port = address.rpartition(":")
    bare = host.strip("[]")  # as an IPv6 address has
    reader, writer = await asyncio.open_connection(bare, int(port), limit=ANSWER_BYTES_MAX)
    try:
        writer.write(metadata_request(correlation=1))
        size = int.from_bytes(await reader.readexactly(4), "big")
        if not 8 <= size <= ANSWER_BYTES_MAX:
            raise ValueError(f"an answer of {size} bytes")
        return broker_count(await reader.readexactly(size), correlation=1)
    finally:
        writer.close()


def metadata_request(*, correlation: int) -> bytes:
    """Kafka's Metadata request with an empty list of topics, its length in front."""
    client = b"millrace"
    header = struct.pack(">hhih", _METADATA, _METADATA_VERSION, correlation, len(client)) + client
    body = header + struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


def broker_count(answer: bytes, *, correlation: int) -> int:
    """The number of brokers in a Metadata response. Raises ValueError for another response."""
    number, count = struct.unpack(">ii", answer[:8])
    if number != correlation:
        raise ValueError("the answer to another request")
    return int(count)


async def until(
    check: Callable[[], Awaitable[str]],
    what: str,
    timeout_s: float,
    more: Callable[[], Sequence[str]] = tuple,
) -> None:
    """Wait until `check` finds no problem. Raises TimedOut with the last one and `more` lines."""
    problem = "was not checked"
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                problem = await check()
                if not problem:
                    return
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise TimedOut(f"{what} after {timeout_s:g} s: {problem}", *more()) from None
