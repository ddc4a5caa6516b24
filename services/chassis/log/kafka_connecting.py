"""One connection to Kafka's brokers for questions, and the patience when nobody answers.

The requests are in `kafka_offsets.py`, `kafka_topics.py` and the readers. A broker that is
away is waited for with back-off, for as long as it takes: every request here can be repeated.
What the brokers refuse for good raises LogRefused.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    BrokerNotAvailableError,
    KafkaError,
    KafkaTimeoutError,
    UnknownError,
)

from services.chassis.log.kafka_rights import Right, RightMissing
from services.chassis.log.kafka_security import PLAINTEXT, KafkaSecurity
from services.chassis.process.backoff import GrowingPause
from services.chassis.process.errors import LogRefused
from services.chassis.process.log_lines import log_of

T = TypeVar("T")

REQUEST_TIMEOUT_S = 10.0
METADATA_MAX_AGE_S = 60.0
RECONNECT_S = 0.1
AWAY_FIRST_S = 0.05

_PASSING = (KafkaTimeoutError, BrokerNotAvailableError, UnknownError)


class _Complaints(logging.Handler):
    """The last log line of aiokafka: only there is the reason why brokers did not answer.

    In an outage it says several lines a second, which go no further; ours say when the outage began
    and when it was over.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


_complaints = _Complaints()
_aiokafka = logging.getLogger("aiokafka")
_aiokafka.propagate = False
_aiokafka.addHandler(_complaints)


class LogClosed(Exception):
    """We closed the log while somebody waited for it."""


class Brokers:
    """The brokers at `servers` (HOST:PORT, with commas); connects at the first request."""

    def __init__(
        self, servers: str, *, client_id: str = "millrace", security: KafkaSecurity = PLAINTEXT
    ) -> None:
        self.servers = servers
        self.client_id = client_id
        self._security = security
        self.is_answering = True
        self.problem = ""  # why they do not answer, while they do not
        self.is_closed = False
        self._client: AIOKafkaClient | None = None
        self._connecting = asyncio.Lock()
        self._log = log_of("kafka")

    @property
    def options(self) -> dict[str, Any]:
        """What every client of aiokafka is made with."""
        return {
            "bootstrap_servers": self.servers,
            "client_id": self.client_id,
            "request_timeout_ms": int(REQUEST_TIMEOUT_S * 1000),
            "metadata_max_age_ms": int(METADATA_MAX_AGE_S * 1000),
            "retry_backoff_ms": int(RECONNECT_S * 1000),
        } | self._security.client_options()

    async def ask(self, what: str, question: Callable[[AIOKafkaClient], Awaitable[T]]) -> T:
        """The answer, however long it takes; `what` is for the log line. Raises LogRefused."""

        async def ask_once() -> T:
            client = await self._connected()
            try:
                return await question(client)
            except (KafkaError, OSError, TimeoutError):
                await self._let_go(client)
                raise

        return await self.persist(what, ask_once)

    async def persist(self, what: str, work: Callable[[], Awaitable[T]]) -> T:
        """The result of work that may be repeated; it is, while nobody answers.

        Raises LogRefused, or LogClosed when `close` was called meanwhile.
        """
        pause = GrowingPause(AWAY_FIRST_S, random.random)
        while True:
            if self.is_closed:
                raise LogClosed(self.servers)
            try:
                result = await work()
            except RightMissing as problem:
                raise self.refusal(what, problem.right) from None
            except (KafkaError, OSError, TimeoutError) as problem:
                if not may_pass(problem):
                    raise LogRefused(f"Kafka at {self.servers} refused {what}: {problem}") from None
                self._note_away(what, problem)
                await asyncio.sleep(pause.next_s())
                continue
            self._note_back()
            return result

    def refusal(self, what: str, right: Right) -> LogRefused:
        """What to raise where the brokers refuse for lack of a right."""
        lacks = right.missing_to(self._security.principal)
        return LogRefused(f"Kafka at {self.servers} refused {what}: {lacks}")

    async def close(self) -> None:
        """Close the connection; requests that wait for an answer raise LogClosed."""
        self.is_closed = True
        if self._client is not None:
            await self._let_go(self._client)

    async def _connected(self) -> AIOKafkaClient:
        async with self._connecting:
            if self._client is None:
                client = AIOKafkaClient(**self.options)
                try:
                    await client.bootstrap()
                except BaseException:
                    await client.close()
                    raise
                self._client = client
            return self._client

    async def _let_go(self, client: AIOKafkaClient) -> None:
        """Connect again next time: a broker may come back under another address."""
        if self._client is client:
            self._client = None
        with suppress(KafkaError, OSError):
            await client.close()

    def _note_away(self, what: str, problem: Exception) -> None:
        self.problem = f"{problem} {_complaints.last}".rstrip()
        if self.is_answering:
            self._log.warning(
                "kafka_away", servers=self.servers, request=what, problem=self.problem
            )
        self.is_answering = False

    def _note_back(self) -> None:
        if not self.is_answering:
            self._log.info("kafka_back", servers=self.servers)
        self.problem = _complaints.last = ""
        self.is_answering = True


async def stopped(client: AIOKafkaConsumer | AIOKafkaProducer) -> None:
    """Stop a client, whatever it says about it; what it holds is closed then."""
    stopping = asyncio.ensure_future(client.stop())
    await asyncio.wait({stopping})
    if not stopping.cancelled() and stopping.exception() is not None:
        log_of("kafka").warning("not_stopped", problem=str(stopping.exception()))


def may_pass(problem: BaseException) -> bool:
    """Whether what failed may succeed later, with nothing changed by us."""
    if not isinstance(problem, KafkaError) or isinstance(problem, _PASSING):
        return True
    return problem.retriable or type(problem) is KafkaError
