"""What a cluster with our CRDs accepts and refuses, tried on the store of the sandbox."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml

from contracts.resources import GROUP, VERSION
from contracts.resources.crds import custom_resource_definitions
from sandbox.store.errors import ApiError
from sandbox.store.store import Store
from sandbox.store.validation import FieldValidation
from tests.places import ROOT

DEFINITIONS = custom_resource_definitions()
NAMESPACE = "default"
MERGE_PATCH = "application/merge-patch+json"
EXAMPLE_JOB = ROOT / "examples" / "wordcount" / "job.yaml"

AS_THE_ORIGINAL_REWRITES_IT = """
bundle: {name: apps.parallel.Parallel.sab, pullPolicy: IfNotPresent, url: null, secret: null}
fusion: {type: null, automatic: null, legacy: true, manual: null}
threadingModel: {automatic: false, dedicated: false, dynamic: null, manual: false}
imagePullPolicy: IfNotPresent
imagePullSecret: null
parallelRegions: [{index: 0, alias: "Result.*", width: 2}]
processingElement:
  {id: null, contentId: null, bundleName: null, image: null, imagePullPolicy: Always,
   imagePullSecret: null, buildType: release, allowPtrace: false, runWithValgrind: false,
   appTraceLevel: null, runtimeTraceLevel: INFO, transportSecurityType: none,
   resources: {limits: {}, requests: {cpu: 100m, memory: 128Mi}}, initialProbeDelayInSeconds: 30,
   probeIntervalInSeconds: 10, probeFailureThreshold: 1, restartCompletedPod: false,
   restartDeletedPod: false, restartFailedPod: null, deleteFailedPod: true, dataPath: /data,
   dataVolumeClaim: {name: claim, subPath: null},
   checkpointDataStore: {fileSystem: {path: /checkpoint, volumeClaim: null}, redis: null},
   appPropertiesSecret: null, restrictedPropertiesSecret: null,
   placement: {host: null, coLocations: [], exLocations: [], isolation: null,
               isolationLabels: [], hostPoolLocation: {poolIndex: 0, inpoolIndex: null}},
   connectivity: None, launchCount: 0, operators: [Source, Sink], regions: null}
resources: {limits: {cpu: 16.0, memory: 64Gi}}
submissionTimeOutInSeconds: 300
submissionTimeValues: {width1: "2", width2: 5}
transportCertificateValidityInDays: 30
id: 4
generationId: 0
status: Submitted
statistics:
  {configMapCount: 3, serviceCount: 3, hostPoolCount: 1, exportCount: 0, importCount: 0,
   consistentRegionCount: 0, parallelRegionCount: 3, processingElementCount: 3}
parallelRegionWidths: {Result.Region1: 2}
"""


class Cluster:
    """A store with our CRDs in it, and objects by kind's plural."""

    def __init__(self) -> None:
        numbers = itertools.count()
        self.store = Store(now=lambda: 1_800_000_000.0, new_uid=lambda: f"uid-{next(numbers)}")
        crds = self.store.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert crds is not None
        for crd in DEFINITIONS:
            self.store.create(crds, None, crd)

    def create(
        self, plural: str, spec: dict[str, Any], *, name: str = "demo", strict: bool = False
    ) -> Any:
        rt = self._type(plural)
        body = {"apiVersion": rt.api_version, "kind": rt.kind, "metadata": {"name": name}}
        return self.store.create(
            rt,
            NAMESPACE,
            {**body, "spec": spec},
            validation=FieldValidation("Strict" if strict else ""),
        )

    def patch(self, plural: str, patch: dict[str, Any], *, subresource: str = "") -> Any:
        return self.store.patch(
            self._type(plural), NAMESPACE, "demo", patch, MERGE_PATCH, subresource=subresource
        )

    def replace_status(self, plural: str, status: dict[str, Any]) -> Any:
        rt = self._type(plural)
        body = {**self.store.get(rt, NAMESPACE, "demo"), "status": status}
        return self.store.replace(rt, NAMESPACE, "demo", body, subresource="status")

    def _type(self, plural: str) -> Any:
        found = self.store.registry.find(GROUP, VERSION, plural)
        assert found is not None, plural
        return found


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def job_spec(**fields: Any) -> dict[str, Any]:
    return {"bundle": {"name": "demo.Main.sab"}, **fields}


