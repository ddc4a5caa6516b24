"""`millrace topics apply` waits until the brokers know what it has created."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cli import topics
from cli.failing import Failure
from cli.showing import Screen
from cli.topics import LOOKS_AFTER_MAX, TopicsOptions, apply_topics
from services.chassis.log.kafka_topics import Found, wanted_topics
from tests.virtual_time import virtually

OPTIONS = TopicsOptions("127.0.0.1:1", "late")


class LateBrokers:
    """They create topics, and list them only after `looks` requests."""

    def __init__(self, looks: int) -> None:
        self.looks_left = looks
        self.created = False

    async def ask(self, what: str, _question: Callable[[Any], Awaitable[Any]]) -> Any:
        if what == "new topics":
            self.created = True
            return None
        self.looks_left -= self.created
        wanted = wanted_topics(OPTIONS.layout)
        if self.looks_left > 0:
            return [Found(each) for each in wanted]
        return [Found(each, each.partitions, each.settings) for each in wanted]

    async def close(self) -> None:
        pass


@virtually
async def test_a_broker_that_has_just_started_may_learn_late_of_a_new_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was reported missing two seconds after it was created."""
    brokers = LateBrokers(LOOKS_AFTER_MAX - 1)
    monkeypatch.setattr(topics, "Brokers", lambda *_args, **_options: brokers)
    await apply_topics(OPTIONS, Screen(quiet=True))
    assert brokers.created


@virtually
async def test_a_topic_that_never_appears_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        topics, "Brokers", lambda *_args, **_options: LateBrokers(2 * LOOKS_AFTER_MAX)
    )
    with pytest.raises(Failure, match="is missing"):
        await apply_topics(OPTIONS, Screen(quiet=True))
