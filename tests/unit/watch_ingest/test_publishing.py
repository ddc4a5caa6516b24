"""What is reported of an object that was seen, given what was reported before."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import orjson

from contracts import labels
from contracts.facts import KINDS, Epoch, FactType
from services.watch_ingest.core.publishing import (
    Ledger,
    Publication,
    digest_of,
    facts_of_deletion,
    facts_of_object,
)
from tests.builders import (
    Builder,
    PodBuilder,
    a_config_map,
    a_job,
    a_node,
    a_parallel_region,
    a_pe,
    a_pod,
)

EPOCH = Epoch(incarnation=7, list_number=1, cluster_uid="cluster")
ADDITION, MODIFICATION, DELETION = (
    FactType.ADDITION,
    FactType.MODIFICATION,
    FactType.DELETION,
)


def say(
    ledger: Ledger, builder: Builder, *, kind: str = "", repeat: bool = False
) -> list[Publication]:
    projection = KINDS[kind or builder.kind]
    return list(facts_of_object(ledger, projection, builder.build(), EPOCH, repeat=repeat))


def types(sayings: Iterable[Publication]) -> list[FactType]:
    return [saying.fact.type for saying in sayings]


def test_an_object_is_reported_once_until_its_projection_changes() -> None:
    """A node's heartbeat changes its version and nothing that anybody decides on."""
    ledger = Ledger()
    assert types(say(ledger, a_node())) == [ADDITION]
    beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-20T00:00:10Z"}
    assert say(ledger, a_node().at_version(2).with_status(conditions=[beat])) == []
    cordoned = a_node().at_version(3).with_spec(unschedulable=True)
    (news,) = say(ledger, cordoned)
    assert news.fact.type is MODIFICATION
    assert news.fact.resource_version == 3
    assert news.fact.data is not None
    assert news.fact.data["unschedulable"] is True


def test_a_full_list_says_an_unchanged_object_again() -> None:
    """ADDITION for everything that exists."""
    ledger = Ledger()
    say(ledger, a_job())
    assert types(say(ledger, a_job(), repeat=True)) == [ADDITION]


def test_a_deletion_is_reported_under_the_version_at_which_it_happened() -> None:
    """A reader that wrote to the object itself would ignore an older one."""
    ledger = Ledger()
    say(ledger, a_job().at_version(5))
    (gone,) = facts_of_deletion(ledger, ("Job", "default", "shop"), 9, EPOCH)
    assert (gone.fact.type, gone.fact.resource_version, gone.fact.data) == (DELETION, 9, None)
    assert gone.fact.uid == a_job().build()["metadata"]["uid"]
    assert list(facts_of_deletion(ledger, ("Job", "default", "shop"), 9, EPOCH)) == []


def test_a_pod_feeds_two_kinds_of_facts_and_leaves_the_second_when_it_is_over() -> None:
    """Bound pods take room on their node until they are over."""
    ledger = Ledger()
    bound = a_pod().on_node("n1").in_phase("Running")
    assert types(say(ledger, bound)) == [ADDITION]
    assert types(say(ledger, bound, kind="BoundPod")) == [ADDITION]
    over = bound.in_phase("Succeeded").at_version(2)
    assert types(say(ledger, over)) == [MODIFICATION]
    (gone,) = say(ledger, over, kind="BoundPod")
    assert (gone.fact.type, gone.fact.resource_version) == (DELETION, 2)


def test_a_pod_that_is_not_ours_takes_room_but_is_nobodys_business() -> None:
    """Only where it is and what it requests is reported."""
    ledger = Ledger()
    body = a_pod().on_node("n1").having("metadata", "labels", value={}).body
    foreign = PodBuilder("Pod", body)
    assert say(ledger, foreign) == []
    (bound,) = say(ledger, foreign, kind="BoundPod")
    assert bound.fact.job == ""
    assert bound.fact.data == {
        "node": "n1",
        "requests": {},
        "isLeaving": False,
        "job": "",
        "jobUid": "",
        "pe": -1,
    }


def test_the_job_of_an_object_is_that_at_the_end_of_its_owners() -> None:
    """Pod → PE → Job, from what was seen; labels are only the second choice."""
    ledger = Ledger()
    mislabelled = a_pod().with_label(labels.JOB, "elsewhere")
    (before,) = say(ledger, mislabelled)
    assert before.fact.job == "elsewhere"
    say(ledger, a_pe())
    (gone, added) = say(ledger, mislabelled.at_version(2))
    assert (gone.fact.type, gone.fact.job) == (DELETION, "elsewhere")
    assert (added.fact.type, added.fact.job) == (ADDITION, "shop")
    assert gone.fact.resource_version < added.fact.resource_version


def test_an_object_of_the_same_name_with_another_uid_is_another_object() -> None:
    """Its predecessor is reported to be gone first."""
    ledger = Ledger()
    say(ledger, a_job())
    gone, added = say(ledger, a_job().with_uid("uid-second").at_version(4))
    assert (gone.fact.type, gone.fact.uid) == (DELETION, "uid-shop")
    assert (added.fact.type, added.fact.uid) == (ADDITION, "uid-second")


def test_everything_of_a_job_carries_the_trace_of_the_newest_change_by_a_person() -> None:
    """A submission starts one, a new width starts the next; status writes start none."""
    ledger = Ledger()
    (submission,) = say(ledger, a_job())
    (region,) = say(ledger, a_parallel_region())
    (config_map,) = say(ledger, a_config_map())
    assert region.trace_id == config_map.trace_id == submission.trace_id
    status = say(ledger, a_job().at_version(2).with_status(phase="Submitted"))
    assert status[0].trace_id == submission.trace_id
    wider = a_parallel_region(width=5).at_version(3).at_generation(2)
    (resize,) = say(ledger, wider)
    (pe,) = say(ledger, a_pe().at_version(4))
    assert pe.trace_id == resize.trace_id != submission.trace_id
    assert len(resize.trace_id) == 32


def test_a_trace_is_the_same_after_a_restart() -> None:
    """It is made of uid and generation, not of what this process saw."""
    first, second = Ledger(), Ledger()
    (before,) = say(first, a_job())
    (after,) = say(second, a_job().at_version(99).with_status(phase="Submitted"))
    assert before.trace_id == after.trace_id


OBJECTS = 200
BYTES_OF_AN_OBJECT_MAX = 1_500


def test_the_ledger_keeps_little_of_an_object_however_large_it_is() -> None:
    """5,000 PEs, their pods and ConfigMaps are 16,000 objects of 4 KiB of JSON and more."""
    ledger = Ledger()
    text = orjson.dumps(a_pe().with_spec(env=[{"name": f"v{n}"} for n in range(100)]).build())
    projection = KINDS["ProcessingElement"]

    def see(number: int) -> None:
        obj = orjson.loads(text)
        obj["metadata"]["name"] = f"shop-{number}"
        assert len(list(facts_of_object(ledger, projection, obj, EPOCH))) == 1

    see(-1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(OBJECTS):
            see(number)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / OBJECTS < BYTES_OF_AN_OBJECT_MAX


def test_projections_that_are_equal_have_equal_digests_in_any_order_of_their_fields() -> None:
    """The order of a JSON object says nothing."""
    assert digest_of({"a": 1, "b": {"c": 2, "d": 3}}) == digest_of({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest_of({"a": [1, 2]}) != digest_of({"a": [2, 1]})
    assert digest_of({"a": 2**80}) != digest_of({"a": 2**80 + 1})
