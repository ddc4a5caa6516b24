"""One headless Service for all PEs of a job, or one for each: what decides, and what stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts import labels
from contracts.resources.job import Services
from services.fusion_backend.core import pe_services
from services.fusion_backend.core.effects import CreateChild
from services.fusion_backend.core.pe_services import services_in_use
from services.fusion_backend.core.recording import objects_of, plan_of
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.editing import refusal_of_edit
from services.fusion_backend.core.spec.inputs import PlanInputs, spec_in_force
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES
from tests.unit.fusion_backend.test_children import RECORD, job
from tests.unit.fusion_backend.test_life_of_a_job import PES, submitted
from tests.unit.fusion_backend.world import JOB, SERVICE, World

Obj = dict[str, Any]
OF_PES = {f"{JOB}-{number}" for number in range(PES)}


def of_release_before(world: World) -> World:
    """The same job as a release left it that had one Service for each PE and no such field."""
    del world.objects["Job", JOB]["spec"]["services"]
    world.crash()
    return world


def service_names(world: World) -> set[str]:
    """The Services in which the pods of the PEs have host names; "" where they have none."""
    return {
        str(obj["spec"].get("serviceName", ""))
        for (kind, _), obj in world.objects.items()
        if kind == "ProcessingElement"
    }


def test_the_service_of_a_job_selects_its_pods_and_has_the_ports_of_each_pe() -> None:
    body = pe_services.service(job(), RECORD, None)
    assert body["metadata"]["name"] == "shop-pes"
    assert body["metadata"]["labels"]["svc"] == "pe"
    assert labels.PE not in body["metadata"]["labels"]
    assert body["spec"] == {
        "type": "ClusterIP",
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"app": "streams", "streams.ibm.com/job": "shop", "svc": "pe"},
        "ports": [
            {"name": "sys-metrics", "port": 9696, "protocol": "TCP", "targetPort": 9696},
            {"name": "sys-notifications", "port": 10000, "protocol": "UDP", "targetPort": 10000},
            {"name": "sys-consistentregion", "port": 10001, "protocol": "UDP", "targetPort": 10001},
        ],
    }


def test_names_of_the_longest_job_are_labels_of_the_dns() -> None:
    longest = "j" * labels.JOB_NAME_MAX_CHARS
    assert len(labels.job_service_name(longest)) <= 63
    assert len(labels.pe_name(longest, 2**31 - 1)) <= 63


def test_the_service_is_written_before_the_pes_and_at_once() -> None:
    """A PE that looks a name up too early keeps the answer that there is no such name."""
    world = World()
    while f"{JOB}.plan.0" not in world.named("ConfigMap"):
        world.step()
    effects = [each for each in world.step().effects if isinstance(each, CreateChild)]
    kinds = [each.kind for each in effects]
    assert kinds.index("Service") < kinds.index("ProcessingElement")
    (service,) = [each for each in effects if each.kind == "Service"]
    (pe, *_) = [each for each in effects if each.kind == "ProcessingElement"]
    assert service.urgency is pe.urgency


@pytest.mark.parametrize(
    ("services", "found", "named"),
    [("PerJob", {SERVICE}, {SERVICE}), ("PerPE", OF_PES, {""}), (None, {SERVICE}, {SERVICE})],
)
def test_a_job_has_the_services_that_its_spec_requires(
    services: str | None, found: set[str], named: set[str]
) -> None:
    world = submitted(services=services)
    assert world.named("Service") == found
    assert service_names(world) == named


def test_a_resize_writes_nothing_to_the_service_of_the_job() -> None:
    world = submitted()
    for width in (4, 1):
        world.writes.clear()
        world.resize(0, width)
        world.converge()
        assert not [name for _, kind, name in world.writes if kind == "Service"]
    assert service_names(world) == {SERVICE}


def test_a_job_of_the_release_before_keeps_a_service_for_each_pe_when_it_is_resized() -> None:
    world = of_release_before(submitted(services="PerPE"))
    before = world.versions()
    world.converge()
    assert world.versions() == before
    world.resize(0, 4)
    world.converge()
    assert world.named("Service") == world.named("ProcessingElement")
    assert service_names(world) == {""}
    assert world.condition("Accepted")["status"] == "True"


def test_a_job_that_lost_its_plan_records_keeps_the_services_of_its_pes() -> None:
    for services, found in (("PerPE", OF_PES), ("PerJob", {SERVICE})):
        world = of_release_before(submitted(services=services))
        for name in world.named("ConfigMap"):
            if ".plan." in name:
                world.remove("ConfigMap", name)
        world.crash()
        world.converge()
        assert world.named("Service") == found
        assert services_in_use(world.snapshot()) == services


@pytest.mark.parametrize(
    "edit",
    [{"serviceName": None}, {"serviceName": "other"}, {"serviceName": None, "pack": None}],
)
def test_a_pe_that_lost_the_service_of_its_job_gets_it_back_and_launches_nothing(edit: Obj) -> None:
    """Older definitions drop the field when a release before writes a PE, after a rollback."""
    world = submitted()
    pe = f"{JOB}-0"
    pod = world.objects["Pod", pe]
    world.edit("ProcessingElement", pe, **edit)
    world.converge()
    assert service_names(world) == {SERVICE}
    assert "pack" in world.objects["ProcessingElement", pe]["spec"]
    assert world.objects["Pod", pe] == pod
    assert world.condition("Accepted")["status"] == "True"


def test_a_pe_with_a_service_of_its_own_is_not_named_in_that_of_the_job() -> None:
    world = submitted(services="PerPE")
    world.edit("ProcessingElement", f"{JOB}-0", serviceName=SERVICE)
    world.converge()
    assert service_names(world) == {""}


def test_other_services_for_a_job_that_runs_are_refused_and_nothing_is_written() -> None:
    world = submitted()
    before = world.meaning()
    world.edit("Job", JOB, services="PerPE")
    world.converge()
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "EditRefused")
    assert "spec.services is PerPE, and the job runs with PerJob" in accepted["message"]
    assert world.named("Service") == {SERVICE}
    world.edit("Job", JOB, services=None)
    world.converge()
    assert world.condition("Accepted")["status"] == "True"
    assert world.meaning() == before


def test_a_plan_record_of_the_release_before_has_a_service_for_each_pe() -> None:
    """And its inputs have the same digest, by which a refused width is known again."""
    known = submitted(services="PerPE").snapshot().newest
    assert known is not None
    head = objects_of(job(), known, now=0.0).head
    assert "services" not in head["data"]["about.json"]
    assert plan_of(head, []).inputs == known.inputs
    document = known.inputs.to_json()
    assert PlanInputs.from_json(document).digest == known.inputs.digest
    of_job = PlanInputs.from_json({**document, "services": "PerJob"})
    assert of_job.services is Services.PER_JOB
    assert of_job.digest != known.inputs.digest


def test_a_plan_record_without_a_template_has_a_service_for_each_pe_whatever_the_job_says() -> None:
    """Records of the oldest releases take their PEs from the Job as it is."""
    known = submitted(services="PerPE").snapshot().newest
    assert known is not None
    spec = {"bundle": {"name": "shop.sab"}, "services": "PerJob"}
    assert spec_in_force(replace(known.inputs, template=""), spec)["services"] is Services.PER_PE


@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_a_template_cannot_name_pods_that_have_a_name_in_the_service_of_the_job(field: str) -> None:
    template = {"podTemplate": {"spec": {field: "mine"}}}
    spec = {"bundle": {"name": "shop.sab"}, "processingElement": template}
    refused = refusal_of_spec(spec)
    assert refused is not None
    assert refused.field == f"spec.processingElement.podTemplate.spec.{field}"
    assert "spec.services to PerPE" in refused.message
    assert refusal_of_spec({**spec, "services": "PerPE"}) is None


def test_a_job_of_the_release_before_may_keep_a_template_that_names_its_pods() -> None:
    template = {"podTemplate": {"spec": {"subdomain": "mine"}}}
    world = of_release_before(submitted(services="PerPE", processingElement=template))
    world.converge()
    snapshot = world.snapshot()
    assert snapshot.newest is not None
    spec = world.objects["Job", JOB]["spec"]
    assert refusal_of_edit(spec, snapshot.newest.inputs, DEFAULT_RULES, PES) is None
