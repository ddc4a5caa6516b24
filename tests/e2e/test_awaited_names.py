"""A Job that names a Secret that does not exist says so, and runs when it is created."""

from __future__ import annotations

import pytest

from loadtest.api import CORE
from tests.e2e.examples import OUTSIDE, submit_example
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects

COVERS = (
    "services/fusion_backend/core/awaited.py",
    "services/fusion_backend/adapters/awaiting.py",
    "contracts/resources/awaiting.py",
    "contracts/waits.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]

WIDTH = 1
SECRET = "awaited-open"
NAMED = f"spec.appPropertiesSecret: Secret {SECRET}"


def names_it(job: JobObjects) -> bool:
    """Whether each PE, and the condition Healthy of the Job, name the Secret and the field."""
    statuses = [each.get("status") or {} for each in job.of("pes").values()]
    health = [each for each in job.status.get("conditions", ()) if each["type"] == "Healthy"]
    return (
        len(statuses) == WIDTH + OUTSIDE
        and all(each.get("reason") == "VolumesNotMounted" for each in statuses)
        and all(NAMED in each["message"] for each in statuses)
        and any(NAMED in str(each.get("message")) for each in health)
    )


# The kubelets of the real pair are those of kwok, which mount nothing.
@pytest.mark.parametrize("system", ["sandbox"], indirect=True)
async def test_a_job_names_the_secret_that_it_waits_for_and_the_field(cluster: Cluster) -> None:
    """Ten seconds after its pods are on their nodes."""
    async with cluster.job("awaited") as job:
        await submit_example(cluster, job, WIDTH, processingElement={"appPropertiesSecret": SECRET})
        await job.until("the Secret and its field are named", lambda: names_it(job))
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}}
        await cluster.api.call("POST", f"{CORE}/secrets", secret)
        try:
            await job.until("running", job.is_settled)
        finally:
            await cluster.api.call("DELETE", f"{CORE}/secrets/{SECRET}")
