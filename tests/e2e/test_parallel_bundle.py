"""A real bundle: every text that it becomes is valid, and the last of two quick resizes wins.

The scenarios of `applications.py` run on it, too, where it is there.
"""

from __future__ import annotations

import hashlib
import shutil
from typing import Any

import pytest
from lxml import etree

from tests.e2e.watching import TEST_S_MAX, Cluster
from tests.places import corpus

COVERS = (
    "planner/application/*",
    "planner/graph/expansion.py",
    "planner/graph/channels.py",
    "planner/description/*",
    "services/fusion_backend/core/rendering.py",
    "contracts/bundle_format.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.corpus, pytest.mark.timeout(TEST_S_MAX)]
BUNDLE = "apps.parallel.Parallel.sab"
WIDTHS = {"width1": "2", "width2": "5", "width3": "4"}


@pytest.fixture
def parallel(cluster: Cluster) -> Cluster:
    """The cluster with the real bundle in its bundle root."""
    shutil.copy(corpus(BUNDLE), cluster.system.bundles / BUNDLE)
    return cluster


def spec(fusion: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"bundle": {"name": BUNDLE}, "fusion": fusion, **more}


@pytest.mark.scenario(2)
async def test_legacy_fusion_gives_one_pe_an_operator_with_all_its_objects(
    parallel: Cluster,
) -> None:
    """13 PEs, each with a pod, a ConfigMap with a valid AADL; one headless Service."""
    schema = etree.XMLSchema(
        etree.parse(str(corpus("schema/SAM/augmentedApplicationModel.xsd")), None)
    )
    async with parallel.job("legacy") as job:
        await parallel.submit(job.job, spec({"legacy": True}, submissionTimeValues=WIDTHS))
        await job.until("running", job.all_running)
        names = {f"legacy-{number}" for number in range(13)}
        assert set(job.of("pes")) == names
        assert set(job.of("services")) == {"legacy-pes"}
        assert {r["spec"]["alias"]: r["spec"]["width"] for r in job.of("regions").values()} == {
            "Result.Region1": 2,
            "Result.Region2": 5,
            "Result.Region3": 4,
        }
        assert len(job.of("pools")) == 1
        for name, pods in job.pods_of_pes().items():
            assert pods[0]["metadata"]["name"].startswith(f"{name}-")
        assert all(s["spec"]["clusterIP"] == "None" for s in job.of("services").values())
        packs = [pe["spec"]["pack"] for pe in job.of("pes").values()]
        aadls = [job.of("config_maps")[each["name"]]["data"][each["key"]] for each in packs]
        assert len(aadls) == 13
        for aadl in aadls:
            schema.assertValid(etree.fromstring(aadl.encode()))
        contents = {hashlib.sha256(aadl.encode()).hexdigest() for aadl in aadls}
        assert {pe["spec"]["contentId"] for pe in job.of("pes").values()} == contents


async def test_the_last_of_two_quick_resizes_wins(parallel: Cluster) -> None:
    """A second width that arrives during the first resize is the one that converges."""
    async with parallel.job("twice") as job:
        await parallel.submit(job.job, spec({"legacy": True}, submissionTimeValues=WIDTHS))
        await job.until("running", job.all_running)
        await parallel.resize(job, "Result.Region2", 9)
        await job.until(
            "the resize begun", lambda: job.phase == "Resizing" or len(job.of("pes")) > 13
        )
        await parallel.resize(job, "Result.Region2", 3)
        await job.until(
            "width 3",
            lambda: (
                job.width_in_force("Result.Region2") == 3
                and job.all_running()
                and len(job.of("pes")) == 2 + 2 + 3 + 4
            ),
        )
