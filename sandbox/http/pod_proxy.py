"""`pods/NAME:PORT/proxy/PATH`: a request to a pod that is a process, passed on to it.

Lives here: which pod and port a path means, and the refusals of kube-apiserver for those that
cannot be reached. GET only. Nothing listens at the address of a pod that is played.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import aiohttp
from yarl import URL

from sandbox.http.answers import Answer, StreamAnswer, refusal
from sandbox.store.errors import ApiError, bad_request
from sandbox.store.resources import POD
from sandbox.store.store import Store

CONNECT_S: Final = 5.0
_PATH: Final = re.compile(
    r"/api/v1/namespaces/(?P<namespace>[^/?]+)/pods/(?P<id>[^/?]+)/proxy(?P<rest>[/?].*)?"
)
_ID: Final = re.compile(r"(?:(?P<scheme>https?):)?(?P<name>[^:]+)(?::(?P<port>[^:]*))?")
_PORT_MAX: Final = 65_535
_UNAVAILABLE: Final = 503
_METHOD_REFUSED: Final = 405


@dataclass(frozen=True, slots=True)
class ProxyAnswer:
    """What the pod at `url` answers."""

    url: str
    headers: Mapping[str, str]
    status: int = 200


def proxy_answer(
    method: str, path: str, headers: Mapping[str, str], store: Store
) -> ProxyAnswer | Answer | None:
    """Where to pass a request on, the refusal of it, or None: its path means something else."""
    found = _PATH.fullmatch(path) if "/proxy" in path else None
    if found is None:
        return None
    try:
        if method != "GET":
            text = "the sandbox passes on GET only"
            raise ApiError(_METHOD_REFUSED, "MethodNotAllowed", text, {})
        root = _root(store, found["namespace"], found["id"])
    except ApiError as error:
        return refusal(error)
    rest = found["rest"] or ""
    passed = {"accept": headers["accept"]} if "accept" in headers else {}
    return ProxyAnswer(f"{root}{'' if rest.startswith('/') else '/'}{rest}", passed)


def _root(store: Store, namespace: str, name_and_port: str) -> str:
    named = _ID.fullmatch(unquote(name_and_port))
    if named is None:
        raise bad_request(f'invalid pod request "{name_and_port}"')
    pod = store.get(POD, unquote(namespace), named["name"])
    address = (pod.get("status") or {}).get("podIP") or ""
    if not address:
        raise bad_request("address not allowed")
    port = named["port"] or _first_port(pod)
    place = f"[{address}]" if ":" in address else address
    host = f"{place}:{port}" if port else place
    if not ipaddress.ip_address(address).is_loopback:
        raise unreachable(f"dial tcp {host}: connect: no route to host")
    if port and not (port.isdecimal() and int(port) <= _PORT_MAX):
        raise unreachable(f"dial tcp: lookup tcp/{port}: unknown port")
    return f"{named['scheme'] or 'http'}://{host}"


def _first_port(pod: Mapping[str, Any]) -> str:
    ports = (each for one in pod["spec"]["containers"] for each in one.get("ports") or ())
    return next((str(each["containerPort"]) for each in ports), "")


def unreachable(why: str) -> ApiError:
    """503 of kube-apiserver where a pod does not answer."""
    text = f"error trying to reach service: {why}"
    return ApiError(_UNAVAILABLE, "ServiceUnavailable", text, {})


@asynccontextmanager
async def passed_on(answer: ProxyAnswer) -> AsyncIterator[Answer | StreamAnswer]:
    """What the pod answers, as it comes; the connection lasts as long as the context."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
    async with contextlib.AsyncExitStack() as stack:
        session = aiohttp.ClientSession(timeout=timeout, auto_decompress=False)
        await stack.enter_async_context(session)
        url = URL(answer.url, encoded=True)
        request = session.get(url, headers=answer.headers, ssl=False, allow_redirects=False)
        try:
            response = await stack.enter_async_context(request)
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            yield refusal(unreachable(_why(answer.url, problem)))
            return
        stack.callback(response.close)
        kind = response.headers.get("content-type", "application/octet-stream")
        yield StreamAnswer(_parts(response), {"content-type": kind}, response.status)


def _why(url: str, problem: BaseException) -> str:
    host = URL(url, encoded=True).authority
    if isinstance(getattr(problem, "os_error", problem), ConnectionRefusedError):
        return f"dial tcp {host}: connect: connection refused"
    if isinstance(problem, TimeoutError):
        return f"dial tcp {host}: i/o timeout"
    return str(problem)


async def _parts(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The body; it ends where the pod breaks off."""
    with contextlib.suppress(aiohttp.ClientError, OSError):
        async for part in response.content.iter_any():
            yield part
