"""`millrace why` on a real API server that refuses pods, and the remedies that it names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from loadtest.api import CORE, MERGE, Refused
from tests.e2e.examples import submit_example
from tests.e2e.test_why import LOOK_EVERY_S, WIDTH, until_named
from tests.e2e.watching import TEST_S_MAX, WAIT_S, Cluster, Obj

COVERS = (
    "history/why/of_writes.py",
    "history/why/remedies.py",
    "cli/why_*",
    "history/why/of_pods.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
QUOTAS = f"{CORE}/resourcequotas"
NAME = "why-quota"


def marked(name: str) -> Obj:
    """Pods that the policy or webhook of this name is about, and no others."""
    return {"podTemplate": {"metadata": {"annotations": {_mark(name): "yes"}}}}


def _mark(name: str) -> str:
    return f"e2e.millrace.dev/{name}"


def _about_pods(name: str) -> Obj:
    marked_ones = f"'{_mark(name)}' in object.metadata.?annotations.orValue({{}})"
    return {"matchConditions": [{"name": "marked", "expression": marked_ones}]}


RULES = [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
]


@asynccontextmanager
async def made(cluster: Cluster, *objects: tuple[str, Obj]) -> AsyncIterator[None]:
    """These objects, each in the collection at a path, until the end."""
    for path, body in objects:
        await cluster.api.call("POST", path, body)
    try:
        yield
    finally:
        for path, body in reversed(objects):
            await cluster.api.call("DELETE", f"{path}/{body['metadata']['name']}")


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not await holds():  # noqa: ASYNC110 - the API server decides
            await asyncio.sleep(LOOK_EVERY_S / 5)


async def is_refused(cluster: Cluster, name: str) -> bool:
    """Whether a pod with the mark is refused; none is made."""
    pod = {
        "metadata": {"name": f"{name}-try", "annotations": {_mark(name): "yes"}},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    }
    try:
        await cluster.api.call("POST", f"{CORE}/pods?dryRun=All", pod)
    except Refused:
        return True
    return False


async def over_its_quota(cluster: Cluster) -> None:
    """The remedy is to raise the quota."""
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": [NAME]}
    spec = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}}
    template = {"podTemplate": {"spec": {"priorityClassName": NAME}}}
    class_ = {"metadata": {"name": NAME}, "value": 1}
    async with (
        cluster.job(NAME) as job,
        made(cluster, (CLASSES, class_), (QUOTAS, {"metadata": {"name": NAME}, "spec": spec})),
    ):

        async def is_in_force() -> bool:
            found = await cluster.api.call("GET", f"{QUOTAS}/{NAME}")
            return bool((found.get("status") or {}).get("hard"))

        await until(is_in_force)
        await submit_example(cluster, job, WIDTH, processingElement=template)
        cause = "(and 4 more) gets no pod, the API server refuses it: pods"
        remedy = f"kubectl edit resourcequota {NAME} -n default"
        lines = await until_named(cluster, NAME, cause, remedy)
        assert f"exceeded quota: {NAME}" in lines[0]
        spec["hard"] = {"pods": "9"}
        await cluster.api.call("PATCH", f"{QUOTAS}/{NAME}", {"spec": spec}, MERGE)
        await job.until("running", job.is_settled)


async def against_a_policy(cluster: Cluster) -> None:
    name = "why-policy"
    rule = {"expression": "false", "message": "not on a Thursday"}
    policy = {"matchConstraints": {"resourceRules": RULES}, "validations": [rule]}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    meta: Obj = {"metadata": {"name": name}}
    async with (
        cluster.job(name) as job,
        made(
            cluster,
            (
                f"{ADMISSION}/validatingadmissionpolicies",
                {**meta, "spec": {**policy, **_about_pods(name)}},
            ),
            (f"{ADMISSION}/validatingadmissionpolicybindings", {**meta, "spec": binding}),
        ),
    ):
        await until(lambda: is_refused(cluster, name))
        await submit_example(cluster, job, WIDTH, processingElement=marked(name))
        lines = await until_named(cluster, name, "not on a Thursday", "ask an administrator")
        assert f"ValidatingAdmissionPolicy '{name}'" in lines[0]


async def by_a_webhook_that_is_down(cluster: Cluster) -> None:
    """No status has it, as each attempt may succeed: it is read from the log."""
    name = "why-webhook"
    webhook = {
        "name": "down.millrace.dev",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": RULES,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 1,
        **_about_pods(name),
    }
    body = {"metadata": {"name": name}, "webhooks": [webhook]}
    async with cluster.job(name) as job:
        async with made(cluster, (f"{ADMISSION}/validatingwebhookconfigurations", body)):
            await until(lambda: is_refused(cluster, name))
            await submit_example(cluster, job, WIDTH, processingElement=marked(name))
            await until_named(
                cluster,
                name,
                "again and again: the API server answers with an error",
                f"millrace logs --service pod-state-machine --job {name} -n default",
                log=True,
            )
        await job.until("running", job.is_settled)


REAL = pytest.param("real", marks=pytest.mark.real)


# The sandbox has no quotas, policies of others or webhooks.
@pytest.mark.parametrize("system", [REAL], indirect=True)
async def test_what_refuses_the_pods_of_a_job_is_named_with_the_remedy(cluster: Cluster) -> None:
    troubles = (over_its_quota, against_a_policy, by_a_webhook_that_is_down)
    outcomes = await asyncio.gather(*(each(cluster) for each in troubles), return_exceptions=True)
    failures = [each for each in outcomes if isinstance(each, Exception)]
    if failures:
        raise ExceptionGroup("troubles that were not named", failures)
