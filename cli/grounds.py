"""What services stand on: a Kubernetes API, a log, and who they are there.

`running.py` makes the ground of the sandbox, which is a child of it. Here is the real pair: brought
up where it does not run, furnished with topics and accounts, ended where it was brought up for us.
How a pair is built and started is `real/pair.py`'s business.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from cli.accounts import service_accounts
from cli.real.pair import Pair, PairOptions, pair_down, pair_status, pair_up
from cli.real.progress import Progress
from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics
from contracts.topics import DEFAULT_PREFIX
from services.chassis.process.settings import KAFKA_SCHEME

PREFIX_SETTING = "MILLRACE_TOPIC_PREFIX"
LEASE_NAMESPACE_SETTING = "MILLRACE_LEASE_NAMESPACE"


@dataclass(frozen=True, slots=True)
class Ground:
    """Where services work; `kubeconfig` is the administrator's, `accounts` are the services'."""

    server: str
    kubeconfig: Path
    bus: str
    accounts: Mapping[str, Path] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def account_of(self, service: str) -> Path:
        """The kubeconfig that a service is given."""
        return self.accounts.get(service, self.kubeconfig)


@asynccontextmanager
async def real_ground(
    folder: Path | None, state: Path, *, nodes: int, say: Callable[[str], None]
) -> AsyncIterator[Ground]:
    """The pair with its topics and an account for each service.

    One that ran before stays up at the end.
    """
    options = PairOptions(folder, nodes=nodes)
    say("starting Apache Kafka and Kubernetes")
    async with usable_pair(options) as pair:
        wish = TopicsOptions(pair.bootstrap_servers, os.environ.get(PREFIX_SETTING, DEFAULT_PREFIX))
        await apply_topics(wish, Screen(quiet=True))
        async with service_accounts(pair.kubeconfig, state / "accounts", say) as accounts:
            (home,) = {account.namespace for account in accounts}
            yield Ground(
                server=server_of(pair.kubeconfig),
                kubeconfig=pair.kubeconfig,
                bus=f"{KAFKA_SCHEME}{pair.bootstrap_servers}",
                accounts={account.service: account.kubeconfig for account in accounts},
                settings={LEASE_NAMESPACE_SETTING: home},
            )


@asynccontextmanager
async def usable_pair(options: PairOptions) -> AsyncIterator[Pair]:
    """A pair that is up inside of the block; one that was up before stays up."""
    found, parts = await pair_status(options)
    was_up = found is not None and not any(part.problem for part in parts)
    with Progress() as progress:
        pair = await pair_up(options, progress)
    try:
        yield pair
    finally:
        if pair.folder is not None and not was_up:
            with Progress() as progress:
                await pair_down(options, progress)


def server_of(kubeconfig: Path) -> str:
    """The address of the API server of a kubeconfig's current context."""
    config = yaml.safe_load(kubeconfig.read_text())
    contexts = {each["name"]: each["context"] for each in config["contexts"]}
    clusters = {each["name"]: each["cluster"] for each in config["clusters"]}
    return str(clusters[contexts[config["current-context"]]["cluster"]]["server"])
