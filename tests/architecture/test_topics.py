"""The catalogue of topics says who writes and who reads, and this is what the services do."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from contracts import facts
from contracts.topics import CATALOGUE, CLUSTER, DECISIONS, RESOURCES, SERVICES, Topic
from tests.architecture.source import deciding_services, modules, services

FACTS = (RESOURCES, CLUSTER)


def name_of(folder: str) -> str:
    """A service's name, from that of its folder."""
    return folder.replace("_", "-")


def test_every_service_writes_a_topic_and_nobody_else_does() -> None:
    assert set(map(name_of, services())) == SERVICES
    assert {reader for topic in CATALOGUE for reader in topic.readers} <= SERVICES


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
    assert {topic.writers for topic in FACTS} == {("watch-ingest",)}


def test_decisions_are_written_by_every_service_that_decides() -> None:
    assert set(DECISIONS.writers) == set(map(name_of, deciding_services()))


@pytest.mark.parametrize("topic", FACTS, ids=lambda topic: topic.suffix)
def test_the_readers_of_facts_are_the_services_that_ask_for_its_kinds(topic: Topic) -> None:
    """A stage declares kinds; the topics that it reads follow from them."""
    readers = {
        name_of(service)
        for service in deciding_services()
        if any(facts.KINDS[kind].topic == topic for kind in _kinds_read(service))
    }
    assert readers == set(topic.readers)


@pytest.mark.parametrize("topic", CATALOGUE, ids=lambda topic: topic.suffix)
def test_a_topic_is_shared_by_readers_of_it_whose_keys_it_can_part(topic: Topic) -> None:
    """A topic of one partition cannot be shared: one instance would have nothing of it."""
    assert set(topic.shared_by) <= set(topic.readers)
    assert topic.by_job or not topic.shared_by


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
