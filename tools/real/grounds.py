"""The ground of `up --real`: the pair with its topics, and an account for each service.

The pair is brought up unless it runs, and ended only if it was brought up here.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from cli.failing import Misused
from cli.grounds import PREFIX_SETTING, Ground, server_of
from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics
from contracts.topics import DEFAULT_PREFIX, PARTITIONS, PARTITIONS_MAX
from services.chassis.process.settings import KAFKA_SCHEME
from tools.real.accounts import service_accounts
from tools.real.pair import Pair, PairOptions, pair_down, pair_status, pair_up
from tools.real.progress import Progress

PARTITIONS_SETTING = "MILLRACE_PARTITIONS"
LEASE_NAMESPACE_SETTING = "MILLRACE_LEASE_NAMESPACE"


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
