"""The library, and the start of one of its clients."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any


def library() -> Any:
    """aiokafka, which is an extra. Raises ImportError with what to install."""
    try:
        import aiokafka
        import aiokafka.admin
        import aiokafka.errors
    except ImportError:
        message = "millrace.adapters.kafka needs aiokafka: install millrace-streams[kafka]"
        raise ImportError(message) from None
    return aiokafka


async def start(client: Any, servers: str) -> None:
    """Connect a client. Raises KafkaError that says why no broker lets it in."""
    errors = library().errors
    with _Complaints() as complaints:
        try:
            await client.start()
        except errors.KafkaConnectionError as problem:
            why = complaints.last or problem
            raise errors.KafkaConnectionError(f"no connection to {servers}: {why}") from None


class _Complaints(logging.Handler):
    """The last line that aiokafka logs: the cause is in no exception of it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def __enter__(self) -> _Complaints:
        logging.getLogger("aiokafka").addHandler(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        logging.getLogger("aiokafka").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()
