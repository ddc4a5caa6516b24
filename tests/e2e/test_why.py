"""`millrace why` names what is wrong with jobs of a running system, and how it is ended."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import pytest

from cli.connecting import connected
from cli.history_logs import HistoryOptions
from cli.why_gathering import gather
from history.why.answering import answer_of
from history.why.wording import lines_of
from loadtest.api import CORE, Refused
from tests.e2e import nodes
from tests.e2e.examples import REGION, submit_example, until_width, with_example
from tests.e2e.test_asking import ran
from tests.e2e.watching import TEST_S_MAX, WAIT_S, Cluster, JobObjects, Obj
from tests.places import ROOT

COVERS = ("history/why/*", "cli/why_*", "history/wording.py", "docs/why.md")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
WIDTH = 1
LOOK_EVERY_S = 1.0
EXAMPLES = re.findall(
    r"^millrace ([^#\n]*)", (ROOT / "docs" / "why.md").read_text(), flags=re.MULTILINE
)
WELL = ("why wordcount", "why wordcount-2", "why HostPool/wordcount-0")
"""Those of the page about an object that is well."""
AT_ONCE = 2


async def why(cluster: Cluster, words: str, *, log: bool = False) -> list[str]:
    """The lines of the answer; with `log` those of decisions, too."""
    options = HistoryOptions(prefix=cluster.system.prefix) if log else None
    async with connected(cluster.system.kubeconfig) as found:
        gathered = await gather(found, "default", words, options)
        return lines_of(answer_of(gathered), time.time())


async def until_named(
    cluster: Cluster, words: str, cause: str, remedy: str, *, log: bool = False
) -> list[str]:
    """The answer whose first line has the cause, and the second the remedy.

    PEs of a job get into the same trouble one after another: until then another one may be named.
    """
    lines = ["", ""]
    try:
        async with asyncio.timeout(WAIT_S):
            while cause not in lines[0] or remedy not in lines[1]:
                await asyncio.sleep(LOOK_EVERY_S)
                lines = await why(cluster, words, log=log)
    except TimeoutError:
        raise AssertionError("\n".join([f"{cause}: {remedy} was not named:", *lines])) from None
    return lines


Made = Callable[[Cluster, JobObjects], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ill:
    """How a job becomes ill, and words of the first two lines."""

    made: Made
    cause: str
    remedy: str


def with_pes(**template: object) -> Made:
    """A job whose PEs have these options."""

    async def made(cluster: Cluster, job: JobObjects) -> None:
        await submit_example(cluster, job, WIDTH, processingElement=template)

    return made


def behaving(**annotations: str) -> dict[str, object]:
    """Options of PEs whose pods behave so."""
    marks = {f"sandbox.millrace.dev/{key.replace('_', '-')}": v for key, v in annotations.items()}
    return {"podTemplate": {"metadata": {"annotations": marks}}}


def with_bundle(**bundle: str) -> Made:
    """A job with this bundle."""

    async def made(cluster: Cluster, job: JobObjects) -> None:
        (cluster.system.bundles / "why-bad.sab").write_bytes(b"no bundle")
        await cluster.submit(job.job, {"bundle": bundle, "fusion": {"legacy": True}})

    return made


async def without_its_name(cluster: Cluster, job: JobObjects) -> None:
    service = {"metadata": {"name": f"{job.job}-pes"}, "spec": {"ports": [{"port": 80}]}}
    await cluster.api.call("POST", f"{CORE}/services", service)
    await submit_example(cluster, job, WIDTH)


async def with_a_pod_that_stays(cluster: Cluster, job: JobObjects) -> None:
    template = behaving(behavior="hang")
    await with_example(cluster, job, WIDTH, processingElement=template)
    pod = job.pods_of_pes()[f"{job.job}-0"][0]["metadata"]["name"]
    await cluster.api.call("DELETE", f"{CORE}/pods/{pod}", {"gracePeriodSeconds": 1})


async def wider_than_the_cluster(cluster: Cluster, job: JobObjects) -> None:
    """Its nodes have 128 CPUs in all."""
    large = {"resources": {"requests": {"cpu": "3"}}}
    await submit_example(cluster, job, WIDTH, admission="Require", processingElement=large)  # type: ignore[arg-type]
    await until_width(job, WIDTH)
    await cluster.resize(job, REGION, 200)


JOBS: dict[str, Ill] = {
    "image-missing": Ill(
        with_pes(**behaving(behavior="image-pull-error")),
        "cannot be pulled",
        "spec.processingElement.image",
    ),
    "no-room": Ill(
        with_pes(resources={"requests": {"cpu": "99"}}),
        "finds no nodes: PE 0 ('Sentences') (and 4 like it), which asks for 99 cpu",
        "spec.processingElement.resources",
    ),
    "no-label": Ill(
        with_pes(podTemplate={"spec": {"nodeSelector": {"e2e.millrace.dev/why": "none"}}}),
        "lacks the label e2e.millrace.dev/why=none",
        "kubectl label node",
    ),
    "exhausted": Ill(
        with_pes(maxRestartsInARow=1, **behaving(behavior="fail")),
        "failed too often and is not restarted",
        "millrace restart why-exhausted-0",
    ),
    "not-restarted": Ill(
        with_pes(restartFailedPod=False, **behaving(behavior="fail")),
        "is not launched again: The pod failed.",
        "millrace logs why-not-restarted-0",
    ),
    "no-bundle": Ill(with_bundle(name="nowhere.sab"), "nowhere.sab is not in the", "spec.bundle"),
    "bad-bundle": Ill(
        with_bundle(name="why-bad.sab"), "cannot be read as a zip", "millrace bundle verify FILE"
    ),
    "bundle-host": Ill(
        with_bundle(name="x.sab", url="http://why.invalid/x.sab"), "why.invalid", "spec.bundle"
    ),
    "name-taken": Ill(
        without_its_name,
        "Service why-name-taken-pes belongs to somebody else",
        "kubectl delete service why-name-taken-pes -n default",
    ),
    "width": Ill(
        wider_than_the_cluster,
        "width 200 of Counted (ParallelRegion why-width-0) is refused, and 1 is in force",
        "millrace scale why-width Counted=1",
    ),
    "dancing": Ill(
        with_pes(**behaving(behavior="dance")),
        "(and 4 more) gets no pod, the API server refuses it: Pod",
        "kubectl edit stj why-dancing",
    ),
    "stuck": Ill(with_a_pod_that_stays, "does not end on node", "kubectl delete pod why-stuck-0"),
}


ONLY_IN_THE_SANDBOX = ("dancing",)
"""A real API server stores any annotation."""


async def test_a_job_that_is_ill_has_its_cause_in_the_first_line_and_the_remedy_in_the_second(
    cluster: Cluster,
) -> None:
    """All at once: each job is a trouble of its own."""
    is_sandbox = cluster.system.bus.startswith("sqlite:")
    named = [each for each in JOBS if is_sandbox or each not in ONLY_IN_THE_SANDBOX]
    outcomes = await asyncio.gather(
        *(_is_explained(cluster, name) for name in named), return_exceptions=True
    )
    failures = [each for each in outcomes if isinstance(each, Exception)]
    if failures:
        raise ExceptionGroup("jobs whose trouble was not named", failures)


async def _is_explained(cluster: Cluster, name: str) -> None:
    ill = JOBS[name]
    async with _a_job(cluster, f"why-{name}") as job:
        await ill.made(cluster, job)
        lines = await until_named(cluster, job.job, ill.cause, ill.remedy)
        assert lines[2].startswith(f"└─ Job {job.job} "), lines


@asynccontextmanager
async def _a_job(cluster: Cluster, name: str) -> AsyncIterator[JobObjects]:
    """The job, and the Service that has a name of it, are deleted at the end."""
    async with cluster.job(name) as job:
        try:
            yield job
        finally:
            for pod in list(job.of("pods")) if "stuck" in name else ():
                await _gone(cluster, f"{CORE}/pods/{pod}", {"gracePeriodSeconds": 0})
            if "taken" in name:
                await _gone(cluster, f"{CORE}/services/{name}-pes", None)


async def _gone(cluster: Cluster, path: str, body: Obj | None) -> None:
    try:
        await cluster.api.call("DELETE", path, body)
    except Refused as refused:
        if str(HTTPStatus.NOT_FOUND.value) not in str(refused):
            raise


async def test_the_chain_names_who_decided_what_on_which_fact(cluster: Cluster) -> None:
    """The records of decisions follow their effects."""
    name = "why-decided"
    async with cluster.job(name) as job:
        await JOBS["image-missing"].made(cluster, job)
        await until_named(cluster, name, "cannot be pulled", "spec.processingElement.image")
        async with asyncio.timeout(WAIT_S):
            while True:
                lines = await why(cluster, f"pe/{name}-0", log=True)
                decided = [each for each in lines if "pod-state-machine decided " in each]
                if "decided ImagePullBackOff" in "".join(decided):
                    break
                await asyncio.sleep(LOOK_EVERY_S)
        assert "on the fact that " in decided[0]
        assert "[decisions/" in decided[0]


async def test_a_lost_node_is_named_and_a_closed_one_beside_it_is_not(cluster: Cluster) -> None:
    """In the answers about the job, about a PE on it, and about the nodes themselves."""
    owner = "why-node"
    template = {"podTemplate": nodes.wanted_by(owner)}
    async with nodes.own_nodes(cluster.api, owner, 2) as names, cluster.job(owner) as job:
        await with_example(cluster, job, WIDTH, processingElement=template)
        lost = nodes.nodes_of(job)[f"{owner}-1"]
        (other,) = set(names) - {lost}
        assert (await why(cluster, owner))[0].startswith("cause:  nothing is wrong: Job why-node")
        await nodes.cordon(cluster.api, other)
        await nodes.silence(cluster.api, lost)
        remedy = f"kubectl delete node {lost}"
        await until_named(cluster, owner, f"node {lost} is lost", remedy)
        await until_named(cluster, f"pe/{owner}-1", f"node {lost} is lost", remedy)
        await until_named(cluster, lost, f"node {lost} is not ready", remedy)
        await until_named(cluster, other, "it is cordoned", f"kubectl uncordon {other}")
        await nodes.wake(cluster.api, lost)


async def test_nodes_that_are_all_closed_are_named(cluster: Cluster) -> None:
    owner = "why-closed"
    template = {"podTemplate": nodes.wanted_by(owner)}
    async with nodes.own_nodes(cluster.api, owner, 1) as (name,), cluster.job(owner) as job:
        await nodes.cordon(cluster.api, name)
        await submit_example(cluster, job, WIDTH, processingElement=template)
        await until_named(cluster, owner, f"{name} is cordoned", f"kubectl uncordon {name}")


async def test_a_missing_secret_is_named_beside_a_service_that_nothing_waits_for(
    cluster: Cluster,
) -> None:
    if not cluster.system.bus.startswith("sqlite:"):
        pytest.skip("the kubelets of the real pair are kwok's, which mount nothing")
    async with cluster.job("why-secret") as job, cluster.stopped("node-tainter"):
        await with_pes(appPropertiesSecret="why-keys")(cluster, job)
        lines = await until_named(
            cluster,
            job.job,
            "Secret why-keys does not exist",
            "kubectl create secret generic why-keys -n default",
        )
        assert "not the cause: node-tainter is stopped" in lines


async def test_a_service_that_is_down_is_the_cause_of_what_waits_for_it(cluster: Cluster) -> None:
    """And of nothing else: a job that runs is well."""
    async with cluster.job("why-runs") as runs, cluster.job("why-waits") as job:
        await with_example(cluster, runs, WIDTH)
        async with cluster.stopped("fusion-backend"):
            await submit_example(cluster, job, WIDTH)
            await until_named(
                cluster,
                job.job,
                "fusion-backend is stopped: Job why-waits is not taken up",
                "millrace service start fusion-backend",
            )
            lines = await why(cluster, runs.job)
            assert lines[0].startswith("cause:  nothing is wrong")
            assert "not the cause: fusion-backend is stopped" in lines
        await job.until("running", job.is_settled)


async def test_every_example_of_the_page_answers(cluster: Cluster) -> None:
    async with cluster.job("wordcount") as job:
        await with_example(cluster, job, 3)
        turn = asyncio.Semaphore(AT_ONCE)

        async def answer(words: str) -> tuple[str, int, str]:
            async with turn:
                return (words.strip(), *(await ran(cluster, words)))

        has_node = cluster.system.bus.startswith("sqlite:")
        examples = [each for each in EXAMPLES if has_node or "node/" not in each]
        found = await asyncio.gather(*map(answer, examples))
        assert not {words: output for words, code, output in found if code}
        answers = {words: output for words, _, output in found}
        for words in WELL:
            assert answers[words].startswith("cause:  nothing is wrong"), answers[words]
        code, output = await ran(cluster, "why wordcount-0")
        assert code == 1
        assert "say one of ProcessingElement/wordcount-0, ParallelRegion/wordcount-0" in output
