"""Lists against what was reported: full lists, comparisons, and when a resync is complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.facts import WATCHED, Epoch, FactType
from contracts.unreadable import FACT_DEPTH_MAX, ObjectUnreadable, Unreadable
from services.watch_ingest.core.publishing import Ledger, Publication, Ref
from services.watch_ingest.core.resync import (
    Rounds,
    Source,
    contradicts,
    facts_of_absence,
    facts_of_page,
)
from tests.builders import Builder, Obj, a_job, a_pod

EPOCH = Epoch(7, 1, "cluster")
PAGE_OBJECTS = 1
JOBS = Source(next(w for w in WATCHED if w.plural == "streamsjobs"), None)
PODS = Source(next(w for w in WATCHED if w.plural == "pods"), None)


def listed(
    ledger: Ledger, source: Source, *builders: Builder, full: bool = False, version: int = 50
) -> list[Publication]:
    items = [builder.build() for builder in builders]
    sayings, passed_over = facts_in(ledger, source, items, version=version, full=full)
    assert not passed_over
    return sayings


def facts_in(
    ledger: Ledger, source: Source, items: list[Obj], *, version: int = 50, full: bool = True
) -> tuple[list[Publication], list[Mapping[str, Any]]]:
    """What is published of a list, and what is passed over."""
    passed_over: list[Mapping[str, Any]] = []
    seen: set[Ref] = set()
    shown = [
        saying
        for page in batched(items, PAGE_OBJECTS)
        for saying in facts_of_page(
            ledger,
            source,
            page,
            seen,
            epoch=EPOCH,
            full=full,
            pass_over=lambda obj, _problem: passed_over.append(obj),
        )
    ]
    missing = facts_of_absence(ledger, source, seen, version=version, epoch=EPOCH)
    return [*shown, *missing], passed_over


def batched(items: list[Obj], size: int) -> list[list[Obj]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def said(sayings: list[Publication]) -> list[tuple[FactType, str]]:
    return [(each.fact.type, each.fact.name) for each in sayings]


def test_a_full_list_says_everything_and_a_comparison_only_differences() -> None:
    """A comparison of an unchanged cluster is silent."""
    ledger = Ledger()
    jobs = (a_job("a"), a_job("b"))
    everything = [(FactType.ADDITION, "a"), (FactType.ADDITION, "b")]
    assert said(listed(ledger, JOBS, *jobs, full=True)) == everything
    assert listed(ledger, JOBS, *jobs) == []
    assert said(listed(ledger, JOBS, *jobs, full=True)) == everything
    changed = a_job("b").at_version(9).with_status(phase="Submitted")
    new = a_job("c").at_version(8)
    assert said(listed(ledger, JOBS, a_job("a"), changed, new)) == [
        (FactType.MODIFICATION, "b"),
        (FactType.ADDITION, "c"),
    ]


def test_what_a_list_does_not_show_any_more_is_gone_as_of_the_lists_version() -> None:
    """This is how deletions missed by the watch are found."""
    ledger = Ledger()
    listed(ledger, JOBS, a_job("a"), a_job("b"), full=True)
    (gone,) = listed(ledger, JOBS, a_job("a"), version=77)
    assert (gone.fact.type, gone.fact.name) == (FactType.DELETION, "b")
    assert gone.fact.resource_version == 77


def test_a_list_of_one_namespace_or_kind_says_nothing_of_the_others() -> None:
    """Sources do not know of each other."""
    ledger = Ledger()
    here, there = Source(JOBS.watched, "here"), Source(JOBS.watched, "there")
    listed(ledger, here, a_job("a").in_namespace("here"), full=True)
    assert listed(ledger, there, full=True) == []
    assert listed(ledger, PODS, full=True) == []
    assert len(listed(ledger, here)) == 1


def test_an_object_without_a_name_or_a_version_is_passed_over() -> None:
    """It delays nothing but itself."""
    broken: list[Obj] = [
        {},
        {"metadata": {"name": "x", "uid": "u"}},
        {"metadata": {"name": "y", "uid": "u", "resourceVersion": "abc"}},
    ]
    facts, passed_over = facts_in(Ledger(), JOBS, [*broken, a_job().build()])
    assert said(facts) == [(FactType.ADDITION, "shop")]
    assert passed_over == broken


def test_an_object_that_cannot_be_read_whole_exists_and_a_readable_version_follows() -> None:
    """A reader that took it for gone would delete what runs."""
    ledger = Ledger()
    deep = a_job("deep").build()
    deep["spec"]["processingElement"] = nested(FACT_DEPTH_MAX)
    facts, passed_over = facts_in(ledger, JOBS, [deep, a_job().build()])
    assert said(facts) == [(FactType.ADDITION, "deep"), (FactType.ADDITION, "shop")]
    assert not passed_over
    data = facts[0].fact.data
    assert isinstance(data, Unreadable)
    assert data["metadata"]["generation"] == 1
    assert data["status"] == {"phase": "Submitting"}
    assert data.why.startswith("spec.processingElement.a.a.a")
    with pytest.raises(ObjectUnreadable, match="nests more than 64 levels deep"):
        data["spec"]
    assert facts_in(ledger, JOBS, [deep, a_job().build()], full=False)[0] == []
    mended = a_job("deep").at_version(9)
    assert said(listed(ledger, JOBS, mended, a_job())) == [(FactType.MODIFICATION, "deep")]


def nested(levels: int) -> Obj:
    found: Obj = {}
    for _ in range(levels - 1):
        found = {"a": found}
    return found


def test_versions_that_fall_or_say_something_else_contradict_what_was_reported() -> None:
    """A cluster was restored from a backup: everything must be said again."""
    ledger = Ledger()
    listed(ledger, JOBS, a_job().at_version(9), full=True)
    assert not contradicts(ledger, JOBS, [a_job().at_version(9).build()])
    newer = a_job().at_version(10).with_status(phase="Submitted")
    assert not contradicts(ledger, JOBS, [newer.build()])
    assert contradicts(ledger, JOBS, [a_job().at_version(8).build()])
    assert contradicts(ledger, JOBS, [a_job().at_version(9).with_status(phase="Failed").build()])


def test_a_kind_is_complete_when_all_its_sources_are_and_a_resync_when_all_kinds_are() -> None:
    """A pod list completes two kinds at once."""
    here, there = Source(JOBS.watched, "here"), Source(JOBS.watched, "there")
    rounds = Rounds((here, there, PODS))
    number = rounds.begin()
    assert rounds.owes(here)
    assert rounds.mark_listed(here, number) == ()
    assert not rounds.owes(here)
    assert rounds.mark_listed(PODS, number) == ("Pod", "BoundPod")
    assert not rounds.take_completion()
    assert rounds.mark_listed(there, number) == ("Job",)
    assert rounds.take_completion()
    assert not rounds.take_completion()


def test_a_resync_that_is_overtaken_is_never_complete() -> None:
    """Lists of the older one do not count for the newer one."""
    rounds = Rounds((JOBS, PODS))
    first = rounds.begin()
    rounds.mark_listed(JOBS, first)
    second = rounds.begin()
    rounds.mark_listed(PODS, first)
    assert rounds.owes(JOBS)
    assert rounds.owes(PODS)
    assert not rounds.take_completion()
    assert rounds.number_of(JOBS) == first
    rounds.mark_listed(JOBS, second)
    rounds.mark_listed(PODS, second)
    assert rounds.take_completion()


def test_pods_of_both_kinds_are_reported_in_the_order_of_the_list() -> None:
    """One source keeps the order of its objects."""
    ledger = Ledger()
    first = a_pod(pe_id=0).on_node("n1")
    second = a_pod(pe_id=1).on_node("n1")
    kinds = [each.fact.kind for each in listed(ledger, PODS, first, second, full=True)]
    assert kinds == ["Pod", "BoundPod", "Pod", "BoundPod"]
