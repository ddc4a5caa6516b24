"""The chain names who decided what on which fact, and how far back the log was read."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import pytest

from cli.why_logs import Subject
from contracts.decisions import DecisionRecord, EffectRecord
from contracts.envelope import Envelope
from contracts.facts import Epoch, Fact, FactType
from contracts.topics import TopicLayout
from history.entries import Decided, Entry, Place, Seen
from history.why.answering import answer_of
from history.why.wording import lines_of
from services.chassis.running.recording import key_text
from services.fusion_backend.adapters import intake as fusion_backend
from services.hostpool_manager.adapters import intake as hostpool_manager
from services.node_tainter.core import snapshot as node_tainter
from services.pod_state_machine.core import snapshot as pod_state_machine
from tests.builders import a_placement
from tests.unit.history.troubles import NOW_S, Scene, a_submitted_job, condition, healthy
from tests.unit.history.why_cases import CASES, SILENT

CAUSE = "uid-pod@7/Pod/modification/1.1"
ILL = CASES["image missing"].scene


def envelope(id_: str) -> Envelope:
    return Envelope(id_, "test", "t", "s", NOW_S - 60, "0" * 32)


def decided(
    offset: int,
    reason: str,
    *,
    key: str = "default/shop-0",
    cause: str = CAUSE,
    service: str = "pod-state-machine",
    now: float = NOW_S - 60,
) -> Entry:
    """A decision that wrote a status."""
    record = DecisionRecord(
        service=service,
        key=key,
        reason=reason,
        effects=(EffectRecord("PatchStatus", "", "patched", sha256="a"),),
        cause=cause,
        rules={"PE": "POD_BLOCKED"},
        now=now,
    )
    return Decided(Place("decisions/0", offset), envelope("d"), record)


def seen() -> Entry:
    """The fact that led to it."""
    epoch = Epoch(1, 1, "c")
    fact = Fact(
        FactType.MODIFICATION, "Pod", "default", "shop-0-x", "uid-pod", 7, epoch, "shop", {}
    )
    return Seen(Place("resources/0", 3), envelope(CAUSE), fact)


def line_of(scene: Scene) -> str:
    """The line of the decision."""
    lines = lines_of(answer_of(scene.gathered()), NOW_S)
    return next((each for each in lines if " decided " in each), "")


def test_the_newest_decision_with_an_effect_is_shown_with_its_fact_and_its_place() -> None:
    line = line_of(ILL.with_log(seen(), decided(5, "FirstLaunch"), decided(6, "ImagePullBackOff")))
    assert line == (
        "      ├─ pod-state-machine decided ImagePullBackOff (rule POD_BLOCKED) on the fact that"
        " Pod shop-0-x changed (resources/0@3): PatchStatus (patched)"
        " (since 60s, 2026-11-20T09:59:00Z) [decisions/0@6]"
    )


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (CAUSE, "on a fact about a Pod (modification)"),
        ("", "on what it had seen before"),
        ("x", "on the fact x"),
    ],
)
def test_a_fact_whose_record_was_not_read_is_described_by_its_id(cause: str, words: str) -> None:
    assert words in line_of(ILL.with_log(decided(6, "ImagePullBackOff", cause=cause)))


def test_decisions_about_others_are_left_out() -> None:
    assert not line_of(ILL.with_log(decided(6, "ImagePullBackOff", key="default/shop-1")))


def test_a_decision_that_does_not_explain_the_status_is_left_out() -> None:
    """The newest one may be about another part of the object."""
    log = (decided(5, "ImagePullBackOff"), decided(6, "Accepted"))
    assert "decided ImagePullBackOff" in line_of(ILL.with_log(*log))
    assert not line_of(ILL.with_log(decided(6, "Accepted")))


def test_a_completed_job_names_when_it_completed_and_not_when_it_began() -> None:
    done = condition("Completed", "True") | {"lastTransitionTime": "2026-11-20T09:59:00Z"}
    job = a_submitted_job(
        phase="Completed",
        startedAt="2026-11-20T08:00:00Z",
        conditions=[condition("Healthy", "True"), done],
    )
    lines = lines_of(answer_of(Scene((job,)).gathered()), NOW_S)
    shown = [each for each in lines if "ompleted" in each]
    assert len(shown) == 2
    assert all("(since 60s, 2026-11-20T09:59:00Z)" in each for each in shown)


def test_nothing_that_was_wrong_before_is_shown_of_a_job_that_is_well() -> None:
    log = [
        decided(5, reason, key="default/shop", service="fusion-backend")
        for reason in ("AllRunning", "SomeNotRunning")
    ]
    assert "decided AllRunning" in line_of(healthy().with_log(*log))


@pytest.mark.parametrize(("between", "since_s"), [("Planning", -7200), ("Submitted", -1800)])
def test_a_failure_that_is_tried_again_is_since_its_first_attempt(
    between: str, since_s: float
) -> None:
    """But not since one before a submission that succeeded."""
    recorded = [("NameTaken", 7200), (between, 3600), ("NameTaken", 1700)]
    log = [
        decided(5, reason, key="default/shop", service="fusion-backend", now=NOW_S - ago_s)
        for reason, ago_s in recorded
    ]
    found = answer_of(CASES["name taken"].scene.with_log(*log).gathered())
    assert found.since_s == NOW_S + since_s


def test_the_first_failure_is_known_without_the_log_where_the_status_has_it() -> None:
    scene = CASES["name taken"].scene
    job = scene.things[0].with_status(firstFailedAt="2026-11-20T07:00:00Z")
    assert answer_of(replace(scene, things=(job,)).gathered()).since_s == NOW_S - 3 * 3600


def test_a_log_that_was_read_in_part_is_named_with_how_far_back() -> None:
    log = replace(ILL.with_log(decided(6, "ImagePullBackOff")).log, since_s=NOW_S - 3600)
    lines = lines_of(answer_of(replace(ILL, log=log).gathered()), NOW_S)
    assert lines[-1] == "the log was read back to 2026-11-20T09:00:00Z"


UNANSWERED = a_placement({}).with_status(phase=None, observedGeneration=None)
KEYS: dict[str, tuple[Scene, str, Hashable]] = {
    "Job": (
        replace(CASES["bundle missing"].scene, target=("Job", "shop")),
        "fusion-backend",
        fusion_backend.JobKey("default", "shop"),
    ),
    "ProcessingElement": (
        ILL.about("ProcessingElement", "shop-0"),
        "pod-state-machine",
        pod_state_machine.PeKey("default", "shop-0"),
    ),
    "Placement": (
        Scene((a_submitted_job(), UNANSWERED)).about("Placement", "shop"),
        "hostpool-manager",
        hostpool_manager.JobKey("default", "shop"),
    ),
    "Node": (
        Scene((SILENT,)).about("Node", "node-1"),
        "node-tainter",
        node_tainter.NodeKey("node-1"),
    ),
}


REASONS = {"Job": "BundleMissing", "ProcessingElement": "ImagePullBackOff"}
"""Of the status; the others have none."""


@pytest.mark.parametrize("kind", KEYS)
def test_decisions_are_found_by_the_keys_that_services_record(kind: str) -> None:
    scene, service, key = KEYS[kind]
    reason = REASONS.get(kind, "Because")
    entry = decided(6, reason, key=key_text(key), service=service)
    assert f"{service} decided {reason}" in line_of(scene.with_log(entry))


@pytest.mark.parametrize(
    ("subject", "wanted"),
    [
        (Subject("default", "shop"), ["Node/node-1", "Node/node-2"]),
        (Subject("default", "", node="node-1"), ["Node/node-1"]),
    ],
)
def test_decisions_on_nodes_are_read_though_they_name_no_namespace(
    subject: Subject, wanted: list[str]
) -> None:
    keys = [key_text(node_tainter.NodeKey(name)) for name in ("node-1", "node-2")]
    entries = [decided(6, "Because", key=key, service="node-tainter") for key in keys]
    admitted = [each for each in entries if isinstance(each, Decided) and subject.admits(each)]
    assert [each.decision.key for each in admitted] == wanted
    assert not replace(subject, since_s=NOW_S).admits(entries[0])


def test_of_a_node_only_the_partitions_are_read_that_have_something_about_it() -> None:
    names = ("cluster/0", "decisions/1", "observations/0", "resources/0", "resources/1")
    subject, layout = Subject("default", "", node="node-1"), TopicLayout("millrace", 2)
    found = [each for each in names if subject.concerns(each, layout)]
    assert found == ["cluster/0", "decisions/1"]