def refusal(attempt: Any) -> str:
    with pytest.raises(ApiError) as refused:
        attempt()
    assert refused.value.code == 422
    return refused.value.message


def test_a_job_that_says_nothing_of_fusion_is_fused_automatically(cluster: Cluster) -> None:
    stored = cluster.create("streamsjobs", job_spec())
    assert stored["spec"]["fusion"] == {"automatic": True}
    assert stored["spec"]["imagePullPolicy"] == "Always"
    assert stored["spec"]["processingElement"]["runtimeTraceLevel"] == "INFO"


def test_a_chosen_fusion_gets_no_other_beside_it(cluster: Cluster) -> None:
    stored = cluster.create("streamsjobs", job_spec(fusion={"manual": 3}))
    assert stored["spec"]["fusion"] == {"manual": 3}


def test_the_example_job_is_accepted_as_it_stands(cluster: Cluster) -> None:
    manifest = yaml.safe_load(EXAMPLE_JOB.read_text())
    cluster.create("streamsjobs", manifest["spec"], name=manifest["metadata"]["name"], strict=True)


def test_every_field_of_a_job_of_the_original_is_known(cluster: Cluster) -> None:
    spec = yaml.safe_load(AS_THE_ORIGINAL_REWRITES_IT)
    spec["resources"]["limits"]["cpu"] = "16.0"
    stored = cluster.create("streamsjobs", spec, strict=True)["spec"]
    assert stored["fusion"]["legacy"] is True
    assert stored["processingElement"]["operators"] == ["Source", "Sink"]
    assert stored["statistics"]["processingElementCount"] == 3
    assert stored["processingElement"].get("restartFailedPod") is None


def test_every_field_of_a_pe_of_the_original_is_known(cluster: Cluster) -> None:
    spec = yaml.safe_load(AS_THE_ORIGINAL_REWRITES_IT)["processingElement"]
    operators_own = {"id": 1, "contentId": "ab12", "bundleName": "demo.Main.sab", "launchCount": 1}
    stored = cluster.create("streamspes", {**spec, **operators_own}, strict=True)["spec"]
    assert stored["launchCount"] == 1
    assert stored["connectivity"] == "None"


@pytest.mark.parametrize(
    "fusion",
    [
        {"manual": 3, "legacy": True},
        {"automatic": True, "manual": 3},
        {"automatic": True, "legacy": True},
    ],
)
def test_two_ways_to_fuse_are_refused(cluster: Cluster, fusion: dict[str, Any]) -> None:
    message = refusal(lambda: cluster.create("streamsjobs", job_spec(fusion=fusion)))
    assert "automatic, legacy and manual exclude each other" in message


@pytest.mark.parametrize(
    "fusion",
    [
        {"manual": 3, "automatic": False},
        {"legacy": True, "automatic": False, "manual": None},
        {"automatic": True, "legacy": False},
        {"automatic": False},
        {},
    ],
)
def test_a_fusion_that_is_switched_off_excludes_nothing(
    cluster: Cluster, fusion: dict[str, Any]
) -> None:
    cluster.create("streamsjobs", job_spec(fusion=fusion))


def test_fusion_into_no_pe_is_refused(cluster: Cluster) -> None:
    message = refusal(lambda: cluster.create("streamsjobs", job_spec(fusion={"manual": 0})))
    assert "spec.fusion.manual" in message


def test_two_threading_models_are_refused(cluster: Cluster) -> None:
    model = {"dedicated": True, "dynamic": {"threadCount": 2}}
    message = refusal(lambda: cluster.create("streamsjobs", job_spec(threadingModel=model)))
    assert "exclude each other" in message


def test_two_sources_of_a_bundle_are_refused(cluster: Cluster) -> None:
    bundle = {"name": "x.sab", "file": {"path": "x.sab"}, "github": {"url": "https://h/x.sab"}}
    message = refusal(lambda: cluster.create("streamsjobs", {"bundle": bundle}))
    assert "file, http, github and url exclude each other" in message


