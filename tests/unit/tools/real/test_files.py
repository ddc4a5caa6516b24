"""The files of the parts: users of the API server, trust of kubeconfigs, quorum of brokers."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest
import yaml

from tools.real.files import (
    P256_ORDER,
    USERS,
    broker_properties,
    kubeconfig,
    signing_key,
    token_file,
    write_broker_files,
    write_credentials,
)
from tools.real.parts import API_SERVER, parts_of, port_names
from tools.real.state import PairFolder, PairPlan


def plan(brokers: int = 1) -> PairPlan:
    ports = {name: 20_000 + number for number, name in enumerate(port_names(brokers))}
    return PairPlan("digest", "/build", "/usr/bin/java", brokers, ports, "cluster")


def properties(brokers: int, name: str) -> dict[str, str]:
    text = broker_properties(plan(brokers), Path("/pair"), name)
    return dict(line.split("=", 1) for line in text.splitlines())


def test_one_broker_keeps_one_copy_of_everything() -> None:
    found = properties(1, "kafka-1")
    copies = {value for key, value in found.items() if key.endswith("replication.factor")}
    assert copies == {"1"}
    assert found["min.insync.replicas"] == "1"


def test_three_brokers_keep_three_copies_and_go_on_with_two() -> None:
    found = properties(3, "kafka-2")
    copies = {value for key, value in found.items() if key.endswith("replication.factor")}
    assert copies == {"3"}
    assert found["min.insync.replicas"] == "2"


def test_every_broker_names_all_voters_and_itself_once() -> None:
    all_three = [properties(3, f"kafka-{number}") for number in (1, 2, 3)]
    assert len({found["controller.quorum.voters"] for found in all_three}) == 1
    assert all_three[0]["controller.quorum.voters"].count("@127.0.0.1:") == 3
    assert [found["node.id"] for found in all_three] == ["1", "2", "3"]
    assert len({found["listeners"] for found in all_three}) == 3


def test_topics_are_never_made_by_mistake_and_groups_do_not_wait() -> None:
    found = properties(1, "kafka-1")
    assert found["auto.create.topics.enable"] == "false"
    assert found["group.initial.rebalance.delay.ms"] == "0"


def test_everything_listens_on_loopback_only() -> None:
    for part in parts_of(plan(3), Path("/pair")).values():
        assert "0.0.0.0" not in " ".join(part.command)
    assert "//127.0.0.1" in properties(1, "kafka-1")["listeners"]


def test_every_part_answers_on_a_port_of_its_own() -> None:
    parts = parts_of(plan(3), Path("/pair"))
    assert len({part.port for part in parts.values()}) == len(parts) == 8


def test_a_kubeconfig_trusts_the_servers_authority_and_skips_no_check() -> None:
    text = kubeconfig("https://127.0.0.1:1", b"authority", "admin", "secret")
    cluster = yaml.safe_load(text)["clusters"][0]["cluster"]
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"authority"
    assert "insecure" not in text


def test_only_the_administrator_and_kwok_are_masters() -> None:
    tokens = {name: f"token-of-{name}" for name in USERS}
    rows = [row.split(",", 3) for row in token_file(tokens).splitlines()]
    assert {row[1] for row in rows if "system:masters" in row[3]} == {"admin", "kwok"}
    assert len({row[0] for row in rows}) == len(USERS)


@pytest.mark.parametrize("scalar", [1, 0xABCDEF, P256_ORDER - 1])
def test_a_signing_key_is_a_complete_der_sequence(scalar: int) -> None:
    lines = signing_key(scalar).splitlines()
    der = base64.b64decode("".join(lines[1:-1]))
    assert der[0] == 0x30
    assert der[1] == len(der) - 2
    assert scalar.to_bytes(32, "big") in der


def test_credentials_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    folder = PairFolder(tmp_path / "pair")
    folder.prepare(plan())
    write_credentials(folder, plan())
    write_broker_files(folder, plan())
    for name in ("tokens.csv", "service-account.key"):
        assert stat.S_IMODE((folder.kube / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_the_api_server_authorizes_by_roles() -> None:
    command = parts_of(plan(), Path("/pair"))[API_SERVER].command
    assert "--authorization-mode=RBAC" in command
    assert not [word for word in command if "insecure" in word]
