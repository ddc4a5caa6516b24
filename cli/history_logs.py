"""How a command finds the log: a recording, a bus that is named, or that of a running `up`.

    async with history_source(options, kubeconfig) as found:
        if found.source is None:
            ...  # found.why is a sentence that says what to do

Nothing here produces, commits, or makes a file or a topic.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cli.failing import CannotReach, Failure, Misused
from cli.kubeconfigs import NoKubeconfig, find_kubeconfig, up_of
from contracts.moments import unix_s_of
from contracts.servers import are_servers
from contracts.topics import CATALOGUE, DEFAULT_PREFIX, RESOURCES, TopicLayout
from history.recordings import RecordingSource
from history.sources import LogSource, Source
from history.unpacking import RecordingRefused
from services.chassis.kube.kubeconfig_files import Kubeconfig
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_offsets import missing, see_topics
from services.chassis.log.kafka_security import KafkaSecurity
from services.chassis.log.sqlite_log import SqliteLog, topics_in
from services.chassis.process.clock import SystemClock
from services.chassis.process.errors import LogRefused
from services.chassis.process.settings import KAFKA_SCHEME, read_settings

ANSWER_S_MAX = 20.0
CLIENT = "millrace-history"
SQLITE_SCHEME = "sqlite://"
NAME_IT = (
    "Say --bus sqlite:///DIR/log.sqlite (DIR: the folder of `millrace up --state DIR`), "
    "--bus kafka://HOST:PORT, or --recording FILE"
)
_PREFIX = re.compile(r"[a-z0-9][a-z0-9.-]*")
_AGE = re.compile(r"(?P<count>\d{1,9}(\.\d+)?)(?P<unit>[smhd])")
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}

RecordingOption = Annotated[
    Path | None, typer.Option("--recording", help="Read a file of `millrace record`.")
]
BusOption = Annotated[
    str,
    typer.Option(
        "--bus",
        envvar="MILLRACE_BUS",
        help="The log: sqlite:///PATH or kafka://HOST:PORT[,HOST:PORT] (with MILLRACE_KAFKA_* as "
        "services have them); default: that of the `millrace up` of the current context.",
    ),
]
PrefixOption = Annotated[
    str,
    typer.Option(
        "--prefix",
        envvar="MILLRACE_TOPIC_PREFIX",
        help="What the topics' names begin with; default: as that `up` has it, else millrace.",
    ),
]


SinceOption = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="AGE|TIME",
        help="From then on: 30s, 10m, 2h, 1d ago, or 2026-11-20T09:30:00Z; default: all of it.",
    ),
]


def since_of(text: str, now: float) -> float:
    """The unix seconds of `--since`; minus infinity without one. Raises Misused."""
    if not text:
        return -math.inf
    if found := _AGE.fullmatch(text):
        return now - float(found["count"]) * _UNITS_S[found["unit"]]
    with suppress(ValueError):
        return unix_s_of(text)
    raise Misused(
        f"--since {text!r}: say an age, such as 90s, 10m, 2h or 1d, or a time, such as "
        "2026-11-20T09:30:00Z"
    )


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """Which log: a recording, else a bus, else that of the `up` of the current context."""

    recording: Path | None = None
    bus: str = ""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A log that can be read, and its name for people; or no source, and why.

    `now` is when a recording was made (unix seconds), from which ages count; 0: count from now.
    """

    source: Source | None
    name: str = ""
    why: str = ""
    now: float = 0.0


@asynccontextmanager
async def history_source(
    options: HistoryOptions, kubeconfig: Kubeconfig | Path | None = None
) -> AsyncIterator[FoundLog]:
    """The log of a command.

    What is named and cannot be read raises Misused, CannotReach or Failure. Where nothing is named,
    and the current context is of no `up` whose log can be read, there is no source.
    """
    if options.recording is not None and options.bus:
        raise Misused("--recording and --bus both name a log: say one of them")
    if options.prefix and not _PREFIX.fullmatch(options.prefix):
        raise Misused(f"--prefix {options.prefix!r}: say lower-case letters, digits, dots, dashes")
    if options.recording is not None:
        try:
            recorded = RecordingSource(options.recording)
            made_at = recorded.manifest.made_at
            yield FoundLog(recorded, f"recording {options.recording}", now=made_at)
        except RecordingRefused as refused:  # also while it is read
            raise Misused(str(refused)) from None
        return
    bus, prefix, why = (options.bus, "", "") if options.bus else _bus_of_up(kubeconfig)
    if not bus:
        yield FoundLog(None, why=f"{why}. {NAME_IT}")
        return
    async with _log(bus, options.prefix or prefix or DEFAULT_PREFIX) as source:
        yield FoundLog(source, bus)


