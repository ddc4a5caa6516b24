"""With the ACLs of `millrace topics apply` each service does its work, and nothing else."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest

from cli.children import ChildSpec
from cli.failing import Failure
from cli.grounds import Ground
from cli.layouts import Layout, UpOptions
from cli.running import running_system
from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics
from contracts.topics import (
    CATALOGUE,
    RESOURCES,
    Topic,
    TopicLayout,
    reader_group,
    sync_group,
)
from loadtest.api import MERGE, STREAMS, Api
from loadtest.bundles import put_bundle
from loadtest.profiles import WORDCOUNT
from services.chassis.log.bus import NewRecord, Partition
from services.chassis.log.kafka_acls import Grant, grant
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_rights import Kind, Operation
from services.chassis.log.kafka_security import KafkaSecurity
from services.chassis.process.errors import LogRefused
from services.chassis.running.service import Service
from services.roster import BY_NAME, NAMES
from tests.e2e.following import REGION, spec_of
from tests.e2e.watching import JobObjects
from tests.patience import patient
from tests.real.secured import Secured, secured_broker
from tools.real.pair import BROKERS_SETTING

COVERS = ("services/chassis/log/kafka_*", "contracts/topics.py", "cli/topics.py")

pytestmark = [pytest.mark.real, pytest.mark.e2e]
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the broker itself and its controller
}
ADMINISTRATOR, WRITES_NOTHING, NOBODY = "topics", "writes-nothing", "nobody"
PRINCIPALS = {service: f"User:{service}" for service in NAMES}
LAYOUT = TopicLayout()
ANSWER_S = patient(15.0)
CLUSTER = "kafka-cluster"
WIDTH, WIDER = 2, 3


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker on which the administrator of topics has the rights of docs/installing.md alone."""
    logins = (*sorted(NAMES), ADMINISTRATOR, WRITES_NOTHING, NOBODY)
    with secured_broker(tmp_path_factory.mktemp("acls"), logins, AUTHORIZER) as broker:
        asyncio.run(_grant_first_rights(broker))
        yield broker


async def _grant_first_rights(secured: Secured) -> None:
    topics = [LAYOUT.name(topic) for topic in CATALOGUE]
    on_topics = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
    first = [
        *(
            Grant(f"User:{ADMINISTRATOR}", Kind.TOPIC, topic, Operation[operation])
            for topic in topics
            for operation in on_topics
        ),
        Grant(f"User:{ADMINISTRATOR}", Kind.CLUSTER, CLUSTER, Operation.DESCRIBE),
        Grant(f"User:{ADMINISTRATOR}", Kind.CLUSTER, CLUSTER, Operation.ALTER),
        *(
            Grant(f"User:{WRITES_NOTHING}", Kind.TOPIC, topic, Operation.DESCRIBE)
            for topic in topics
        ),
    ]
    brokers = Brokers(secured.plain_servers)
    try:
        await asyncio.wait_for(grant(brokers, first), ANSWER_S)
    finally:
        await brokers.close()


