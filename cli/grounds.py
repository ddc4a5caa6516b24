"""What services run on (a "ground"): a Kubernetes API, a log, and the accounts of the services.

`running.py` makes the ground of the sandbox. This module makes the ground of the real pair: it
brings the pair up unless it runs, creates topics and accounts, and ends the pair only if it brought
it up. `real/pair.py` builds and starts pairs.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cli.accounts import service_accounts
from cli.failing import Misused
from cli.kubeconfigs import read_as_kubeconfig
from cli.real.pair import Pair, PairOptions, pair_down, pair_status, pair_up
from cli.real.progress import Progress
from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics
from contracts.topics import DEFAULT_PREFIX, PARTITIONS, PARTITIONS_MAX
from services.chassis.kube.kubeconfig_files import access_of, read_kubeconfig
from services.chassis.process.settings import KAFKA_SCHEME

PARTITIONS_SETTING = "MILLRACE_PARTITIONS"
PREFIX_SETTING = "MILLRACE_TOPIC_PREFIX"
LEASE_NAMESPACE_SETTING = "MILLRACE_LEASE_NAMESPACE"


@dataclass(frozen=True, slots=True)
class Ground:
    """Where services run; `kubeconfig` is the administrator's, `accounts` are the services'."""

    server: str
    kubeconfig: Path
    bus: str
    accounts: Mapping[str, Path] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def account_of(self, service: str) -> Path:
        """The kubeconfig of a service."""
        return self.accounts.get(service, self.kubeconfig)


@asynccontextmanager
async def real_ground(
    folder: Path | None, state: Path, *, nodes: int, say: Callable[[str], None]
) -> AsyncIterator[Ground]:
    """The pair with its topics and an account for each service.

    A pair that was up before stays up.
    """
    options = PairOptions(folder, nodes=nodes)
    say("starting Apache Kafka and Kubernetes")
    async with usable_pair(options) as pair:
        prefix = os.environ.get(PREFIX_SETTING, DEFAULT_PREFIX)
        topics = TopicsOptions(pair.bootstrap_servers, prefix, partitions=_partitions())
        await apply_topics(topics, Screen(quiet=True))
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
    """A pair that is up inside of the block; a pair that was up before stays up."""
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


def _partitions() -> int:
    """The number of the environment, which the services get as well. Raises Misused."""
    given = os.environ.get(PARTITIONS_SETTING, str(PARTITIONS))
    if not given.isdecimal() or not 1 <= int(given) <= PARTITIONS_MAX:
        raise Misused(f"{PARTITIONS_SETTING}={given}: say a number from 1 to {PARTITIONS_MAX}")
    return int(given)


def server_of(kubeconfig: Path) -> str:
    """The address of the API server of a kubeconfig's current context. Raises Misused."""
    with read_as_kubeconfig():
        return str(access_of(read_kubeconfig(kubeconfig)).cluster["server"])
