"""kubectl prints the same in front of the sandbox and of kube-apiserver."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import serving
from tests.patience import patient
from tests.real.differential.allowed_output import ALLOWED
from tests.real.differential.conftest import Bout
from tests.real.differential.furnishing import new_sandbox
from tests.real.differential.kubectl import Printed, Script, Seat, Stream, differences, typed
from tests.real.differential.playing import RealSide, SandboxSide, Side, living
from tests.real.differential.scripts.catalogue import SCRIPTS

COVERS = (
    "sandbox/http/tables.py",
    "sandbox/http/*columns.py",
    "sandbox/http/discovery.py",
    "sandbox/http/openapi.py",
    "sandbox/http/negotiation.py",
)

pytestmark = pytest.mark.real
Pairs = list[tuple[Printed, Printed]]
SCRIPTS_AT_ONCE = 3
ACCOUNT_TRIES_MAX = int(patient(300))
ACCOUNT_PERIOD_S = 0.1
_JSON = {"accept": "application/json", "content-type": "application/json"}
_BACKGROUND = b'{"propagationPolicy":"Background"}'


@dataclass(frozen=True)
class Desk:
    """One side: where its kubectl finds it, and how a script's namespace comes and goes."""

    name: str
    side: Side
    kubeconfig: Path
    folder: Path

    async def type(self, script: Script, namespace: str) -> list[Printed]:
        """What the commands of a script print here."""
        await self._furnish(namespace)
        seat = Seat(self.kubeconfig, self.folder / "cache", self.folder / namespace)
        try:
            return await typed(script, namespace, seat)
        finally:
            path = f"/api/v1/namespaces/{namespace}"
            await self.side.ask("DELETE", path, _JSON, _BACKGROUND)

    async def _furnish(self, namespace: str) -> None:
        body = b'{"metadata":{"name":"%s"}}' % namespace.encode()
        await self.side.ask("POST", "/api/v1/namespaces", _JSON, body)
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        for _ in range(ACCOUNT_TRIES_MAX):
            if (await self.side.ask("GET", account, _JSON, b"")).status == 200:
                return
            await asyncio.sleep(ACCOUNT_PERIOD_S)
        raise TimeoutError(f"{self.name} gave {namespace} no account")


class Desks:
    """Both sides, a few scripts at a time, each in a namespace that no script had before."""

    def __init__(self, sandbox: Desk, real: Desk) -> None:
        self._sides = (sandbox, real)
        self._run = uuid.uuid4().hex[:6]
        self._numbers = itertools.count(1)
        self._turns = asyncio.Semaphore(SCRIPTS_AT_ONCE)
        self._begun: dict[str, asyncio.Task[Pairs]] = {}

    async def begin(self, scripts: Iterable[Script]) -> None:
        """Begin with scripts whose turn is later; `type` waits for the one that it is requested."""
        for script in scripts:
            self._begun[script.name] = asyncio.create_task(self._type(script))

    async def type(self, script: Script) -> Pairs:
        """What the sandbox and the real server let kubectl print, command by command."""
        return await (self._begun.get(script.name) or self._type(script))

    async def stop(self) -> None:
        """Give up what nobody waits for any more."""
        for task in self._begun.values():
            task.cancel()
        await asyncio.gather(*self._begun.values(), return_exceptions=True)

    async def _type(self, script: Script) -> Pairs:
        async with self._turns:
            namespace = f"kubectl-{self._run}-{next(self._numbers)}"
            sandbox, real = await asyncio.gather(
                *(side.type(script, namespace) for side in self._sides)
            )
        return list(zip(sandbox, real, strict=True))


@asynccontextmanager
async def desks(kubeconfig: Path, real: RealSide, folder: Path) -> AsyncIterator[Desks]:
    """A living sandbox on a socket beside the real server."""
    async with living(new_sandbox()) as cluster:
        mine = folder / "kubeconfig"
        async with serving(cluster.api) as port:
            write_kubeconfig(mine, port=port)
            both = Desks(
                Desk("sandbox", SandboxSide(cluster), mine, folder / "sandbox"),
                Desk("real", real, kubeconfig, folder / "real"),
            )
            try:
                yield both
            finally:
                await both.stop()


@pytest.fixture(scope="session")
def both_desks(
    request: pytest.FixtureRequest,
    bout: Bout,
    kubeconfig: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Desks]:
    """Both sides in the loop of the session, at work on the scripts that were selected."""
    stack = AsyncExitStack()
    made = desks(kubeconfig, bout.both.real, tmp_path_factory.mktemp("kubectl"))
    try:
        both = bout.run(stack.enter_async_context(made))
        bout.run(both.begin(_selected(request.session)))
        yield both
    finally:
        bout.run(stack.aclose())


def _selected(session: pytest.Session) -> list[Script]:
    """The scripts of this session, in the order of its tests."""
    calls = [getattr(item, "callspec", None) for item in session.items]
    found = [call.params.get("script") for call in calls if call is not None]
    return [script for script in found if isinstance(script, Script)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_kubectl_prints_the_same(bout: Bout, both_desks: Desks, script: Script) -> None:
    """Exit code, output and complaints of each command agree, but for what is allowed."""
    printed = bout.run(both_desks.type(script))
    for command, (sandbox, real) in zip(script.commands, printed, strict=True):
        line = command.line if isinstance(command, Stream) else command
        allowed = ALLOWED.get((script.name, line), ())
        assert differences(sandbox, real) == allowed, line