def test_a_bundle_without_a_name_is_refused(cluster: Cluster) -> None:
    assert "spec.bundle.name" in refusal(lambda: cluster.create("streamsjobs", {"bundle": {}}))


@pytest.mark.parametrize("name", ["a.b", "1st", "a" * 51])
def test_a_job_name_that_children_cannot_be_named_after_is_refused(
    cluster: Cluster, name: str
) -> None:
    message = refusal(lambda: cluster.create("streamsjobs", job_spec(), name=name))
    assert "at most 50 characters" in message


def test_a_job_name_of_fifty_characters_is_accepted(cluster: Cluster) -> None:
    cluster.create("streamsjobs", job_spec(), name="a" * 50)


def test_two_names_of_one_field_have_to_say_the_same(cluster: Cluster) -> None:
    same = {"sabName": "a.sab", "bundleName": "a.sab"}
    cluster.create("streamsjobs", job_spec(processingElement=same))
    other = {"sabName": "a.sab", "bundleName": "b.sab"}
    message = refusal(
        lambda: cluster.create("streamsjobs", job_spec(processingElement=other), name="other")
    )
    assert "two names of one field" in message


def test_a_width_below_one_is_refused(cluster: Cluster) -> None:
    cluster.create("streamsprs", {"alias": "Counted", "width": 3})
    message = refusal(lambda: cluster.patch("streamsprs", {"spec": {"width": 0}}))
    assert "spec.width" in message
    assert cluster.patch("streamsprs", {"spec": {"width": 5}})["spec"]["width"] == 5


NEVER_FALLING = [
    ("streamspes", {"id": 0}, "launchCount", 5, 4),
    ("streamspes", {"id": 0}, "generation", 2, 1),
    ("streamsjobs", job_spec(), "generation", 2, 1),
    ("streamsjobs", job_spec(), "id", 4, 5),
    ("streamsprs", {"alias": "Counted", "width": 3}, "generation", 2, 1),
    ("streamshostpools", {"hostpool": {"name": "gpu"}}, "generation", 2, 1),
]


@pytest.mark.parametrize(("plural", "spec", "field", "value", "wrong"), NEVER_FALLING)
def test_what_never_falls_cannot_be_changed_back_nulled_or_removed(
    cluster: Cluster, plural: str, spec: dict[str, Any], field: str, value: int, wrong: int
) -> None:
    """Null or absence, once let through, would allow any lower value in the next write."""
    cluster.create(plural, spec)
    cluster.patch(plural, {"status": {field: value}}, subresource="status")
    for attempt in ({field: wrong}, {field: None}, None):
        message = refusal(
            lambda given=attempt: cluster.patch(plural, {"status": given}, subresource="status")
        )
        assert f"status.{field} never" in message
    for status in ({field: None}, {}):
        message = refusal(lambda given=status: cluster.replace_status(plural, given))
        assert f"status.{field} never" in message


def test_a_launch_count_may_rise_or_stay(cluster: Cluster) -> None:
    cluster.create("streamspes", {"id": 0})
    for count in (1, 1, 2):
        status = {"launchCount": count, "phase": "Starting"}
        stored = cluster.patch("streamspes", {"status": status}, subresource="status")
        assert stored["status"]["launchCount"] == count


def test_people_may_raise_the_floor_of_launches_and_take_it_back(cluster: Cluster) -> None:
    cluster.create("streamspes", {"id": 0})
    for floor in (7, 3):
        stored = cluster.patch("streamspes", {"spec": {"launchCount": floor}})
        assert stored["spec"]["launchCount"] == floor


def test_the_generation_of_a_pe_s_spec_never_falls(cluster: Cluster) -> None:
    cluster.create("streamspes", {"id": 0, "generation": 3})
    for wrong in (2, None):
        message = refusal(
            lambda given=wrong: cluster.patch("streamspes", {"spec": {"generation": given}})
        )
        assert "spec.generation never falls" in message
