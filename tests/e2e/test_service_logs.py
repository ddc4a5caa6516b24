"""A person follows a job by what the services log: from the file of each, in one order of time."""

from __future__ import annotations

import json

import pytest

from tests.e2e.examples import REGION, until_width, with_example
from tests.e2e.test_asking import ran
from tests.e2e.watching import TEST_S_MAX, Cluster

COVERS = (
    "cli/service_logs.py",
    "cli/service_lines.py",
    "cli/log_commands.py",
    "cli/pe_lines.py",
    "cli/pod_logs.py",
    "services/chassis/process/log_lines.py",
    "services/chassis/running/effect_lines.py",
    "docs/observability.md",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]


async def test_the_lines_of_a_job_lead_from_its_width_to_its_pods(cluster: Cluster) -> None:
    async with cluster.job("followed") as job:
        await with_example(cluster, job, 2)
        await cluster.resize(job, REGION, 3)
        await until_width(job, 3)
        options = f"--state {cluster.system.state} --job {job.job} -o json"
        code, output = await ran(cluster, f"logs {options}")
        assert code == 0, output
        lines = [json.loads(line) for line in output.splitlines()]
        assert [each["timestamp"] for each in lines] == sorted(each["timestamp"] for each in lines)
        roots = [each for each in lines if each["event"] == "spec_changed"]
        assert [each["object"].partition("/")[0] for each in roots] == ["Job", "ParallelRegion"]
        resize = roots[-1]["trace"]
        followed = [each for each in lines if each.get("trace") == resize]
        assert {each["service"] for each in followed} >= {
            "watch-ingest",
            "fusion-backend",
            "pod-state-machine",
        }
        pods = {each["object"] for each in lines if each.get("effect") == "CreatePod"}
        assert {f"Pod/{name}" for name in job.of("pods")} <= pods
