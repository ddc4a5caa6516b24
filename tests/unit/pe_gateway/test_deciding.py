"""When a report enters the status of its PE."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.resources import Connectivity, PePhase
from services.launching.core.owners import LaunchStatus, RestartPolicies
from services.launching.core.pods import Pod
from services.pe_gateway.core.deciding import decide
from services.pe_gateway.core.effects import DropReport, Effect, SetReported
from services.pe_gateway.core.snapshot import Pe, PeKey, PeOwner, PeSnapshot, Report

PE = Pe("ns", "shop-3", "uid", 3, "shop", launch=2)
FULL = Report("uid", Connectivity.FULL, 2, "", at=100.0)
PARTIAL = replace(FULL, connectivity=Connectivity.PARTIAL)
DROP = DropReport("shop-3", "uid")


def decided(
    pe: Pe | None, report: Report | None, now: float = 101.0
) -> tuple[str, tuple[Effect, ...]]:
    """The rule that holds, and the effects."""
    decision = decide(PeSnapshot(PeKey("ns", "shop-3"), pe, report), now, settle_s=2.0)
    return decision.rules["report"], decision.effects


@pytest.mark.parametrize(
    ("pe", "report", "rule", "effects"),
    [
        (PE, None, "UNREPORTED", ()),
        (None, FULL, "PE_GONE", (DROP,)),
        (replace(PE, uid="another"), FULL, "PE_GONE", (DROP,)),
        (replace(PE, is_deleting=True), FULL, "PE_GONE", (DROP,)),
        (PE, replace(FULL, launch=1), "LAUNCHED_AGAIN", (DROP,)),
        (replace(PE, connectivity="Full"), replace(FULL, launch=3), "AHEAD", ()),
        (replace(PE, connectivity="Full"), FULL, "RECORDED", (DROP,)),
        (replace(PE, connectivity="None"), FULL, "OVERTAKEN", (DROP,)),
        (PE, PARTIAL, "UNSETTLED", ()),
        (PE, FULL, "REPORTED", (SetReported("shop-3", "uid", Connectivity.FULL),)),
        (
            replace(PE, launch=0),
            FULL,
            "REPORTED",
            (SetReported("shop-3", "uid", Connectivity.FULL),),
        ),
    ],
)
def test_the_first_rule_that_holds_decides(
    pe: Pe | None, report: Report | None, rule: str, effects: tuple[Effect, ...]
) -> None:
    assert decided(pe, report) == (rule, effects)


def test_a_report_of_fewer_connections_counts_when_it_has_settled() -> None:
    settled = SetReported("shop-3", "uid", Connectivity.PARTIAL)
    assert decided(PE, PARTIAL, now=102.0) == ("REPORTED", (settled,))
    decision = decide(PeSnapshot(PeKey("ns", "shop-3"), PE, PARTIAL), 101.0, settle_s=2.0)
    assert decision.requeue_at == 102.0


# --------------------------------------------------------------------------- what says Running


def starting(phase: PePhase = PePhase.STARTING, launch: int = 2) -> PeOwner:
    """The PE as what launches pods; its launch starts."""
    return PeOwner(
        namespace="ns",
        name="shop-3",
        uid="uid",
        content_id="c1",
        launch_floor=0,
        metadata_generation=1,
        policies=RestartPolicies(),
        status=LaunchStatus(phase=phase, launch_count=launch, pod="p", content_id="c1"),
        resource_version=17,
        id=3,
        job="shop",
    )


POD = Pod("p", "u", "uid", 2, "c1", "Running", node="n1", created_at=90.0)


def of_launch(
    owner: PeOwner, *pods: Pod, report: Report = FULL, now: float = 101.0
) -> tuple[str, tuple[Effect, ...]]:
    """The rule that holds, and the effects, where the launches of the PE are known, too."""
    snapshot = PeSnapshot(PeKey("ns", "shop-3"), PE, report, owner, pods)
    decision = decide(snapshot, now, settle_s=2.0)
    return decision.rules["report"], decision.effects


def test_a_report_of_a_pe_that_starts_says_that_it_runs_too() -> None:
    for phase in (PePhase.WAITING, PePhase.STARTING):
        rule, (effect,) = of_launch(starting(phase), POD)
        assert rule == "REPORTED"
        assert isinstance(effect, SetReported)
        assert effect.running is not None
        status = effect.running
        assert (status.phase, status.pod, status.node) == (PePhase.RUNNING, "p", "n1")
        assert (status.reason, effect.version) == ("PodRunning", 17)


def test_a_report_of_a_pod_that_does_not_run_yet_waits_for_that_and_not_for_long() -> None:
    pending = replace(POD, phase="Pending")
    for pods in ((), (pending,)):
        assert of_launch(starting(), *pods) == ("NOT_RUNNING", ())
        alone = SetReported("shop-3", "uid", Connectivity.FULL)
        assert of_launch(starting(), *pods, now=102.0) == ("REPORTED", (alone,))
    sealed = replace(FULL, runtime=(("sealed", 1),))
    assert of_launch(starting(), pending, report=sealed)[0] == "REPORTED"


def test_a_report_says_nothing_of_a_launch_that_another_rule_decides_on() -> None:
    """As of a pod that is being deleted, that failed, or whose PE has another content."""
    alone = SetReported("shop-3", "uid", Connectivity.FULL)
    runs = starting(PePhase.RUNNING)
    for owner, pod in (
        (runs, POD),
        (starting(), replace(POD, is_deleting=True)),
        (starting(), replace(POD, phase="Failed")),
        (starting(), replace(POD, is_unreported=True)),
        (replace(starting(), content_id="c2"), POD),
        (replace(starting(), launch_floor=3), POD),
        (replace(starting(), is_deleting=True), POD),
    ):
        assert of_launch(owner, pod) == ("REPORTED", (alone,)), (owner, pod)
