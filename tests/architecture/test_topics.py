"""The catalogue of topics says who writes and who reads, and this is what the services do."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from contracts import facts
from contracts.topics import CATALOGUE, CLUSTER, DECISIONS, RESOURCES, Topic
from services.chassis.running.service import Service
from services.roster import SERVICES, readers, writers
from tests.architecture.source import deciding_services, modules

FACTS = (RESOURCES, CLUSTER)


def test_the_names_of_topics_stand_in_the_catalogue_only() -> None:
    """A name that is written elsewhere forgets the prefix, which is a setting."""
    folders = ("services", "planner", "placement", "history", "cli", "loadtest", "contracts")
    names = {topic.name() for topic in CATALOGUE}
    found = {
        path: names & {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        for path, tree in modules(*folders, with_words=[topic.suffix for topic in CATALOGUE])
        if path != Path("contracts/topics.py")
    }
    assert len(found) > 200
    written = [f"{path}: {name}" for path, those in found.items() for name in sorted(those)]
    assert written == [], "\n".join(written)


def test_facts_have_one_writer() -> None:
    """Two writers could contradict each other."""
    assert [len(writers(topic)) for topic in FACTS] == [1, 1]


def test_decisions_are_written_by_every_service_that_decides() -> None:
    assert {row.folder for row in writers(DECISIONS)} == {*deciding_services()}


@pytest.mark.parametrize("topic", FACTS, ids=lambda topic: topic.suffix)
def test_the_readers_of_facts_are_the_services_that_ask_for_its_kinds(topic: Topic) -> None:
    """A stage declares kinds; the topics that it reads follow from them."""
    found = {
        service
        for service in deciding_services()
        if any(facts.KINDS[kind].topic == topic for kind in _kinds_read(service))
    }
    assert found == {row.folder for row in readers(topic)}


@pytest.mark.parametrize("row", SERVICES, ids=lambda row: row.name)
def test_a_service_shares_topics_that_it_reads_and_that_have_partitions(row: Service) -> None:
    """A topic of one partition cannot be shared: one instance would have nothing of it."""
    assert {*row.shares} <= {*row.reads}
    assert all(topic.by_job for topic in row.shares)


def _kinds_read(service: str) -> frozenset[str]:
    module = importlib.import_module(f"services.{service}.adapters.intake")
    kinds: frozenset[str] = module.KINDS
    return kinds


def test_records_are_appended_in_two_places_only() -> None:
    """Facts go through watch-ingest's one queue, decisions through the chassis's log of them."""
    producing = {
        path
        for path, tree in modules("services", with_words=("produce",))
        if "produce" in _methods_called(tree)
    }
    assert producing == {
        Path("services/chassis/running/decision_log.py"),
        Path("services/watch_ingest/adapters/publisher.py"),
    }


def _methods_called(tree: ast.Module) -> set[str]:
    return {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
