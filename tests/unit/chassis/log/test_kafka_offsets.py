"""Questions to a broker that has just started and knows of no broker, not even of itself."""

from __future__ import annotations

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from services.chassis.log.kafka_connecting import may_pass
from services.chassis.log.kafka_offsets import committed_offsets, log_offsets


async def test_who_keeps_a_group_is_requested_again_and_is_no_crash() -> None:
    """The client calls it a mistake of ours: an AssertionError, at which watch-ingest crashed."""
    client = AIOKafkaClient(bootstrap_servers="127.0.0.1:1")
    try:
        with pytest.raises(KafkaError) as raised:
            await committed_offsets(client, "group", [])
        assert may_pass(raised.value)
        with pytest.raises(KafkaError) as raised:
            await log_offsets(client, [], -1)
        assert may_pass(raised.value)
    finally:
        await client.close()
