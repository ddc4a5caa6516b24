"""`millrace topics apply|check`: topics and ACLs of the catalogue, made and compared on Kafka.

`contracts/topics.py` defines the topics, and the chassis has the requests to Kafka. This module
prints the table and the messages.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cli.failing import CannotReach, Failure, Misused
from cli.showing import PLAIN_BOX, Rows, Screen
from contracts.servers import are_servers
from contracts.topics import PARTITIONS, TopicLayout
from services.chassis.log.kafka_acls import grant, grants_of, missing_grants
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
from services.roster import BY_NAME, NAMES

ANSWER_S_MAX = 20.0
APPLY_S_MAX = 60.0
CHECK_AGAIN_S = 1.0
LOOKS_AFTER_MAX = 150
"""A broker that has just started may see a new topic half a minute later."""
DAY_MS = 24 * 3600 * 1000
_PREFIX = re.compile(r"[a-z0-9][a-z0-9.-]*")
_PRINCIPAL = re.compile(r"(?P<service>[a-z-]+)=(?P<principal>User:.+)")


@dataclass(frozen=True, slots=True)
class TopicsOptions:
    """Topic prefix and brokers; `replication` None: one replica for each broker, at most three.

    `principals` are those of services that are to have ACLs, as Kafka calls them (`User:NAME`).
    For `wait_s` seconds brokers may be away, and a check may find that topics are missing.
    """

    servers: str
    prefix: str
    replication: int | None = None
    principals: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    partitions: int = PARTITIONS

    @property
    def layout(self) -> TopicLayout:
        """Names and sizes of the topics."""
        return TopicLayout(self.prefix, self.partitions)


def principals_of(words: Sequence[str]) -> Mapping[str, str]:
    """The principals of `--principal SERVICE=User:NAME`. Raises Misused."""
    found: dict[str, str] = {}
    for word in words:
        match = _PRINCIPAL.fullmatch(word)
        if match is None or match["service"] not in NAMES:
            raise Misused(
                f"--principal {word!r} is not SERVICE=User:NAME; the services are "
                f"{', '.join(sorted(NAMES))}"
            )
        found[match["service"]] = match["principal"]
    return found


async def apply_topics(options: TopicsOptions, console: Screen) -> None:
    """Create missing topics and ACLs and correct settings.

    Raises Failure for a wrong partition count.
    """
    wanted = wanted_topics(options.layout)
    found = await _found(options, wanted)
    missing = [topic for topic in found if not topic.partitions]
    wrong = [topic for topic in found if topic.wrong_settings]
    if missing or wrong:
        async with _connected(options, APPLY_S_MAX) as brokers:
            if missing:
                await create(brokers, [topic.wanted for topic in missing], options.replication)
            if wrong:
                await correct(brokers, wrong)
            found = await look_patiently(brokers, wanted, looks_max=LOOKS_AFTER_MAX)
    done = {topic.wanted.name: "created" for topic in missing}
    done |= {topic.wanted.name: f"corrected {_names(topic)}" for topic in wrong}
    _show(found, done, console)
    if options.principals:
        await _apply_acls(options, console)


async def _apply_acls(options: TopicsOptions, console: Screen) -> None:
    wanted = grants_of(
        options.prefix, [(BY_NAME[name], each) for name, each in options.principals.items()]
    )
    async with _connected(options, APPLY_S_MAX) as brokers:
        missing = await missing_grants(brokers, wanted)
        await grant(brokers, missing)
    console.print(f"{len(wanted)} ACLs: {len(missing)} created")


async def check_topics(options: TopicsOptions, console: Screen) -> None:
    """Compare the topics with the catalogue; changes nothing. Raises Failure if one differs."""
    wanted = wanted_topics(options.layout)
    until_s = asyncio.get_running_loop().time() + options.wait_s
    found = await _found(options, wanted)
    while any(topic.problem for topic in found) and asyncio.get_running_loop().time() < until_s:
        await asyncio.sleep(CHECK_AGAIN_S)
        found = await _found(options, wanted)
    _show(found, {}, console)


async def _found(options: TopicsOptions, wanted: Sequence[Wanted]) -> Sequence[Found]:
    async with _connected(options, max(ANSWER_S_MAX, options.wait_s)) as brokers:
        return await look_at(brokers, wanted)


@asynccontextmanager
async def _connected(options: TopicsOptions, s_max: float) -> AsyncIterator[Brokers]:
    if not options.servers:
        raise Misused(
            "no Kafka is named: say --bootstrap-servers HOST:PORT[,HOST:PORT], or set "
            "MILLRACE_BOOTSTRAP_SERVERS"
        )
    if not are_servers(options.servers):
        raise Misused(
            f"--bootstrap-servers {options.servers!r} is not HOST:PORT[,HOST:PORT]; "
            "the default is $MILLRACE_BOOTSTRAP_SERVERS"
        )
    if not _PREFIX.fullmatch(options.prefix):
        raise Misused(f"--prefix {options.prefix!r}: say lower-case letters, digits, dots, dashes")
    configure("millrace", "ERROR")  # the messages below name the problem
    security = read_settings(KafkaSecurity)
    brokers = Brokers(options.servers, client_id="millrace-topics", security=security)
    try:
        async with asyncio.timeout(s_max):
            yield brokers
    except LogRefused as refusal:
        raise Failure(str(refusal)) from refusal
    except TimeoutError:
        sentence = f"no Kafka answers at {options.servers} in {s_max:g} s: {brokers.problem}"
        raise CannotReach(sentence) from None
    finally:
        await brokers.close()


def _show(found: Sequence[Found], done: dict[str, str], console: Screen) -> None:
    """Print the table. Raises Failure with a sentence for each topic that still differs."""
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
