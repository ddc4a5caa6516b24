"""`why` names the true cause in its first line and the remedy in its second, for each trouble."""

from __future__ import annotations

from dataclasses import replace

import pytest

from history.why.answering import Answer, answer_of
from history.why.gathered import LogSeen
from history.why.rules import RULES, Trouble
from history.why.wording import document_of, lines_of
from tests.builders import a_host_pool, a_parallel_region, a_pe, a_placement, a_pod
from tests.unit.history.troubles import (
    NOW_S,
    SINCE,
    Scene,
    a_blocked_pe,
    a_ready_node,
    a_running_pod,
    a_submitted_job,
    an_ill_job,
    condition,
    healthy,
    ill,
)
from tests.unit.history.why_cases import CASES, REFUSED_WIDTH, SILENT
from tests.unit.history.why_claims import CLAIMS
from tests.unit.history.why_connections import CONNECTIONS
from tests.unit.history.why_endings import ENDINGS
from tests.unit.history.why_losses import KEPT, LOSSES, SHOWN_NO_MORE
from tests.unit.history.why_refusals import REFUSALS, UNWRITTEN, a_failed_write
from tests.unit.history.why_sidecars import SIDECARS
from tests.unit.history.why_streams import STREAMS

ALL = {**CASES, **CLAIMS, **CONNECTIONS, **ENDINGS, **LOSSES, **REFUSALS, **SIDECARS, **STREAMS}


def first_lines(scene: Scene) -> tuple[Answer, str, str]:
    found = answer_of(scene.gathered())
    cause, remedy, *_ = lines_of(found, NOW_S)
    return found, cause, remedy


@pytest.mark.parametrize("name", ALL)
def test_the_first_line_is_the_cause_and_the_second_the_remedy(name: str) -> None:
    case = ALL[name]
    found, cause, remedy = first_lines(case.scene)
    assert found.trouble == case.trouble.name, cause
    for words in case.cause:
        assert words in cause
    for words in case.remedy:
        assert words in remedy
    assert "{" not in remedy


@pytest.mark.parametrize("name", SHOWN_NO_MORE)
def test_losses_that_are_acknowledged_or_forgotten_are_nothing_wrong(name: str) -> None:
    assert answer_of(Scene(SHOWN_NO_MORE[name]).gathered()).trouble is None


def test_an_operator_does_not_fail_since_the_loss_that_made_the_job_unhealthy() -> None:
    job, *others = ALL["an operator that ended its PE"].scene.things
    lossy = job.with_status(losses=KEPT)
    assert answer_of(Scene((lossy, *others)).gathered()).since_s is None
    assert "tuples were lost" in "".join(answer_of(Scene((lossy, *others)).gathered()).also)


RESTARTING = (
    a_blocked_pe("BackingOff", "The next restart is due.", phase="Failed", pe_id=1),
    a_pod(pe_id=1).in_phase("Failed"),
)
HARMLESS: dict[str, tuple[str, Scene]] = {
    "another PE restarts": ("image missing", CASES["image missing"].scene.and_also(*RESTARTING)),
    "a closed node": (
        "unschedulable",
        CASES["unschedulable"].scene.and_also(a_ready_node("node-2").with_spec(unschedulable=True)),
    ),
    "a service that is not needed": (
        "Secret missing",
        replace(CASES["Secret missing"].scene, down={"node-tainter": ""}),
    ),
    "a condition that only informs": (
        "restarts exhausted",
        replace(
            CASES["restarts exhausted"].scene,
            things=(
                an_ill_job(condition("WithinResources", "False", "ResourcesExceeded", "too much")),
                *CASES["restarts exhausted"].scene.things[1:],
            ),
        ),
    ),
    "a refused width": ("quota", CASES["quota"].scene.and_also(REFUSED_WIDTH)),
    "another node is lost": (
        "bundle invalid",
        CASES["bundle invalid"].scene.and_also(SILENT),
    ),
}


@pytest.mark.parametrize("harmless", HARMLESS)
def test_a_second_trouble_that_is_harmless_does_not_hide_the_cause(harmless: str) -> None:
    name, scene = HARMLESS[harmless]
    assert first_lines(scene)[1] == first_lines(CASES[name].scene)[1]


def test_a_trouble_that_is_not_the_cause_is_named_below() -> None:
    found, _, _ = first_lines(HARMLESS["another PE restarts"][1])
    assert any("PE shop-1 failed and is restarted soon" in each for each in found.also)


@pytest.mark.parametrize(
    ("kind", "name", "more"),
    [
        ("Job", "shop", ()),
        ("ProcessingElement", "shop-0", ()),
        ("Pod", str(a_pod().build()["metadata"]["name"]), ()),
        ("Node", "node-1", ()),
        ("ParallelRegion", "shop-0", (a_parallel_region().with_status(width=3),)),
        (
            "HostPool",
            "shop-1",
            (a_host_pool().with_status(conditions=[condition("Ready", "True")]),),
        ),
        (
            "Placement",
            "shop",
            (a_placement({}).with_status(conditions=[condition("Placed", "True")]),),
        ),
    ],
)
def test_nothing_is_wrong_with_a_healthy_object_and_since_when(
    kind: str, name: str, more: tuple[object, ...]
) -> None:
    found, cause, remedy = first_lines(healthy().and_also(*more).about(kind, name))  # type: ignore[arg-type]
    assert found.trouble is None
    assert cause.startswith(f"cause:  nothing is wrong: {kind} {name} ")
    assert "since" in cause
    assert remedy == "remedy: Nothing is to be done"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ProcessingElement", "shop-0"),
        ("Pod", str(a_pod().build()["metadata"]["name"])),
        ("Job", "shop"),
    ],
)
def test_a_job_its_pe_and_its_pod_have_the_same_cause(kind: str, name: str) -> None:
    scene = CASES["image missing"].scene
    assert (
        first_lines(scene.about(kind, name))[1].partition(" (since")[0]
        == (first_lines(scene)[1].partition(" (since")[0])
    )


