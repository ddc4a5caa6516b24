"""Applications reach brokers that want TLS and a login, and no message shows the password."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from millrace import App, OperatorFailed, restricted
from millrace.adapters import kafka
from tests.real.rounds import STATE_SETTING
from tests.real.secured import PASSWORD, USER, Secured, broker_beside, scram_login
from tools.real.state import PairFolder

COVERS = ("millrace/adapters/kafka_security.py",)

pytestmark = [pytest.mark.real]


@dataclass
class Number:
    value: int


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    state = os.environ.get(STATE_SETTING, "")
    running = PairFolder(Path(state)).plan() if state else None
    if running is None:
        pytest.skip(f"{STATE_SETTING} is not set: the broker's build is taken from our own pair")
    path = tmp_path_factory.mktemp("secured")
    with broker_beside(running, path, scram_login((USER,))) as broker:
        yield broker


@pytest.fixture
def mounted(secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The restricted properties of a Job, as a PE sees them."""
    folder = tmp_path / "etc/config/restricted"
    folder.mkdir(parents=True)
    (folder / "password").write_text(PASSWORD + "\n")
    (folder / "ca").write_bytes((secured.folder / "ca.pem").read_bytes())
    monkeypatch.setenv("MILLRACE_ROOT", str(tmp_path))


def login() -> kafka.Security:
    found = restricted("password", "ca")
    return kafka.Security(username=USER, password=found["password"], ca=found["ca"])


async def test_records_pass_over_tls_with_a_login_of_restricted_properties(
    secured: Secured, mounted: None
) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=secured.plain_servers)
    await admin.start()
    await admin.create_topics([NewTopic("numbers", 2, 1)])
    await admin.close()
    where: dict[str, Any] = {"servers": secured.servers, "security": login}
    app = App("demo::Write")
    app.source(lambda: map(Number, range(50)), returns=Number).sink(
        kafka.writer("numbers", **where)
    )
    await app.run_async()
    found: list[int] = []
    app = App("demo::Read")
    topic = kafka.topic("numbers", Number, begin="earliest", until_end=True, **where)
    app.source(topic).sink(lambda each: found.append(each.value))
    await app.run_async()
    assert sorted(found) == list(range(50))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"password": "guessed secret"}, "SaslAuthenticationFailed|AuthenticationFailed|uthenti"),
        ({"username": "another"}, "uthenti"),
        ({"ca": ""}, "certificate"),
    ],
)
async def test_who_is_not_let_in_is_named_without_secrets(
    secured: Secured,
    mounted: None,
    changed: dict[str, Any],
    expected: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = App("demo::Refused")
    topic = kafka.topic(
        "numbers", Number, servers=secured.servers, security=lambda: replace(login(), **changed)
    )
    app.source(topic).sink(print)
    with pytest.raises(OperatorFailed, match=expected) as failed:
        await app.run_async()
    for text in (str(failed.value), repr(failed.value.__cause__), caplog.text):
        assert "guessed" not in text
        assert PASSWORD not in text
