"""`millrace topics apply|check`: the topics of the catalogue, made and compared on Kafka.

What a topic should be is `contracts/topics.py`; how Kafka is asked is the chassis's business. Here
are the table that people see and the sentences that they get.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cli.connecting import are_brokers
from cli.failing import CannotReach, Failure, Misused
from cli.showing import PLAIN_BOX, Rows, Screen
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_security import KafkaSecurity
from services.chassis.log.kafka_topics import (
    Found,
    Wanted,
    correct,
    create,
    look_at,
    look_patiently,
    wanted_topics,
)
from services.chassis.process.errors import LogRefused
from services.chassis.process.log_lines import configure
from services.chassis.process.settings import read_settings

ANSWER_S_MAX = 20.0
APPLY_S_MAX = 60.0
LOOKS_AFTER_MAX = 150
"""A broker that has just started may learn half a minute later of a topic that was created."""
DAY_MS = 24 * 3600 * 1000
_PREFIX = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass(frozen=True, slots=True)
class TopicsOptions:
    """Which topics, on which brokers; `replication` None: a replica a broker, at most three."""

    servers: str
    prefix: str
    replication: int | None = None


async def apply_topics(wish: TopicsOptions, console: Screen) -> None:
    """Create what is missing and correct settings; a wrong number of partitions is refused."""
    wanted = wanted_topics(wish.prefix)
    found = await _found(wish, wanted)
    missing = [topic for topic in found if not topic.partitions]
    wrong = [topic for topic in found if topic.wrong_settings]
    if missing or wrong:
        async with _asking(wish, APPLY_S_MAX) as brokers:
            if missing:
                await create(brokers, [topic.wanted for topic in missing], wish.replication)
            if wrong:
                await correct(brokers, wrong)
            found = await look_patiently(brokers, wanted, looks_max=LOOKS_AFTER_MAX)
    done = {topic.wanted.name: "created" for topic in missing}
    done |= {topic.wanted.name: f"corrected {_names(topic)}" for topic in wrong}
    _show(found, done, console)


async def check_topics(wish: TopicsOptions, console: Screen) -> None:
    """Compare and change nothing."""
    _show(await _found(wish, wanted_topics(wish.prefix)), {}, console)


async def _found(wish: TopicsOptions, wanted: Sequence[Wanted]) -> Sequence[Found]:
    async with _asking(wish, ANSWER_S_MAX) as brokers:
        return await look_at(brokers, wanted)


@asynccontextmanager
async def _asking(wish: TopicsOptions, s_max: float) -> AsyncIterator[Brokers]:
    if not are_brokers(wish.servers):
        raise Misused(
            f"--bootstrap-servers {wish.servers!r} is not HOST:PORT[,HOST:PORT]; "
            "the default is $MILLRACE_BOOTSTRAP_SERVERS"
        )
    if not _PREFIX.fullmatch(wish.prefix):
        raise Misused(f"--prefix {wish.prefix!r}: say lower-case letters, digits, dots, dashes")
    configure("millrace", "ERROR")  # the sentences below say it
    security = read_settings(KafkaSecurity)
    brokers = Brokers(wish.servers, client_id="millrace-topics", security=security)
    try:
        async with asyncio.timeout(s_max):
            yield brokers
    except LogRefused as refusal:
        raise Failure(str(refusal)) from refusal
    except TimeoutError:
        sentence = f"no Kafka answers at {wish.servers} in {s_max:g} s: {brokers.problem}"
        raise CannotReach(sentence) from None
    finally:
        await brokers.close()


def _show(found: Sequence[Found], done: dict[str, str], console: Screen) -> None:
    """The table; a Failure with a sentence for each topic that is still not as it should be."""
    table = Rows("topic", "partitions", "kept", "", box=PLAIN_BOX)
    for topic in found:
        name = topic.wanted.name
        state = topic.problem and ("missing" if not topic.partitions else "differs")
        table.add_row(
            name, str(topic.partitions), _kept(topic), state or done.get(name, "as it should be")
        )
    console.print(table)
    problems = [topic.problem for topic in found if topic.problem]
    if problems:
        raise Failure(*problems)


def _kept(topic: Found) -> str:
    kept_ms = topic.settings.get("retention.ms", "")
    if not kept_ms.isdigit():
        return "for ever" if kept_ms else ""
    return f"{int(kept_ms) / DAY_MS:g} days"


def _names(topic: Found) -> str:
    return ", ".join(sorted(topic.wrong_settings))
