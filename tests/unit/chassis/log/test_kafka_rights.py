"""A refusal for lack of a right says who may not do what to which resource."""

from __future__ import annotations

import pytest
from aiokafka.errors import NotLeaderForPartitionError

from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_rights import Kind, Operation, Right, RightMissing, failure_of
from services.chassis.log.kafka_security import PLAINTEXT, KafkaSecurity
from services.chassis.process.errors import LogRefused

TOPIC_REFUSED, GROUP_REFUSED, CLUSTER_REFUSED = 29, 30, 31
NAMES = {Kind.TOPIC: "p.resources", Kind.GROUP: "p.sync"}
LOGIN = KafkaSecurity.model_construct(security_protocol="SASL_SSL", username="shop")
CERTIFICATE = KafkaSecurity.model_construct(security_protocol="SSL", certificate_file="/tls.crt")


@pytest.mark.parametrize(
    ("code", "resource"),
    [
        (TOPIC_REFUSED, (Kind.TOPIC, "p.resources")),
        (GROUP_REFUSED, (Kind.GROUP, "p.sync")),
        (CLUSTER_REFUSED, (Kind.CLUSTER, "")),
    ],
)
def test_the_code_tells_which_resource_the_right_is_about(
    code: int, resource: tuple[Kind, str]
) -> None:
    failure = failure_of(code, Operation.READ, NAMES)
    assert isinstance(failure, RightMissing)
    assert failure.right == Right(Operation.READ, *resource)


def test_any_other_code_is_the_error_of_kafka() -> None:
    failure = failure_of(NotLeaderForPartitionError.errno, Operation.READ, NAMES, "p.resources/0")
    assert isinstance(failure, NotLeaderForPartitionError)
    assert "p.resources/0" in str(failure)


@pytest.mark.parametrize(
    ("security", "principal"),
    [
        (LOGIN, "User:shop"),
        (CERTIFICATE, "the subject of /tls.crt"),
        (PLAINTEXT, "User:ANONYMOUS"),
    ],
)
async def test_the_sentence_names_principal_operation_and_resource(
    security: KafkaSecurity, principal: str
) -> None:
    """It is raised at once: no repetition gives anybody a right."""
    brokers = Brokers("kafka:9092", security=security)

    async def commit() -> None:
        raise failure_of(GROUP_REFUSED, Operation.READ, NAMES)

    sentence = (
        f"^Kafka at kafka:9092 refused a commit: {principal} has no right to READ the group p.sync;"
    )
    with pytest.raises(LogRefused, match=sentence):
        await brokers.persist("a commit", commit)
