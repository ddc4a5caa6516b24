"""Mutants of the ACLs on Kafka, and of the messages for rights that lack."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_LOG = "services/chassis/log"
_UNIT = "tests/unit/chassis/log"

MUTANTS = (
    Mutant(
        "the writer of facts may read every topic on Kafka",
        f"{_LOG}/kafka_acls.py",
        "_on_topics",
        "(_is_syncing(row) and topic in row.writes)",
        "_is_syncing(row)",
        (f"{_UNIT}/test_kafka_acls.py", "-k", "writes_what_its_row_lists"),
    ),
    Mutant(
        "a refusal of Kafka names an error and not the right that lacks",
        f"{_LOG}/kafka_rights.py",
        "failure_of",
        "if kind is not None:",
        "if kind is Kind.TOPIC:",
        (f"{_UNIT}/test_kafka_rights.py",),
    ),
    Mutant(
        "a refusal of Kafka for lack of a right names no login",
        f"{_LOG}/kafka_security.py",
        "KafkaSecurity.principal",
        "if self.has_login:",
        "if self.has_login and self.is_encrypted and self.certificate_file:",
        (f"{_UNIT}/test_kafka_rights.py", "-k", "names_principal"),
    ),
)
