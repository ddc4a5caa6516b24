"""Brokers that want TLS, a name and a password are used like any others."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

from cli.failing import CannotReach
from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics, check_topics
from contracts.topics import PARTITIONS, RESOURCES
from services.chassis.log.bus import NewRecord, Partition
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_security import KafkaSecurity
from tests.real.secured import PASSWORD, Secured, secured_broker

COVERS = ("services/chassis/log/kafka_security.py", "services/chassis/log/kafka_connecting.py")

pytestmark = [pytest.mark.real]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


def use(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Set the environment of a client."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


async def test_topics_are_made_and_facts_pass_over_a_secured_connection(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command, and the bus with its producer, its reader and its group."""
    use(monkeypatch, secured.variables)
    await apply_topics(TopicsOptions(secured.servers, "millrace"), Screen(quiet=True))
    log = KafkaLog(secured.servers, now=time.time, security=KafkaSecurity())
    topic = RESOURCES.name("millrace")
    where = Partition(topic, 0)
    try:
        await log.ensure_topics({topic: PARTITIONS})
        await log.produce([NewRecord(where, b"key", b"value", ())])
        async for batch in log.read({where: 0}):
            assert [record.value for record in batch] == [b"value"]
            break
        async for partitions in log.assignment(f"g-{uuid.uuid4().hex}", [topic]):
            assert len(partitions) == PARTITIONS
            break
    finally:
        await log.close()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"MILLRACE_KAFKA_PASSWORD_FILE": "wrong-password"}, "Authentication failed"),
        ({"MILLRACE_KAFKA_CA_FILE": "another-ca.pem"}, "certificate verify failed"),
    ],
)
async def test_who_cannot_prove_it_is_reported_why(
    secured: Secured,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str],
    expected: str,
) -> None:
    """Not only that nobody answers; and no password is printed."""
    monkeypatch.setattr("cli.topics.ANSWER_S_MAX", 3.0)
    files = {name: str(secured.folder / file) for name, file in changed.items()}
    use(monkeypatch, secured.variables | files)
    with pytest.raises(CannotReach) as refused:
        await check_topics(TopicsOptions(secured.servers, "millrace"), Screen(quiet=True))
    assert expected in str(refused.value)
    assert PASSWORD not in str(refused.value)
    assert "guessed" not in str(refused.value)
