"""Topics on Kafka: made and compared by the command, looked at by the services."""

from __future__ import annotations

import asyncio
import io
import os
import time
import uuid
from collections.abc import AsyncIterator

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from typer.testing import CliRunner

from cli.commands import app
from cli.failing import Failure
from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics, check_topics
from contracts.topics import CATALOGUE, DECISIONS, PARTITIONS, RESOURCES, TopicLayout
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.process.errors import TopicDiffers
from tests.patience import patient

SERVERS = os.environ.get("MILLRACE_BOOTSTRAP_SERVERS", "")
WEEK_MS = str(7 * 24 * 3600 * 1000)


@pytest.fixture
def prefix() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture
def console() -> Screen:
    return Screen(file=io.StringIO(), width=200)


@pytest.fixture
async def admin(prefix: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=SERVERS)
    await admin.start()
    yield admin
    await admin.delete_topics([topic.name(prefix) for topic in CATALOGUE])
    await admin.close()


@pytest.fixture
async def log(admin: AIOKafkaAdminClient) -> AsyncIterator[KafkaLog]:
    log = KafkaLog(SERVERS, now=time.time)
    yield log
    await log.close()


def wanted(prefix: str) -> dict[str, int]:
    """What a service asks for when it starts."""
    return TopicLayout(prefix).counts()


def said(console: Screen) -> str:
    """What people saw."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.real
async def test_what_was_applied_is_what_services_and_check_ask_for(
    log: KafkaLog, prefix: str, console: Screen
) -> None:
    wish = TopicsOptions(SERVERS, prefix)
    await apply_topics(wish, console)
    assert said(console).count("created") == len(CATALOGUE)
    await log.ensure_topics(wanted(prefix))
    await check_topics(wish, console)
    await apply_topics(wish, console)
    assert said(console).count("as it should be") == 2 * len(CATALOGUE)


@pytest.mark.real
async def test_a_service_that_finds_no_topic_says_which_and_what_makes_it(
    log: KafkaLog, prefix: str
) -> None:
    with pytest.raises(TopicDiffers, match=f"{prefix}.*is missing; `millrace topics apply`"):
        await log.ensure_topics(wanted(prefix))


@pytest.mark.real
async def test_another_number_of_partitions_is_refused_by_services_check_and_apply(
    log: KafkaLog, prefix: str, console: Screen, admin: AIOKafkaAdminClient
) -> None:
    await create(admin, NewTopic(RESOURCES.name(prefix), 3, 1))
    sentence = f"topic {RESOURCES.name(prefix)} has 3 partitions, not {PARTITIONS}"
    with pytest.raises(TopicDiffers, match=sentence):
        await log.ensure_topics(wanted(prefix))
    for command in (apply_topics, check_topics):
        with pytest.raises(Failure, match=sentence):
            await command(TopicsOptions(SERVERS, prefix), console)


@pytest.mark.real
async def test_a_wrong_retention_is_refused_and_corrected_and_other_settings_stay(
    log: KafkaLog, prefix: str, console: Screen, admin: AIOKafkaAdminClient
) -> None:
    name = DECISIONS.name(prefix)
    own = {"retention.ms": "1000", "segment.ms": "7654321"}
    await create(admin, NewTopic(name, PARTITIONS, 1, topic_configs=own))
    wish = TopicsOptions(SERVERS, prefix)
    with pytest.raises(Failure, match=f"{name} has .*, not"):
        await check_topics(wish, console)
    await apply_topics(wish, console)
    assert "corrected" in said(console)
    await log.ensure_topics(wanted(prefix))
    settings = await settings_of(admin, name)
    assert (settings["retention.ms"], settings["segment.ms"]) == (WEEK_MS, "7654321")


@pytest.mark.real
async def test_more_replicas_than_brokers_are_refused_in_a_sentence(
    prefix: str, console: Screen, admin: AIOKafkaAdminClient
) -> None:
    with pytest.raises(Failure, match="replication factor of 99"):
        await apply_topics(TopicsOptions(SERVERS, prefix, replication=99), console)


def test_brokers_without_a_port_and_odd_prefixes_are_misused() -> None:
    for words in (
        ["--bootstrap-servers", "kafka"],
        ["--bootstrap-servers", "127.0.0.1:1", "--prefix", "A b"],
    ):
        result = CliRunner().invoke(app, ["topics", "check", *words])
        assert result.exit_code == 2


def test_nobody_who_answers_is_exit_code_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.topics.ANSWER_S_MAX", 0.2)
    result = CliRunner().invoke(app, ["topics", "check", "--bootstrap-servers", "127.0.0.1:1"])
    assert result.exit_code == 3
    assert "no Kafka answers at 127.0.0.1:1" in result.stderr


async def create(admin: AIOKafkaAdminClient, topic: NewTopic) -> None:
    """Create a topic and wait until the broker knows of it: its answer comes before that."""
    await admin.create_topics([topic])
    for _ in range(int(patient(1000))):
        if topic.name in await admin.list_topics():
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"the broker never knew {topic.name}")


async def settings_of(admin: AIOKafkaAdminClient, topic: str) -> dict[str, str]:
    """All settings in force of a topic."""
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

    (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    ((_code, _message, _kind, _name, entries),) = answer.resources
    return {entry[0]: entry[1] for entry in entries}