@pytest.fixture
async def granted(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> Secured:
    """The same, with topics and ACLs, and the environment of their administrator."""
    for name, value in secured.variables_of(ADMINISTRATOR).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(BROKERS_SETTING, secured.servers)
    options = TopicsOptions(secured.servers, LAYOUT.prefix, principals=PRINCIPALS)
    shown = StringIO()
    await apply_topics(options, Screen(file=shown))
    await apply_topics(options, Screen(file=shown))
    assert shown.getvalue().splitlines()[-1].endswith("ACLs: 0 created"), "they are there"
    return secured


async def test_services_with_their_acls_alone_run_a_job_through_its_life(
    granted: Secured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`millrace up` with a login for each service: submit, resize, delete."""
    service_of = Layout.service

    def with_login(layout: Layout, name: str, ground: Ground, number: int = 1) -> ChildSpec:
        spec = service_of(layout, name, ground, number)
        login = granted.variables_of(name)
        return dataclasses.replace(spec, environment={**spec.environment, **login})

    monkeypatch.setattr(Layout, "service", with_login)
    options = UpOptions(tmp_path / "kubeconfig", state=tmp_path / "state", real=True)
    async with running_system(options, print) as system, Api.of(system.kubeconfig) as api:
        put_bundle(system.bundles, WORDCOUNT, None)
        async with JobObjects(api, "granted").followed() as job:
            await _through_its_life(api, job)
        restarts = {name: child.restarts for name, child in system.children.items()}
        assert not any(restarts.values()), f"services were refused something: {restarts}"


async def _through_its_life(api: Api, job: JobObjects) -> None:
    body = {"apiVersion": "streams.ibm.com/v1", "kind": "Job", "metadata": {"name": job.job}}
    await api.call("POST", job.path.rpartition("/")[0], {**body, "spec": spec_of(WIDTH)})
    await job.until("all pods", job.all_running)
    (region,) = (name for name, r in job.of("regions").items() if r["spec"]["alias"] == REGION)
    width = {"spec": {"width": WIDER}}
    await api.call("PATCH", f"{STREAMS}/streamsprs/{region}", width, MERGE)
    await job.until("the width", lambda: job.width_in_force(REGION) == WIDER and job.all_running())
    await api.call("DELETE", job.path)
    await job.until("the end of the job and all its children", lambda: not job.versions())


@pytest.mark.parametrize("service", sorted(NAMES))
async def test_a_service_is_refused_what_it_does_not_do_with_the_right_that_it_lacks(
    granted: Secured, service: str
) -> None:
    row = BY_NAME[service]
    async with _log_of(granted, service) as log:
        await asyncio.wait_for(log.ensure_topics(LAYOUT.counts()), ANSWER_S)
        for topic in CATALOGUE:
            name = LAYOUT.name(topic)
            if topic not in row.writes:
                await _refused(log.produce([_record(topic)]), service, "WRITE", f"topic {name}")
            if topic not in row.reads and not _commits_for(row, topic):
                await _refused(_read(log, topic), service, "READ", f"topic {name}")
        for other in sorted({*NAMES} - {service}):
            group = reader_group(LAYOUT.prefix, other)
            joining = _joined(log, group)
            # Which of the two requests of a member is refused first is the client's affair.
            await _refused(joining, service, "READ", f"group {group}")
        group, where = sync_group(LAYOUT.prefix), Partition(LAYOUT.name(RESOURCES), 0)
        if RESOURCES not in row.writes:
            await _refused(log.commit(group, {where: 0}), service, "READ", f"group {group}")
        if not row.reads and RESOURCES not in row.writes:
            await _refused(log.committed(group, [where]), service, "DESCRIBE", f"group {group}")


async def test_a_login_that_writes_nothing_lacks_the_right_to_write(
    granted: Secured,
) -> None:
    """Kafka then refuses it a producer's id, before any topic is named."""
    topic = LAYOUT.name(RESOURCES)
    async with _log_of(granted, WRITES_NOTHING) as log:
        await _refused(log.produce([_record(RESOURCES)]), WRITES_NOTHING, "WRITE", f"topic {topic}")


async def test_a_login_without_rights_lacks_that_to_describe(
    granted: Secured,
) -> None:
    async with _log_of(granted, NOBODY) as log:
        looking = log.ensure_topics(LAYOUT.counts())
        await _refused(looking, NOBODY, "DESCRIBE", "topic millrace.")


async def test_topics_apply_names_the_right_that_its_own_login_lacks(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in secured.variables_of(NOBODY).items():
        monkeypatch.setenv(name, value)
    options = TopicsOptions(secured.servers, "another", principals=PRINCIPALS)
    with pytest.raises(Failure, match="User:nobody has no right to DESCRIBE the topic another"):
        await apply_topics(options, Screen(quiet=True))


async def test_brokers_without_an_authorizer_are_named() -> None:
    """There ACLs would protect nothing."""
    servers = os.environ[BROKERS_SETTING]
    options = TopicsOptions(servers, "acls-of-nobody", principals=PRINCIPALS)
    with pytest.raises(Failure, match="the brokers have no authorizer"):
        await apply_topics(options, Screen(quiet=True))


@asynccontextmanager
async def _log_of(secured: Secured, login: str) -> AsyncIterator[KafkaLog]:
    """The log as a service with that login would open it."""
    security = KafkaSecurity(
        security_protocol="SASL_SSL",
        ca_file=secured.variables["MILLRACE_KAFKA_CA_FILE"],
        sasl_mechanism="PLAIN",
        username=login,
        password_file=secured.variables["MILLRACE_KAFKA_PASSWORD_FILE"],
    )
    log = KafkaLog(secured.servers, now=time.time, client_id=login, security=security)
    try:
        yield log
    finally:
        await log.close()


def _commits_for(row: Service, topic: Topic) -> bool:
    """Kafka wants READ of a topic that is committed for."""
    return RESOURCES in row.writes and topic in row.writes


def _record(topic: Topic) -> NewRecord:
    return NewRecord(Partition(LAYOUT.name(topic), 0), b"key", b"value", ())


async def _read(log: KafkaLog, topic: Topic) -> None:
    async for _batch in log.read({Partition(LAYOUT.name(topic), 0): 0}):
        return


async def _joined(log: KafkaLog, group: str) -> None:
    async for _partitions in log.assignment(group, [LAYOUT.name(RESOURCES)]):
        return


async def _refused(request: Awaitable[object], login: str, operation: str, resource: str) -> None:
    """The request is refused in time, by the sentence that names who lacks what."""
    sentence = f"User:{login} has no right to {operation} the {resource}"
    with pytest.raises(LogRefused, match=re.escape(sentence)):
        await asyncio.wait_for(request, ANSWER_S)