def _bus_of_up(kubeconfig: Kubeconfig | Path | None) -> tuple[str, str, str]:
    """The log of the `up` of the current context and its prefix; else why that is not known."""
    try:
        found = find_kubeconfig(kubeconfig)
    except NoKubeconfig:
        found = Kubeconfig()
    up = up_of(found)
    if up is None:
        return "", "", "The current context is not of a `millrace up`, so the log is not known"
    if not up.bus:
        return "", "", "The `millrace up` of the current context does not say where its log is"
    file = Path(up.bus.removeprefix(SQLITE_SCHEME))
    if not up.bus.startswith(KAFKA_SCHEME) and not file.is_file():
        return "", "", f"The `millrace up` of the current context left no log at {file}"
    return up.bus, up.topic_prefix, ""


@asynccontextmanager
async def _log(bus: str, prefix: str) -> AsyncIterator[Source]:
    """The log at a bus URL. Raises Misused, CannotReach, Failure."""
    if bus.startswith(KAFKA_SCHEME) and are_servers(bus.removeprefix(KAFKA_SCHEME)):
        opened = _kafka(bus.removeprefix(KAFKA_SCHEME), prefix)
    elif bus.startswith(f"{SQLITE_SCHEME}/"):
        opened = _sqlite(Path(bus.removeprefix(SQLITE_SCHEME)), prefix)
    else:
        raise Misused(f"--bus {bus!r} is neither sqlite:///PATH nor kafka://HOST:PORT[,HOST:PORT]")
    try:
        async with opened as source:
            yield source
    except LogRefused as refusal:
        raise Failure(str(refusal)) from refusal


def _topics_in_file(path: Path) -> dict[str, int]:
    if not path.is_file():
        raise CannotReach(f"there is no log at {path}")
    return topics_in(path)


@asynccontextmanager
async def _sqlite(path: Path, prefix: str) -> AsyncIterator[Source]:
    found = _topics_in_file(path)
    layout = TopicLayout(prefix, found.get(RESOURCES.name(prefix), 0))
    if {name: found.get(name) for name in layout.counts()} != layout.counts():
        names = ", ".join(sorted(found)) or "no topic"
        raise Misused(f"the log {path} has no topics that begin with {prefix}; it has {names}")
    log = SqliteLog(path, now=SystemClock().now, reads_only=True)
    try:
        yield LogSource(log, layout)
    finally:
        await log.close()


@asynccontextmanager
async def _kafka(servers: str, prefix: str) -> AsyncIterator[Source]:
    security = read_settings(KafkaSecurity)
    layout = await _layout_on_kafka(servers, prefix, security)
    log = KafkaLog(servers, now=SystemClock().now, client_id=CLIENT, security=security)
    try:
        yield LogSource(log, layout)
    finally:
        await log.close()


async def _layout_on_kafka(servers: str, prefix: str, security: KafkaSecurity) -> TopicLayout:
    """The topics as they are, which shows within seconds whether brokers answer at all."""
    brokers = Brokers(servers, client_id=CLIENT, security=security)
    names = [topic.name(prefix) for topic in CATALOGUE]
    try:
        async with asyncio.timeout(ANSWER_S_MAX):
            found = await brokers.ask("topics", lambda client: see_topics(client, names))
    except TimeoutError:
        sentence = f"no Kafka answers at {servers} in {ANSWER_S_MAX:g} s: {brokers.problem}"
        raise CannotReach(sentence) from None
    finally:
        await brokers.close()
    for name in names:
        if name not in found:
            raise Failure(missing(name))
    return TopicLayout(prefix, len(found[RESOURCES.name(prefix)].leaders))
