"""The accounts of the services' pods, each with the token that its pod has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from cli.connecting import aclosing_transport
from tests.node.installation import Installation
from tests.node.installing import NAMESPACE, RELEASE
from tests.node.pods import ServicePods, processes_of
from tests.real.accounts import ROLELESS, Accounts, make_roleless
from tests.real.installing import transport_of

TOKEN = "var/run/secrets/kubernetes.io/serviceaccount/token"


@asynccontextmanager
async def accounts_of_pods(there: Installation, folder: Path) -> AsyncIterator[Accounts]:
    """The accounts that the services run with, and one without roles."""
    kubeconfig = there.installer.ground.pair.kubeconfig
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(aclosing_transport(kubeconfig))
        found = Accounts(admin, NAMESPACE)
        tokens = {each.service: await _token_of(each) for each in there.services}
        for service, token in tokens.items():
            account = f"{RELEASE}-{service}"
            transport = transport_of(
                admin, kubeconfig, folder / service, account, namespace=NAMESPACE, token=token
            )
            found.of[service] = await stack.enter_async_context(transport)
        await make_roleless(found)
        transport = transport_of(
            admin, kubeconfig, folder / ROLELESS, ROLELESS, namespace=NAMESPACE
        )
        found.of[ROLELESS] = await stack.enter_async_context(transport)
        yield found


async def _token_of(service: ServicePods) -> str:
    """What the kubelet has put into the pod."""
    (pod,) = await service.pods()
    (first, *_) = processes_of(pod, service.service)
    file = Path(f"/proc/{first}/root/{TOKEN}")
    return await asyncio.to_thread(file.read_text)
