"""Brokers that want TLS, a name and a password are used like any others."""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from cli.failing import CannotReach
from cli.ports import free_ports
from cli.private import write_private
from cli.real.files import broker_properties, write_broker_files
from cli.real.launching import format_broker, start_part, stop_all
from cli.real.parts import broker_name, port_names
from cli.real.state import PairFolder, PairPlan
from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics, check_topics
from contracts.topics import PARTITIONS, RESOURCES
from services.chassis.log.bus import NewRecord, Partition
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_security import KafkaSecurity
from tests.real.__main__ import STATE_SETTING

pytestmark = [pytest.mark.real]
BROKER = broker_name(1)
USER, PASSWORD = "millrace", "a password with spaces"
LISTENER = "sasl_ssl"


@dataclass(frozen=True)
class Secured:
    """A broker whose clients prove who they are, and what a client needs for it."""

    servers: str
    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        """The settings of a client that is let in."""
        return {
            "MILLRACE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "MILLRACE_KAFKA_CA_FILE": str(self.folder / "ca.pem"),
            "MILLRACE_KAFKA_SASL_MECHANISM": "PLAIN",
            "MILLRACE_KAFKA_USERNAME": USER,
            "MILLRACE_KAFKA_PASSWORD_FILE": str(self.folder / "password"),
        }


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker beside the pair, made of the same build."""
    state = os.environ.get(STATE_SETTING, "")
    if not state:
        pytest.skip(f"{STATE_SETTING} is not set: the brokers' build is taken from our own pair")
    running = PairFolder(Path(state)).plan()
    assert running is not None
    *ports, port = free_ports(len(port_names(1)) + 1, random.Random())
    numbers = dict(zip(port_names(1), ports, strict=True))
    plan = PairPlan(running.digest, running.build, running.java, 1, numbers, running.cluster_id)
    folder = PairFolder(tmp_path_factory.mktemp("secured") / "broker")
    folder.prepare(plan)
    write_broker_files(folder, plan)
    _write_certificates(folder.path)
    properties = folder.path / BROKER / "server.properties"
    properties.write_text(secured_properties(plan, folder.path, port))
    asyncio.run(format_broker(folder, plan, BROKER))
    try:
        asyncio.run(start_part(folder, plan, BROKER))
        yield Secured(f"127.0.0.1:{port}", folder.path)
    finally:
        stop_all(folder)


def _write_certificates(folder: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    # Kafka reads keys as PKCS #8 only.
    encoded = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    chain = "".join(part.bytes().decode() for part in issued.cert_chain_pems)
    write_private(folder / "broker.pem", encoded + chain)
    (folder / "ca.pem").write_bytes(authority.cert_pem.bytes())
    (folder / "another-ca.pem").write_bytes(trustme.CA().cert_pem.bytes())
    write_private(folder / "password", PASSWORD + "\n")
    write_private(folder / "wrong-password", "guessed")


def secured_properties(plan: PairPlan, folder: Path, port: int) -> str:
    """The properties of any broker, and one more listener; what is reported last counts."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    more = {
        "listeners": f"PLAINTEXT://{plan.address(BROKER)},"
        f"CONTROLLER://{plan.address(f'{BROKER}-controller')},SASL_SSL://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://{plan.address(BROKER)},SASL_SSL://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SASL_SSL:SASL_SSL",
        f"listener.name.{LISTENER}.sasl.enabled.mechanisms": "PLAIN",
        f"listener.name.{LISTENER}.plain.sasl.jaas.config": f'{login} user_{USER}="{PASSWORD}";',
        f"listener.name.{LISTENER}.ssl.keystore.type": "PEM",
        f"listener.name.{LISTENER}.ssl.keystore.location": folder / "broker.pem",
    }
    lines = "".join(f"{key}={value}\n" for key, value in more.items())
    return broker_properties(plan, folder, BROKER) + lines


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
