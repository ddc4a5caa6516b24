"""The files that the parts read: credentials, kubeconfigs, Kafka's properties.

Pure but for `write_*`, which write to the paths that `parts.py` names. The API server signs its own
certificate; the file also holds the authority, so that every kubeconfig can name it and no client
has to skip the check.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cli.private import private_folder, write_private
from tools.real.node.certificates import now_utc, write_certificates
from tools.real.node.parts import KUBE_PROXY, KUBELET, write_files
from tools.real.node.plan import NODE_NAME
from tools.real.parts import (
    API_SERVER,
    CONTROLLER_MANAGER,
    KWOK,
    SCHEDULER,
    api_server_certificate,
    broker_names,
)
from tools.real.state import PairFolder, PairPlan

MASTERS = "system:masters"
# The users of the API server: name of the kubeconfig → user, groups.
USERS: Mapping[str, tuple[str, str]] = {
    "admin": ("admin", MASTERS),
    CONTROLLER_MANAGER: ("system:kube-controller-manager", ""),
    SCHEDULER: ("system:kube-scheduler", ""),
    KWOK: ("kwok", MASTERS),
}
NODE_USERS: Mapping[str, tuple[str, str]] = {
    KUBELET: (f"system:node:{NODE_NAME}", "system:nodes"),
    KUBE_PROXY: ("system:kube-proxy", ""),
}
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_P256_BYTES = 32
_P256_OID = bytes.fromhex("06082a8648ce3d030107")
LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %m (%c{1})%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


def users_of(plan: PairPlan) -> Mapping[str, tuple[str, str]]:
    """The users of a pair's API server."""
    return {**USERS, **NODE_USERS} if plan.node else USERS


def write_credentials(folder: PairFolder, plan: PairPlan) -> None:
    """Write the service accounts' key and the token file, before the API server starts."""
    scalar = secrets.randbelow(P256_ORDER - 1) + 1
    write_private(folder.kube / "service-account.key", signing_key(scalar))
    users = users_of(plan)
    tokens = {name: secrets.token_urlsafe(32) for name in users}
    write_private(folder.kube / "tokens.csv", token_file(tokens, users))
    if plan.node:
        write_certificates(folder.kube, plan.node, now_utc())
        write_files(plan.node, folder.path)


def write_kubeconfigs(folder: PairFolder, plan: PairPlan) -> None:
    """Write a kubeconfig for each user, after the API server has signed its certificate."""
    authority = certificate_of(folder, API_SERVER).read_bytes()
    users = users_of(plan)
    tokens = _tokens(folder, users)
    server = f"https://{plan.address(API_SERVER)}"
    for name, token in tokens.items():
        text = kubeconfig(server, authority, users[name][0], token)
        path = folder.kubeconfig if name == "admin" else folder.kube / f"{name}.kubeconfig"
        write_private(path, text)


def write_broker_files(folder: PairFolder, plan: PairPlan) -> None:
    """Write the configuration of the brokers."""
    write_private(folder.path / "log4j2.properties", LOG4J)
    for name in broker_names(plan):
        own = folder.path / name
        private_folder(own)
        write_private(own / "server.properties", broker_properties(plan, folder.path, name))


def certificate_of(folder: PairFolder, part: str) -> Path:
    """The certificate that a part has signed for itself."""
    # Each part names the file after itself; the API server names it `apiserver`.
    if part == API_SERVER:
        return api_server_certificate(folder.path)
    return folder.kube / part / f"{part}.crt"


def _tokens(folder: PairFolder, users: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    lines = (folder.kube / "tokens.csv").read_text().splitlines()
    by_user = {fields[1]: fields[0] for fields in (line.split(",") for line in lines)}
    return {name: by_user[user] for name, (user, _) in users.items()}


def token_file(tokens: Mapping[str, str], users: Mapping[str, tuple[str, str]] = USERS) -> str:
    """The API server's --token-auth-file: token, user, uid, groups."""
    rows = [f'{tokens[name]},{user},{name},"{group}"' for name, (user, group) in users.items()]
    return "\n".join(rows) + "\n"


def kubeconfig(server: str, authority: bytes, user: str, token: str) -> str:
    """A kubeconfig with one context, which trusts this authority only."""
    encoded = base64.b64encode(authority).decode()
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "real", "cluster": {"server": server, "certificate-authority-data": encoded}}
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [
            {"name": "real", "context": {"cluster": "real", "user": user, "namespace": "default"}}
        ],
        "current-context": "real",
    }
    return yaml.safe_dump(config, sort_keys=False)


def signing_key(scalar: int) -> str:
    """An EC private key (RFC 5915, P-256) as PEM; the public half follows from it."""
    secret = scalar.to_bytes(_P256_BYTES, "big")
    version, octets = b"\x02\x01\x01", b"\x04\x20" + secret
    parameters = bytes([0xA0, len(_P256_OID)]) + _P256_OID
    body = version + octets + parameters
    encoded = base64.b64encode(bytes([0x30, len(body)]) + body).decode()
    lines = [encoded[start : start + 64] for start in range(0, len(encoded), 64)]
    return "\n".join(["-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----", ""])


def broker_properties(plan: PairPlan, folder: Path, name: str) -> str:
    """server.properties of a broker that is also a controller."""
    voters = [
        f"{number}@{plan.address(f'{broker}-controller')}"
        for number, broker in enumerate(broker_names(plan), 1)
    ]
    copies = min(plan.brokers, 3)
    properties = {
        "process.roles": "broker,controller",
        "node.id": broker_names(plan).index(name) + 1,
        "controller.quorum.voters": ",".join(voters),
        "listeners": f"PLAINTEXT://{plan.address(name)},"
        f"CONTROLLER://{plan.address(f'{name}-controller')}",
        "advertised.listeners": f"PLAINTEXT://{plan.address(name)}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": folder / name / "data",
        # A topic that nobody declared is a mistake.
        "auto.create.topics.enable": "false",
        "num.partitions": 1,
        "default.replication.factor": copies,
        "min.insync.replicas": max(1, copies - 1),
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": 8,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": max(1, copies - 1),
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": max(1, copies - 1),
        # Tests do not wait for members that never come.
        "group.initial.rebalance.delay.ms": 0,
    }
    return "".join(f"{key}={value}\n" for key, value in properties.items())
