"""From facts to records: envelope, key and partition."""

from __future__ import annotations

from contracts.envelope import from_headers, to_headers
from contracts.facts import KINDS, Epoch, Fact, FactType, SyncCompleted, fact_from_json
from contracts.topics import CLUSTER, PARTITIONS, RESOURCES, TopicLayout, partition_of
from services.watch_ingest.core.publishing import Ledger, Publication, facts_of_object
from services.watch_ingest.core.recording import completion_records, fact_record
from tests.builders import Builder, a_job, a_node, a_pe, a_pod

EPOCH = Epoch(7, 2, "cluster")


def saying(ledger: Ledger, builder: Builder) -> Publication:
    (only,) = facts_of_object(ledger, KINDS[builder.kind], builder.build(), EPOCH)
    return only


def test_all_facts_of_a_job_land_in_one_partition() -> None:
    """Its owner alone acts on the job."""
    ledger = Ledger()
    objects = (a_job(), a_pe(pe_id=4), a_pod(pe_id=4))
    records = [fact_record(saying(ledger, each), 1.0, TopicLayout()) for each in objects]
    assert {record.topic for record in records} == {RESOURCES}
    assert {record.partition for record in records} == {partition_of("default", "shop", PARTITIONS)}


def test_what_concerns_the_cluster_has_one_partition() -> None:
    """Nodes belong to no job."""
    record = fact_record(saying(Ledger(), a_node()), 1.0, TopicLayout())
    assert (record.topic, record.partition, record.key) == (CLUSTER, 0, "Node//node-1")


def test_a_record_gives_back_the_fact_and_its_envelope() -> None:
    """What readers need is in headers and value."""
    said = saying(Ledger(), a_job())
    record = fact_record(said, 12.5, TopicLayout())
    envelope = from_headers(to_headers(record.envelope))
    assert envelope.trace_id == said.trace_id
    assert envelope.source == "watch-ingest"
    assert (envelope.subject, envelope.time_s) == ("Job/default/shop", 12.5)
    fact = fact_from_json(FactType(envelope.type), record.value)
    assert fact == said.fact
    assert isinstance(fact, Fact)


def test_ids_of_events_differ_where_the_events_do() -> None:
    """Causes are found by id."""
    ledger = Ledger()
    first = fact_record(saying(ledger, a_job()), 1.0, TopicLayout())
    second = fact_record(
        saying(ledger, a_job().at_version(2).with_status(phase="Submitted")), 1.0, TopicLayout()
    )
    assert first.envelope.id != second.envelope.id


def test_a_complete_list_is_reported_in_every_partition_of_its_topic() -> None:
    """A reader of one partition learns it from there."""
    records = completion_records(SyncCompleted("Job", EPOCH), 1.0, TopicLayout())
    assert [record.partition for record in records] == list(range(PARTITIONS))
    assert {record.key for record in records} == {"sync/Job"}
    assert len({record.envelope.id for record in records}) == len(records)
    assert len(completion_records(SyncCompleted("Node", EPOCH), 1.0, TopicLayout())) == 1
    again = fact_from_json(FactType.SYNC_COMPLETED, records[0].value)
    assert again == SyncCompleted("Job", EPOCH, full=True)


def test_the_partition_of_a_job_follows_from_the_number_that_the_system_has() -> None:
    """Facts of nodes have one partition, however many those of jobs have."""
    ledger, topics = Ledger(), TopicLayout(partitions=64)
    record = fact_record(saying(ledger, a_job()), 1.0, topics)
    assert record.partition == partition_of("default", "shop", 64)
    assert fact_record(saying(ledger, a_node()), 1.0, topics).partition == 0
    assert len(completion_records(SyncCompleted("Job", EPOCH), 1.0, topics)) == 64
