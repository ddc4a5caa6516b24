"""ParallelRegions and HostPools that name what does not exist report it within seconds."""

from __future__ import annotations

import pytest

from contracts import labels
from contracts.resources import API_VERSION
from loadtest.api import STREAMS
from tests.e2e.watching import TEST_S_MAX, Cluster, Obj

COVERS = (
    "services/fusion_backend/core/reference_rules.py",
    "services/fusion_backend/core/references.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]

STRAYS: dict[str, tuple[str, str, Obj]] = {
    "streamsprs": ("regions", "ParallelRegion", {"alias": "Counted", "width": 2}),
    "streamshostpools": ("pools", "HostPool", {"hostpool": {"name": "gpu"}}),
}


def accepted(found: Obj) -> Obj | None:
    """The condition Accepted of an object, once it has one."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == "Accepted"), None)


@pytest.mark.parametrize("plural", STRAYS)
async def test_an_object_of_no_job_has_a_condition_and_an_event_with_field_and_value(
    cluster: Cluster, plural: str
) -> None:
    of, kind, spec = STRAYS[plural]
    meta = {"name": "stray", "labels": {labels.APP: labels.APP_VALUE, labels.JOB: "nobody"}}
    body = {"apiVersion": API_VERSION, "kind": kind, "metadata": meta}
    async with cluster.job("nobody") as job:
        await cluster.api.call(
            "POST", f"{STREAMS}/{plural}", {**body, "spec": {"job": "nobody", **spec}}
        )
        await job.until("reported", lambda: accepted(job.of(of).get("stray", {})) is not None)
        found = accepted(job.of(of)["stray"]) or {}
        assert (found["status"], found["reason"]) == ("False", "InvalidReference")
        assert found["message"].startswith("spec.job is nobody: ")
        events = [each for each in await cluster.events("stray") if each["type"] == "Warning"]
        assert found["message"] in [each["message"] for each in events]
        await cluster.api.call("DELETE", f"{STREAMS}/{plural}/stray")
