"""The scenarios of the recordings that are kept, and where each is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.histories import scenes
from tests.histories.releases import version
from tests.histories.staging import Scenario
from tests.places import ROOT

FOLDER = ROOT / "tests" / "histories"
RELEASE = "release"
"""The scenario that each release has a recording of."""

_SCENARIOS = (
    Scenario("submission", "a job is submitted and runs", scenes.submission),
    Scenario(
        "deleted-in-submission",
        "a job is deleted in the middle of its submission, and submitted again",
        scenes.deleted_in_submission,
    ),
    Scenario(
        "storm",
        "four jobs are submitted at once, and each is resized three times at once",
        scenes.storm,
    ),
    Scenario(
        "width-refused",
        "a region gets a width that is refused, and then another one",
        scenes.width_refused,
        settings={"MILLRACE_WIDTH_MAX": str(scenes.WIDTH_MAX)},
    ),
    Scenario(
        "restarts-exhausted",
        "a PE crashes until it is not restarted any more",
        scenes.restarts_exhausted,
    ),
    Scenario(
        "pods-end",
        "a pod fails, and somebody deletes another",
        scenes.pods_end,
    ),
    Scenario("node-drained", "a node is drained", scenes.node_drained),
    Scenario(
        "node-lost",
        "a node falls silent with pods that do not end, until it is out of service",
        scenes.node_lost,
    ),
    Scenario(
        "placement-refused",
        "an operator asks for a host that the cluster does not have",
        scenes.placement_refused,
    ),
    Scenario(
        "pool-of-nodes",
        "a shared pool takes a node and gives it up, an exclusive one ends with its job",
        scenes.pool_of_nodes,
    ),
    Scenario(
        "resize-with-kills",
        "fusion-backend, pod-state-machine and watch-ingest are killed in the middle of a resize",
        scenes.resize_with_kills,
        is_real=True,
    ),
    Scenario(
        "rolling-upgrade",
        "every service is replaced by the next release while a job is resized",
        scenes.rolling_upgrade,
        is_real=True,
        has_next_release=True,
    ),
    Scenario(
        "planted-bug",
        f"a pod fails, and this bug was in the services: {scenes.BUG.what}",
        scenes.planted_bug,
        is_real=True,
        bug=scenes.BUG,
    ),
    Scenario(
        RELEASE,
        "a job with a pool runs, is resized, loses a pod, and is deleted",
        scenes.tour,
    ),
)
SCENARIOS: Mapping[str, Scenario] = {each.name: each for each in _SCENARIOS}


def path_of(scenario: Scenario, release: str = "") -> Path:
    """Where the recording of a scenario is kept; of `release` each release has one (this one)."""
    name = scenario.name
    if name == RELEASE:
        name = f"{RELEASE}-{release or version()}"
    return FOLDER / f"{name}.recording"


def kept() -> list[Path]:
    """All recordings, by name."""
    return sorted(FOLDER.glob("*.recording"))


def scenario_of(path: Path) -> Scenario | None:
    """The scenario of a recording; None for a file that none makes."""
    name = RELEASE if path.stem.startswith(f"{RELEASE}-") else path.stem
    return SCENARIOS.get(name)
