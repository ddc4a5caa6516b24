"""The transport to a real or sandboxed API server: aiohttp, set up by kubernetes_asyncio.

kubernetes_asyncio gives configuration (kubeconfig, in-cluster) and authentication; only
`client_config.py` imports it. Bytes go in and out unparsed, `kube/port.py` gives them meaning.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiohttp
from multidict import CIMultiDict

from services.chassis.kube.client_config import (
    SERVICE_TOKEN_FILENAME,
    configuration_of,
    read_service_account,
)
from services.chassis.kube.exec_plugins import Credential, Plugin, has_plugin
from services.chassis.kube.kubeconfig_files import Json, Kubeconfig, access_of, read_kubeconfig
from services.chassis.kube.port import Response, refusal
from services.chassis.kube.proxies import proxy_of
from services.chassis.process.errors import Away, Misconfigured, TooLarge, Transient
from services.chassis.process.log_lines import log_of

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

CONNECTIONS_MAX = 128
REQUEST_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5.0
KEEP_ALIVE_S = 60.0
READ_BUFFER_BYTES = 2**21
RESPONSE_BYTES_MAX = 8 * 2**20
"""A page of 500 ordinary objects is 3 MiB. Who lists asks for fewer objects above it: an outline of
JSON that nests too deep (`salvaging.py`) takes 22 times the memory of its text."""
TOKEN_REREAD_S = 60.0

_BEARER = "BearerToken"
_IMPERSONATION = "impersonation_headers"
"""A field of our own: the client's configuration has no place for them."""


async def load_configuration(
    kubeconfig: str | Kubeconfig, *, is_attended: bool = False
) -> Configuration:
    """The configuration of a kubeconfig's current context, or of the pod we run in.

    `is_attended`: a person is at the terminal, whom an exec plugin may ask. Raises Misconfigured.
    """
    config = kubeconfig
    if isinstance(config, str):
        config = read_kubeconfig(Path(config)) if config else Kubeconfig()
    if not config.files:
        configuration = read_service_account()
        configuration.refresh_api_key_hook = TokenFile(Path(SERVICE_TOKEN_FILENAME))
        return configuration
    access = access_of(config)
    plugin = PluginToken(Plugin(access, is_attended)) if has_plugin(access) else None
    configuration = await configuration_of(access, await plugin.user() if plugin else {})
    if plugin is not None:
        configuration.refresh_api_key_hook = plugin
    elif "tokenFile" in access.user:
        configuration.refresh_api_key_hook = TokenFile(Path(access.user["tokenFile"]))
    try:
        proxy_url = access.cluster.get("proxy-url", "")
        configuration.proxy = proxy_of(configuration.host or "", proxy_url, os.environ)
    except Misconfigured as problem:
        raise Misconfigured(f"the kubeconfig {access.file} cannot be used: {problem}") from None
    vars(configuration)[_IMPERSONATION] = impersonation_of(access.user)
    return configuration


def impersonation_of(user: Json) -> list[tuple[str, str]]:
    """The headers with which a user acts as another one (`as` and its fields)."""
    headers = [("Impersonate-User", user["as"])] if "as" in user else []
    headers += [("Impersonate-Uid", user["as-uid"])] if "as-uid" in user else []
    headers += [("Impersonate-Group", each) for each in user.get("as-groups") or ()]
    for key, values in (user.get("as-user-extra") or {}).items():
        name = f"Impersonate-Extra-{quote(str(key), safe='')}"
        headers += [(name, each) for each in values]
    return headers


_credentials: dict[str, Credential] = {}
"""The newest credential of each plugin: a command connects several times, and asks once."""


class PluginToken:
    """The token of an exec plugin, which runs again once it has expired or is not known (401)."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin
        self._name = repr((plugin.access.cluster, plugin.access.user))
        self._turn = asyncio.Lock()

    def distrust(self) -> None:
        """Run the plugin again before the next request."""
        _credentials.pop(self._name, None)

    async def user(self) -> Json:
        """The fields of a user that the credential gives. Raises Misconfigured."""
        async with self._turn:
            known = _credentials.get(self._name)
            if not known or known.is_over(time.time()):
                known = _credentials[self._name] = await self._plugin.run()
            return known.as_user()

    async def __call__(self, configuration: Configuration) -> None:
        """Put the newest token into the configuration; the last one stays if the plugin fails."""
        try:
            token = (await self.user()).get("token")
        except Misconfigured as problem:
            log_of("kube").warning("token_unread", problem=str(problem))
            return
        if token:
            configuration.api_key[_BEARER] = f"Bearer {token}"


class TokenFile:
    """A bearer token in a file that somebody renews: it is read again every minute.

    A token that the API server does not know (401) is read again before the next request: the
    account, or the whole cluster, was created again, and the file may have a newer token.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_again_at = 0.0

    def distrust(self) -> None:
        """Read the file again before the next request."""
        self._read_again_at = 0.0

    def __call__(self, configuration: Configuration) -> None:
        """Put the newest token into the configuration; the last one stays where none is there."""
        now = asyncio.get_running_loop().time()
        if now < self._read_again_at:
            return
        self._read_again_at = now + TOKEN_REREAD_S
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except OSError as problem:
            log_of("kube").warning("token_unread", file=str(self._path), problem=str(problem))
            return
        configuration.api_key[_BEARER] = f"Bearer {token}"


