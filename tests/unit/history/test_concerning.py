"""Of all that is in a log, what concerns one job is shown, once, in words, with its causes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from contracts.decisions import DECISION_TYPE, DecisionRecord, EffectRecord, Observation
from contracts.envelope import Envelope
from contracts.facts import Epoch, Fact, FactType
from history.concerning import Concerning
from history.merging import by_time, history
from history.wording import key_in_words
from services.chassis.running.recording import key_text
from services.fusion_backend.adapters.intake import JobKey
from tests.unit.chassis.running.saying import METADATA
from tests.unit.history.logs import TRACE, FewRecords, decisions_of, partition_of_job


def seen(
    source: FewRecords,
    time_s: float,
    fact: Fact,
) -> str:
    """Append a fact; its id."""
    envelope = Envelope(f"{fact.key}@{time_s}", "t", fact.type, fact.key, time_s, TRACE)
    name = partition_of_job(fact.job) if fact.job else "cluster/0"
    source.append(name, fact.key, orjson.dumps(fact.to_json()), envelope)
    return envelope.id


def fact(
    kind: str, name: str, version: int, data: Mapping[str, Any], job: str = "j", **more: Any
) -> Fact:
    namespace = "" if kind == "Node" else "default"
    type_ = more.get("type", FactType.MODIFICATION)
    whole = {"metadata": METADATA, **data}
    return Fact(type_, kind, namespace, name, "u", version, Epoch(1, 1, "c"), job, whole)


def decided(
    source: FewRecords,
    time_s: float,
    reason: str,
    cause: str = "",
    *effects: EffectRecord,
    published_s: float = 0.0,
) -> None:
    key = "default/j-0"
    decision = DecisionRecord(
        "pod-state-machine", key, reason, effects, cause=cause, now=time_s, release="1"
    )
    envelope = Envelope("d", "t", DECISION_TYPE, key, published_s or time_s, TRACE)
    source.append(decisions_of("j"), "default/j", orjson.dumps(decision.to_json()), envelope)


async def lines_of(source: FewRecords, **options: Any) -> list[str]:
    concerning = Concerning("default", "j", **options)
    found: list[str] = []
    async for entry in by_time(history(source)):
        found += [words.line for _, words in concerning.take(entry)]
    return found


async def test_a_decision_has_its_reason_its_effects_and_its_cause() -> None:
    source = FewRecords()
    cause = seen(source, 1.0, fact("Pod", "j-0-a", 3, {"phase": "Running", "node": "n"}))
    created, failed = (
        EffectRecord("CreatePod", "j-0-b", "created"),
        EffectRecord("Y", "", "refused"),
    )
    decided(source, 2.0, "LaunchDue", cause, created, failed)
    first, second = await lines_of(source)
    assert first == "Pod/j-0-a: phase Running, on n"
    assert second.startswith("ProcessingElement/j-0: LaunchDue: ")
    assert second.endswith("→ y: refused → create pod j-0-b: created (because of Pod/j-0-a)")


async def test_what_a_resync_publishes_again_is_shown_on_demand_only() -> None:
    source = FewRecords()
    for time_s in (1.0, 50.0):
        seen(source, time_s, fact("Pod", "j-0-a", 3, {"phase": "Running"}, type=FactType.ADDITION))
    assert len(await lines_of(source)) == 1
    assert len(await lines_of(source, everything=True)) == 2


async def test_a_decision_that_repeats_the_one_before_is_shown_on_demand_only() -> None:
    source = FewRecords()
    for time_s in (1.0, 2.0):
        decided(source, time_s, "PodRunning")
    decided(source, 3.0, "NothingToChange")
    assert len(await lines_of(source)) == 1
    assert len(await lines_of(source, everything=True)) == 3


async def test_a_node_is_shown_where_a_decision_of_the_job_names_it_as_its_cause() -> None:
    source = FewRecords()
    lost = seen(source, 1.0, fact("Node", "lost", 3, {"ready": False}, job=""))
    seen(source, 1.5, fact("Node", "other", 4, {"ready": True}, job=""))
    decided(source, 2.0, "NodeLost", lost)
    lines = await lines_of(source)
    assert lines[0] == "Node/lost: not ready"
    assert "because of Node/lost" in lines[1]
    assert len(lines) == 2


async def test_a_host_pool_is_of_the_job_in_its_spec() -> None:
    source = FewRecords()
    for job in ("j", "k"):
        data = {"spec": {"job": job}, "status": {"phase": "Ready"}}
        seen(source, 1.0, fact("HostPool", f"{job}-0", 3, data, job=""))
    assert await lines_of(source) == ["HostPool/j-0: phase Ready"]


async def test_a_placement_is_of_the_job_of_its_name_until_it_is_deleted() -> None:
    """Its spec names no job, and a deletion has no spec."""
    source = FewRecords()
    for job in ("j", "k"):
        data = {"spec": {"pools": []}, "status": {"phase": "Placed", "reason": "Placed"}}
        seen(source, 1.0, fact("Placement", job, 3, data, job=""))
        seen(source, 2.0, fact("Placement", job, 4, {}, job="", type=FactType.DELETION))
    assert await lines_of(source) == ["Placement/j: phase Placed, Placed", "Placement/j: is gone"]


async def test_a_decision_stands_where_it_was_made_and_not_where_it_was_recorded() -> None:
    source = FewRecords()
    decided(source, 5.0, "PodStarting")
    decided(source, 1.0, "FirstLaunch", published_s=6.0)
    first, _ = await lines_of(source)
    assert "FirstLaunch" in first


async def test_one_service_is_shown_alone() -> None:
    source = FewRecords()
    seen(source, 1.0, fact("Pod", "j-0-a", 3, {"phase": "Running"}))
    decided(source, 2.0, "PodRunning")
    assert len(await lines_of(source, services=frozenset({"watch-ingest"}))) == 1
    assert len(await lines_of(source, services=frozenset({"node-tainter"}))) == 0


async def test_a_failure_that_a_service_observed_is_shown() -> None:
    source = FewRecords()
    seen(source, 1.0, fact("Job", "j", 3, {}, type=FactType.ADDITION))
    trouble = {"reason": "BundleMissing", "text": "there is no a.sab"}
    content = {"job_uid": "u", "subject": "plan", "trouble": trouble}
    source.observe(2.0, Observation(1, "PlanningFailed", content, {}))
    source.observe(3.0, Observation(2, "PlanningFailed", content | {"job_uid": "v"}, {}))
    lines = await lines_of(source)
    assert lines == ["Job/j: exists", "planning failed: BundleMissing: there is no a.sab"]


@pytest.mark.parametrize(
    ("service", "key", "words"),
    [
        ("fusion-backend", "JobKey(namespace='default', name='j')", "Job/j"),  # as it once was
        ("fusion-backend", key_text(JobKey("default", "j")), "Job/j"),
        ("pod-state-machine", "default/j-0", "ProcessingElement/j-0"),
        ("pod-state-machine", "default/j/5487ce1e", "Job/j"),
        ("hostpool-manager", "default/j", "Placement/j"),
        ("hostpool-manager", "/cluster", "cluster"),
        ("node-tainter", "HostPool/default/j-1", "HostPool/j-1"),
        ("node-tainter", "Node/node-1", "Node/node-1"),
    ],
)
def test_a_key_is_an_object_in_words(service: str, key: str, words: str) -> None:
    assert key_in_words(service, key) == words