def test_a_healthy_pe_beside_an_ill_one_is_well() -> None:
    other = (a_pe(pe_id=1).launched(1), a_running_pod(1))
    scene = CASES["image missing"].scene.and_also(*other)
    assert first_lines(scene.about("ProcessingElement", "shop-1"))[0].trouble is None


@pytest.mark.parametrize(
    ("node", "words", "command"),
    [
        (SILENT, "is not ready: Kubelet stopped posting", "kubectl delete node node-1"),
        (a_ready_node().with_spec(unschedulable=True), "it is cordoned", "uncordon node-1"),
        (
            a_ready_node().with_spec(taints=[{"key": "k", "effect": "NoExecute"}]),
            "it has the taint k:NoExecute",
            "kubectl taint node node-1 k:NoExecute-",
        ),
        (
            a_ready_node().with_status(
                conditions=[condition("Ready", "True"), condition("DiskPressure", "True")]
            ),
            "has DiskPressure",
            "kubectl drain node-1",
        ),
    ],
)
def test_a_node_that_is_not_well_says_what_ends_that(node: Scene, words: str, command: str) -> None:
    _, cause, remedy = first_lines(Scene((node,), ("Node", "node-1")))  # type: ignore[arg-type]
    assert words in cause
    assert command in remedy


def test_a_job_that_is_on_its_way_says_so() -> None:
    scene = Scene((a_submitted_job(phase="Submitting", message="it is being planned"),))
    found, cause, remedy = first_lines(scene)
    assert found.trouble == "IN_PROGRESS"
    assert "it is being planned" in cause
    assert "millrace get shop -n default --watch" in remedy


def test_a_job_whose_new_width_is_being_planned_says_so() -> None:
    region = a_parallel_region().with_spec(width=9).with_status(width=3)
    found, cause, _ = first_lines(healthy().and_also(region))
    assert found.trouble == "IN_PROGRESS"
    assert "waits for its width 9 (3 is in force)" in cause


def test_the_width_of_its_job_is_not_why_a_pe_does_not_run() -> None:
    things = (a_submitted_job(), REFUSED_WIDTH, a_pe().launched(1))
    _, cause, _ = first_lines(Scene(things, ("ProcessingElement", "shop-0")))
    assert "ParallelRegion" not in cause


def test_a_service_that_nobody_reports_on_is_suspected_when_it_is_late() -> None:
    scene = replace(ill(a_pe()), services_known=False)
    found, _, remedy = first_lines(scene)
    assert found.trouble == "SERVICE_SILENT"
    assert "app.kubernetes.io/name=millrace" in remedy


def test_without_a_log_the_last_line_says_so_and_why() -> None:
    absent = replace(healthy(), log=LogSeen(absent="the current context is not of a `millrace up`"))
    assert lines_of(answer_of(absent.gathered()), NOW_S)[-1] == (
        "from status alone, without the log: the current context is not of a `millrace up`"
    )


def test_the_chain_leads_from_the_object_to_what_shows_the_cause() -> None:
    found = document_of(answer_of(CASES["image missing"].scene.gathered()))
    (job,) = found["chain"]
    (pe,) = job["below"]
    (pod,) = pe["below"]
    assert [each["text"].split()[0] for each in (job, pe, pod)] == [
        "Job",
        "ProcessingElement",
        "Pod",
    ]
    assert job["since"] == SINCE


def test_there_is_one_rule_for_each_trouble_but_for_closed_nodes() -> None:
    """They are seen in two ways: by hostpool-manager, and by the scheduler."""
    assert {rule.trouble for rule in RULES} == set(Trouble)
    assert len(RULES) == len(Trouble) + 1


@pytest.mark.parametrize("kind", ["Job", "ProcessingElement", "Pod", "Node", "HostPool"])
@pytest.mark.parametrize("obj", [{}, {"spec": 3, "status": []}, {"status": {"conditions": "x"}}])
def test_an_object_without_form_has_an_answer(kind: str, obj: dict[str, object]) -> None:
    """Pods and nodes are made by others."""
    gathered = replace(
        Scene(()).about(kind, "x").gathered(), objects={kind: ({"metadata": {"name": "x"}, **obj},)}
    )
    assert answer_of(gathered).cause


def test_pes_that_are_refused_for_another_cause_are_not_counted_as_alike() -> None:
    _, cause, _ = first_lines(ALL["only those that are refused alike are counted"].scene)
    assert "more)" not in cause


def test_a_write_that_failed_before_one_that_did_not_is_no_cause() -> None:
    log = [a_failed_write("transient"), a_failed_write("created")]
    found, _, _ = first_lines(UNWRITTEN.with_log(*log))
    assert found.trouble != "WRITES_FAIL"
    assert first_lines(UNWRITTEN.with_log(*reversed(log)))[0].trouble == "WRITES_FAIL"
