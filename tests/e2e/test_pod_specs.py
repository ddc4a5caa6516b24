"""The pods of PEs as the API has them: every option of the spec, and the matrix of resources."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from loadtest.api import CORE, MERGE
from tests.e2e.examples import OUTSIDE, submit_example, with_example
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects, Obj
from tests.golden_pods import VARIANTS, golden_spec, in_service_of_job

COVERS = (
    "services/pod_state_machine/core/pod_*",
    "services/pod_state_machine/core/references.py",
    "services/pod_state_machine/core/rounding.py",
    "services/fusion_backend/adapters/certif*",
    "services/fusion_backend/core/spec/pod_*",
    "services/fusion_backend/core/spec/sizing.py",
    "contracts/resources/pod_*",
)

WIDTH = 1
PES = WIDTH + OUTSIDE
BUNDLE = "wordcount.sab"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]


def holds(expected: Any, found: Any, place: str = "spec") -> list[str]:
    """Where what is expected is not found; API servers add defaults, and volumes, of their own."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            wrong
            for key, value in expected.items()
            for wrong in holds(value, found.get(key), f"{place}.{key}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) <= len(found):
        pairs = enumerate(zip(expected, found, strict=False))
        return [w for at, (a, b) in pairs for w in holds(a, b, f"{place}[{at}]")]
    return [] if expected == found else [f"{place}: {found!r}, not {expected!r}"]


async def pod_made(job: JobObjects, pe: str) -> Obj:
    """The pod of a PE; whether it ever runs depends on volumes that no node has."""
    await job.until(
        f"{pe} and its pod, whose watch may be ahead",
        lambda: pe in job.of("pes") and bool(job.pods_of_pes().get(pe)),
    )
    (pod,) = job.pods_of_pes()[pe]
    return pod


@pytest.mark.scenario(11)
@pytest.mark.parametrize("option", VARIANTS)
async def test_the_pod_of_a_pe_is_the_golden_one_with_its_option(
    cluster: Cluster, option: str
) -> None:
    """Default spec, and one variant an option."""
    name = "pod-" + "".join(each if each.isalnum() else "-" for each in option.lower())
    variant = VARIANTS[option]
    async with cluster.job(name) as job:
        await submit_example(cluster, job, WIDTH, processingElement=variant.spec)
        pod = await pod_made(job, f"{name}-0")
        pe = job.of("pes")[f"{name}-0"]
        content, pack = pe["spec"]["contentId"], pe["spec"]["pack"]
        golden = golden_spec(name, 0, content_id=content, bundle=BUNDLE, job_uid=job.uid, pack=pack)
        expected = in_service_of_job(variant.applied(golden, name), name, 0)
        assert holds(expected, pod["spec"]) == []
        assert pod["metadata"]["annotations"]["streams.ibm.com/contentId"]
        assert len(pod["spec"]["containers"][0]["env"]) == len(expected["containers"][0]["env"])


@pytest.mark.scenario(11)
async def test_the_certificate_of_a_job_is_in_a_secret_that_goes_with_it(cluster: Cluster) -> None:
    """A key beside it; a Secret that somebody deletes is made again."""
    path = f"{CORE}/secrets/talks.transport"
    async with cluster.job("talks") as job:
        encrypted: Obj = {"transportSecurityType": "TLSv1.2"}
        await with_example(cluster, job, WIDTH, processingElement=encrypted)
        secret = await cluster.api.call("GET", path)
        assert secret["metadata"]["ownerReferences"][0]["uid"] == job.uid
        assert secret["metadata"]["labels"]["streams.ibm.com/job-uid"] == job.uid
        parts = {name: base64.b64decode(each) for name, each in secret["data"].items()}
        assert parts["transport.cert"].startswith(b"-----BEGIN CERTIFICATE-----")
        assert parts["transport.key"].startswith(b"-----BEGIN PRIVATE KEY-----")
        assert job.status["transportCertificate"]["secretName"] == "talks.transport"
        before = job.status["transportCertificate"]
        await cluster.api.call("DELETE", path)
        await job.until("another", lambda: job.status["transportCertificate"] != before)
        again = await cluster.api.call("GET", path)
        assert again["metadata"]["uid"] != secret["metadata"]["uid"]


@pytest.mark.scenario(11)
async def test_an_edit_of_a_pe_is_taken_up_by_its_next_launch_only(cluster: Cluster) -> None:
    """What runs is not launched again."""
    async with cluster.job("edited-pod") as job:
        await with_example(cluster, job, WIDTH)
        (before,) = job.pods_of_pes()["edited-pod-0"]
        path = "/apis/streams.ibm.com/v1/namespaces/default/streamspes/edited-pod-0"
        edit: Obj = {"spec": {"runtimeTraceLevel": "TRACE"}}
        await cluster.api.call("PATCH", path, edit, MERGE)
        await job.until(
            "the edit",
            lambda: job.of("pes")["edited-pod-0"]["spec"]["runtimeTraceLevel"] == "TRACE",
        )
        (same,) = job.pods_of_pes()["edited-pod-0"]
        assert same["metadata"]["uid"] == before["metadata"]["uid"]
        await cluster.api.call("PATCH", path, {"spec": {"launchCount": 2}}, MERGE)
        await job.until("the next launch", lambda: job.is_settled() and launch_of(job) == "2")
        (after,) = job.pods_of_pes()["edited-pod-0"]
        assert variable(after, "STREAMS_INITIAL_TRACE_LEVEL") == "TRACE"


def launch_of(job: JobObjects) -> str:
    pods = job.pods_of_pes()["edited-pod-0"]
    return str(pods[0]["metadata"]["labels"]["streams.ibm.com/launch-count"]) if pods else ""


def variable(pod: Obj, name: str) -> str:
    found = (each for each in pod["spec"]["containers"][0]["env"] if each["name"] == name)
    return str(next(found)["value"])


@pytest.mark.scenario(11)
@pytest.mark.parametrize(
    ("template", "field", "value"),
    [
        (
            {"podTemplate": {"spec": {"restartPolicy": "Always"}}},
            "spec.processingElement.podTemplate.spec.restartPolicy",
            "Always",
        ),
        (
            {"podTemplate": {"spec": {"containers": [{"name": "pe", "image": "mine:1"}]}}},
            "spec.processingElement.podTemplate.spec.containers[0].image",
            "mine:1",
        ),
        (
            {
                "checkpointRepository": {
                    "redis": {"service": "localhost", "replicaCount": 2, "shardCount": 1}
                }
            },
            "spec.processingElement.checkpointRepository.redis.replicaCount",
            "2",
        ),
        (
            {
                "checkpointRepository": {
                    "redis": {"service": "localhost", "replicaCount": 3, "shardCount": 2}
                }
            },
            "spec.processingElement.checkpointRepository.redis.service",
            "asks for 6",
        ),
    ],
)
async def test_a_pod_that_cannot_be_made_is_refused_with_field_and_value(
    cluster: Cluster, template: Obj, field: str, value: str
) -> None:
    """At the submission; nothing is run in another way than was requested."""
    async with cluster.job("no-pod") as job:
        await submit_example(cluster, job, WIDTH, processingElement=template)
        await job.until("refused", lambda: job.phase == "Failed")
        assert field in job.status["message"]
        assert value in job.status["message"]


OWN: Obj = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "3"}}
MATRIX: tuple[tuple[str, Obj | None, Obj | None, Obj], ...] = (
    ("defaults", None, None, {"requests": {"cpu": "100m", "memory": "128Mi"}}),
    ("pe", None, OWN, OWN),
    (
        "job",
        {"limits": {"cpu": "5", "memory": "10Gi"}, "requests": {"cpu": "500m", "memory": "1280Mi"}},
        None,
        {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
    ),
    ("both", {"requests": {"cpu": "1"}}, OWN, {"requests": {"cpu": "200m"}}),
    ("limits", {"limits": {"memory": "5Gi"}}, None, {"limits": {"memory": "1Gi"}}),
    ("tiny", {"requests": {"cpu": "0.001"}}, None, {"requests": {"cpu": "1m"}}),
)


@pytest.mark.scenario(12)
@pytest.mark.parametrize(("case", "of_job", "of_pe", "share"), MATRIX, ids=[m[0] for m in MATRIX])
async def test_resources_of_job_and_pe_follow_the_table(
    cluster: Cluster, case: str, of_job: Obj | None, of_pe: Obj | None, share: Obj
) -> None:
    """Five PEs; the API server writes quantities in its own way."""
    async with cluster.job(f"shares-{case}") as job:
        given = {"resources": of_job} if of_job else {}
        template = {"processingElement": {"resources": of_pe}} if of_pe else {}
        await submit_example(cluster, job, WIDTH, **given, **template)
        pod = await pod_made(job, f"shares-{case}-0")
        assert len(job.of("pes")) <= PES
        found = pod["spec"]["containers"][0]["resources"]
        assert amounts(found)["limits"] == amounts(share)["limits"], json.dumps(found)
        missing = amounts(share)["requests"].items() - amounts(found)["requests"].items()
        assert not missing, json.dumps(found)


def amounts(resources: Obj) -> dict[str, dict[str, float]]:
    """Quantities as numbers: `0.2m` and `200u` are one."""
    return {
        part: {name: amount(str(each)) for name, each in (resources.get(part) or {}).items()}
        for part in ("limits", "requests")
    }


UNITS = {"u": 1e-6, "m": 1e-3, "Mi": 2**20, "Gi": 2**30}


def amount(quantity: str) -> float:
    number = quantity.rstrip("umMiG")
    return round(float(number) * UNITS.get(quantity[len(number) :], 1.0), 9)
