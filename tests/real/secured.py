"""A broker beside the pair, made of the same build, whose clients prove who they are."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

from cli.ports import LOOPBACK, free_ports
from cli.private import write_private
from tests.real.rounds import STATE_SETTING
from tools.real.files import broker_properties, write_broker_files
from tools.real.launching import format_broker, start_part, stop_all
from tools.real.parts import broker_name, port_names
from tools.real.state import PairFolder, PairPlan

BROKER = broker_name(1)
USER, PASSWORD = "millrace", "a password with spaces"
LISTENER = "sasl_ssl"


@dataclass(frozen=True)
class Secured:
    """A broker whose clients prove who they are, and what a client needs for it."""

    servers: str
    folder: Path
    plain_servers: str
    """The listener that asks for no login; with an authorizer its clients are User:ANONYMOUS."""

    @property
    def variables(self) -> dict[str, str]:
        """The settings of a client that is let in."""
        return self.variables_of(USER)

    def variables_of(self, user: str) -> dict[str, str]:
        """The settings of a client with that login."""
        return {
            "MILLRACE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "MILLRACE_KAFKA_CA_FILE": str(self.folder / "ca.pem"),
            "MILLRACE_KAFKA_SASL_MECHANISM": "PLAIN",
            "MILLRACE_KAFKA_USERNAME": user,
            "MILLRACE_KAFKA_PASSWORD_FILE": str(self.folder / "password"),
        }


@contextmanager
def secured_broker(
    path: Path, users: tuple[str, ...] = (), more: Mapping[str, str] | None = None
) -> Iterator[Secured]:
    """The broker while it runs; other `users` have the same password, `more` are properties."""
    state = os.environ.get(STATE_SETTING, "")
    if not state:
        pytest.skip(f"{STATE_SETTING} is not set: the brokers' build is taken from our own pair")
    running = PairFolder(Path(state)).plan()
    assert running is not None
    with broker_beside(running, path, plain_login((USER, *users)), more) as broker:
        yield broker


@dataclass(frozen=True, slots=True)
class Login:
    """How clients prove who they are: a mechanism, its properties, and words for the format."""

    mechanism: str
    jaas: str
    format_words: tuple[str, ...] = ()


def plain_login(users: tuple[str, ...]) -> Login:
    """The broker's properties hold the passwords."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    passwords = " ".join(f'user_{user}="{PASSWORD}"' for user in users)
    return Login("PLAIN", f"{module} {passwords};")


def scram_login(users: tuple[str, ...]) -> Login:
    """The brokers' metadata has what belongs to the passwords."""
    mechanism = "SCRAM-SHA-512"
    words = (f"{mechanism}=[name={user},password={PASSWORD}]" for user in users)
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    return Login(mechanism, module, tuple(x for word in words for x in ("--add-scram", word)))


@contextmanager
def broker_beside(
    running: PairPlan,
    path: Path,
    login: Login,
    more: Mapping[str, str] | None = None,
    host: str = LOOPBACK,
) -> Iterator[Secured]:
    """A broker of the build of a pair, with a listener at the host that wants a login."""
    *ports, port = free_ports(len(port_names(1)) + 1, random.Random())
    numbers = dict(zip(port_names(1), ports, strict=True))
    plan = PairPlan(running.digest, running.build, running.java, 1, numbers, running.cluster_id)
    folder = PairFolder(path / "broker")
    folder.prepare(plan)
    write_broker_files(folder, plan)
    _write_certificates(folder.path, host)
    properties = folder.path / BROKER / "server.properties"
    text = secured_properties(plan, folder.path, f"{host}:{port}", login)
    properties.write_text(text + "".join(f"{key}={value}\n" for key, value in (more or {}).items()))
    asyncio.run(format_broker(folder, plan, BROKER, *login.format_words))
    try:
        asyncio.run(start_part(folder, plan, BROKER))
        yield Secured(f"{host}:{port}", folder.path, plan.address(BROKER))
    finally:
        stop_all(folder)


def _write_certificates(folder: Path, host: str) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert(host)
    key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    # Kafka reads keys as PKCS #8 only.
    encoded = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    chain = "".join(part.bytes().decode() for part in issued.cert_chain_pems)
    write_private(folder / "broker.pem", encoded + chain)
    (folder / "ca.pem").write_bytes(authority.cert_pem.bytes())
    (folder / "another-ca.pem").write_bytes(trustme.CA().cert_pem.bytes())
    write_private(folder / "password", PASSWORD + "\n")
    write_private(folder / "wrong-password", "guessed")


def secured_properties(plan: PairPlan, folder: Path, address: str, login: Login) -> str:
    """The properties of any broker, and one more listener; what is reported last counts."""
    mechanism = login.mechanism.lower()
    more = {
        "listeners": f"PLAINTEXT://{plan.address(BROKER)},"
        f"CONTROLLER://{plan.address(f'{BROKER}-controller')},SASL_SSL://{address}",
        "advertised.listeners": f"PLAINTEXT://{plan.address(BROKER)},SASL_SSL://{address}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SASL_SSL:SASL_SSL",
        f"listener.name.{LISTENER}.sasl.enabled.mechanisms": login.mechanism,
        f"listener.name.{LISTENER}.{mechanism}.sasl.jaas.config": login.jaas,
        f"listener.name.{LISTENER}.ssl.keystore.type": "PEM",
        f"listener.name.{LISTENER}.ssl.keystore.location": folder / "broker.pem",
    }
    lines = "".join(f"{key}={value}\n" for key, value in more.items())
    return broker_properties(plan, folder, BROKER) + lines