class HttpTransport:
    """`Transport` over one aiohttp session with a pool of kept-alive connections."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._root = (configuration.host or "").rstrip("/")
        connector = aiohttp.TCPConnector(
            limit=CONNECTIONS_MAX,
            ssl=_ssl_context(configuration),
            keepalive_timeout=KEEP_ALIVE_S,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=True,
            headers=CIMultiDict(vars(configuration).get(_IMPERSONATION, ())),
        )
        self._way: dict[str, Any] = {}
        if configuration.proxy:
            self._way["proxy"] = configuration.proxy
        if configuration.tls_server_name:
            self._way["server_hostname"] = configuration.tls_server_name

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request; raises Away when nobody listens, Transient when its outcome is unknown."""
        timeout = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S)
        try:
            async with self._session.request(
                method,
                self._root + path,
                data=body,
                headers=await self._authenticated(headers),
                timeout=timeout,
                allow_redirects=False,
                **self._way,
            ) as answer:
                self._note_status(answer.status)
                body = await _body_of(answer, path)
                return Response(answer.status, body, _lower(answer.headers))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as problem:
            raise Away(f"{method} {path}: {problem}") from problem
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise Transient(f"{method} {path}: {_worded(problem)}") from None

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """A watch: one JSON line at a time; Transient after `silence_s` without a byte."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=silence_s
        )
        try:
            async with self._session.get(
                self._root + path,
                headers=await self._authenticated(headers),
                timeout=timeout,
                allow_redirects=False,
                **self._way,
            ) as answer:
                self._note_status(answer.status)
                if answer.status >= 400:
                    body = await answer.read()
                    raise refusal(Response(answer.status, body, _lower(answer.headers)))
                try:
                    yield _lines(answer.content)
                finally:
                    cut(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise Transient(f"watch {path}: {_worded(problem)}") from None

    async def close(self) -> None:
        """Close the pool."""
        await self._session.close()

    def _note_status(self, status: int) -> None:
        hook = self._configuration.refresh_api_key_hook
        if status == HTTPStatus.UNAUTHORIZED and isinstance(hook, TokenFile | PluginToken):
            hook.distrust()

    async def _authenticated(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Tokens of a service account change while we run, so each request asks for its own."""
        complete = dict(headers)
        token = await self._configuration.get_api_key_with_prefix(_BEARER)
        if token:
            complete["authorization"] = token
        elif self._configuration.username:
            complete["authorization"] = self._configuration.get_basic_auth_token()
        return complete


def _worded(problem: Exception) -> str:
    """What went wrong; of an answer without its URL, as that of a proxy may have a password."""
    text = str(problem)
    if isinstance(problem, aiohttp.ClientResponseError):
        text = f"{problem.status} {problem.message}"
    return f"{type(problem).__name__} {text}"


def cut(answer: aiohttp.ClientResponse) -> None:
    """End a watch in the middle: TLS would wait for the server's goodbye, beyond `close`."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


async def _body_of(answer: aiohttp.ClientResponse, path: str) -> bytes:
    """The body; raises TooLarge before more than that is in memory."""
    chunks, size = list[bytes](), 0
    async for chunk in answer.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > RESPONSE_BYTES_MAX:
            cut(answer)
            raise TooLarge(f"{path}: the answer has more than {RESPONSE_BYTES_MAX} bytes")
    return b"".join(chunks)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Lines of any length; a rest without its newline was cut off and is dropped."""
    rest = b""
    async for chunk in content.iter_any():
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            if line:
                yield line


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    """Lower-case names; a repeated header becomes one, as in HTTP."""
    found: dict[str, str] = {}
    for key, value in headers.items():
        name = key.lower()
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _ssl_context(configuration: Configuration) -> ssl.SSLContext | bool:
    """How TLS is spoken; raises Misconfigured if a certificate or a key cannot be used."""
    if not (configuration.host or "").startswith("https"):
        return True
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    except (ssl.SSLError, OSError) as problem:
        raise Misconfigured(f"certificate-authority cannot be used: {problem}") from None
    if configuration.cert_file:
        try:
            context.load_cert_chain(configuration.cert_file, configuration.key_file, _no_password)
        except (ssl.SSLError, OSError, ValueError) as problem:
            raise Misconfigured(
                f"client-certificate and client-key cannot be used: {problem}"
            ) from None
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.disable_strict_ssl_verification:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _no_password() -> str:
    """OpenSSL would ask for one at the terminal. kubectl takes no encrypted keys either."""
    raise ValueError("the key is encrypted")
