"""Grants follow from the catalogue: who writes and reads a topic, and who shares it."""

from __future__ import annotations

import pytest

from cli.failing import Misused
from cli.topics import principals_of
from contracts.topics import CATALOGUE, CLUSTER, RESOURCES
from services.chassis.log.kafka_acls import grants_of
from services.chassis.log.kafka_rights import Kind, Operation
from services.chassis.running.service import Service
from services.roster import SERVICES, readers

PRINCIPALS = [(row, f"User:{row.name}") for row in SERVICES]


def granted(service: str, kind: Kind, operation: Operation) -> set[str]:
    return {
        each.name
        for each in grants_of("p", PRINCIPALS)
        if (each.principal, each.kind, each.operation) == (f"User:{service}", kind, operation)
    }


@pytest.mark.parametrize("row", SERVICES, ids=lambda row: row.name)
def test_a_service_writes_what_its_row_lists_and_reads_no_more(row: Service) -> None:
    service = row.name
    writes = {topic.name("p") for topic in row.writes}
    reads = {topic.name("p") for topic in row.reads}
    assert granted(service, Kind.TOPIC, Operation.WRITE) == writes
    if RESOURCES in row.writes:  # it looks at what it wrote, and commits for these topics
        reads = writes
    assert granted(service, Kind.TOPIC, Operation.READ) == reads
    every = {topic.name("p") for topic in CATALOGUE}
    assert granted(service, Kind.TOPIC, Operation.DESCRIBE_CONFIGS) == every


def test_groups_are_of_those_that_share_and_of_the_resync() -> None:
    sharing = [row.name for row in SERVICES if row.shares]
    assert len(sharing) > 1
    for service in sharing:
        assert granted(service, Kind.GROUP, Operation.READ) == {f"p.{service}"}
    assert granted("watch-ingest", Kind.GROUP, Operation.READ) == {"p.sync"}
    for row in readers(CLUSTER):
        assert "p.sync" in granted(row.name, Kind.GROUP, Operation.DESCRIBE)


def test_a_principal_gets_nothing_under_another_prefix() -> None:
    assert {each.name.partition(".")[0] for each in grants_of("p", PRINCIPALS)} == {"p"}
    assert grants_of("p", []) == []


@pytest.mark.parametrize("word", ["fusion-backend", "nobody=User:a", "fusion-backend=a"])
def test_a_principal_that_cannot_be_used_is_named(word: str) -> None:
    with pytest.raises(Misused, match="SERVICE=User:NAME"):
        principals_of([word])
