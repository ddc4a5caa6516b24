"""Installing, upgrading and uninstalling, whatever interrupts it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from cli.failing import CannotReach, Failure, Misused, TimedOut
from cli.installing.cluster import Target
from cli.installing.filling import (
    MANAGED_BY,
    MANAGER,
    VERSION,
    Wanted,
    application_version,
    definitions,
    manifest_of,
    wanted_of,
)
from cli.installing.objects import KEPT_KINDS, Inventory, Ref, inventory_object, ref_of
from cli.installing.sequence import Waiting, install, installed, uninstall, upgrade
from tests.unit.cli.installing.cluster_of_objects import ClusterOfObjects
from tests.virtual_time import virtually

WORDS: list[str] = []
WAITING = Waiting(120.0, WORDS.append)
SERVICES = {
    f"millrace-{name}"
    for name in (
        "fusion-backend",
        "hostpool-manager",
        "node-tainter",
        "pe-gateway",
        "pod-state-machine",
        "watch-ingest",
    )
}


def a_wanted(image: str = "registry.example/millrace:1", profile: str = "cluster") -> Wanted:
    brokers = "" if profile == "trial" else "kafka:9092"
    return wanted_of(profile, "millrace", image=image, brokers=brokers, values={})


def a_pod(waiting: str = "", *, ended: int = 0, name: str = "topics") -> dict[str, object]:
    state = {"terminated": {"exitCode": ended}} if ended else {"waiting": {"reason": waiting}}
    status = {"containerStatuses": [{"name": name, "image": "image:1", "state": state}]}
    return {"metadata": {"name": f"{name}-pod"}, "status": status}


@virtually
async def test_topics_are_made_after_the_accounts_and_before_the_services() -> None:
    cluster = ClusterOfObjects()
    await install(Target(cluster), a_wanted(), WAITING)
    order = [each.partition("/")[0] for each in cluster.applied]
    assert order.index("CustomResourceDefinition") < order.index("ServiceAccount")
    assert order.index("NetworkPolicy") < order.index("Job") < order.index("Deployment")
    assert cluster.names("Deployment") == SERVICES
    found = await installed(Target(cluster), "millrace")
    assert found is not None
    assert found.is_complete


@pytest.mark.parametrize("writes", range(0, 70, 7))
@virtually
async def test_an_installation_that_is_interrupted_goes_on_and_can_be_removed(writes: int) -> None:
    """The inventory is there before what it lists."""
    cluster = ClusterOfObjects()
    cluster.writes_left = writes
    with pytest.raises(KeyboardInterrupt):
        await install(Target(cluster), a_wanted(), WAITING)
    cluster.writes_left = None
    half = ClusterOfObjects()
    half.objects = dict(cluster.objects)
    await uninstall(Target(half), "millrace", WAITING)
    assert {each["kind"] for each in half.objects.values()} <= {
        "CustomResourceDefinition",
        "Namespace",
        "PersistentVolumeClaim",
    }
    await install(Target(cluster), a_wanted(), WAITING)
    assert cluster.names("Deployment") == SERVICES


@virtually
async def test_an_upgrade_deletes_what_only_the_release_before_had() -> None:
    cluster = ClusterOfObjects()
    target = Target(cluster)
    await install(target, a_wanted(), WAITING)
    before = await installed(target, "millrace")
    assert before is not None
    stray = Ref("ConfigMap", "millrace", "stray")
    meta = {"name": "stray", "namespace": "millrace", "labels": {MANAGED_BY: MANAGER}}
    await target.apply({"kind": "ConfigMap", "metadata": meta})
    await target.apply(inventory_object(replace(before, refs=before.refs | {stray})))
    await upgrade(target, a_wanted("registry.example/millrace:2"), WAITING)
    assert await target.get(stray) is None
    assert cluster.names("Deployment") == SERVICES
    after = await installed(target, "millrace")
    assert after is not None
    assert stray not in after.refs


@virtually
async def test_what_an_edited_inventory_names_is_deleted_only_if_millrace_made_it() -> None:
    """Who may edit ConfigMaps has the rights of an administrator otherwise."""
    cluster = ClusterOfObjects()
    target = Target(cluster)
    foreign = Ref("Deployment", "kube-system", "coredns")
    meta = {"name": foreign.name, "namespace": foreign.namespace}
    await target.apply({"kind": "Deployment", "metadata": meta, "spec": {"replicas": 1}})
    await install(target, a_wanted(), WAITING)
    newer = a_wanted("registry.example/millrace:2")
    for change in (
        partial(upgrade, target, newer, WAITING),
        partial(uninstall, target, "millrace", WAITING),
    ):
        before = await installed(target, "millrace")
        assert before is not None
        edited = replace(before, refs=before.refs | {foreign})
        await target.apply(inventory_object(edited))
        await change()
        assert cluster.names("Deployment") >= {foreign.name}
    assert cluster.names("Deployment") == {foreign.name}


@pytest.mark.parametrize(
    "data", [{"objects": '[["Secret", "n", "a"]]'}, {"values": "1"}, {"objects": "{"}]
)
@virtually
async def test_an_inventory_that_cannot_be_read_is_named(data: dict[str, str]) -> None:
    target = Target(ClusterOfObjects())
    await install(target, a_wanted(), WAITING)
    before = await installed(target, "millrace")
    assert before is not None
    written = inventory_object(before)
    await target.apply(written | {"data": written["data"] | data})
    with pytest.raises(Failure, match="ConfigMap millrace-release is not as millrace writes it"):
        await uninstall(target, "millrace", WAITING)


@virtually
async def test_a_complete_installation_is_changed_by_an_upgrade_only() -> None:
    target = Target(ClusterOfObjects())
    with pytest.raises(Misused, match="millrace install"):
        await upgrade(target, a_wanted(), WAITING)
    await install(target, a_wanted(), WAITING)
    await install(target, a_wanted(), WAITING)  # the same again
    with pytest.raises(Failure, match="millrace upgrade"):
        await install(target, a_wanted("registry.example/millrace:2"), WAITING)


@virtually
async def test_an_uninstallation_leaves_data_and_names_it() -> None:
    cluster, words = ClusterOfObjects(), list[str]()
    await install(Target(cluster), a_wanted(), WAITING)
    await uninstall(Target(cluster), "millrace", Waiting(60.0, words.append))
    left = {each["kind"] for each in cluster.objects.values()}
    assert left == {"CustomResourceDefinition", "Namespace", "PersistentVolumeClaim"}
    assert "  PersistentVolumeClaim millrace-bundles in namespace millrace" in words
    assert "  the topics on Kafka" in words


@virtually
async def test_brokers_that_the_job_cannot_reach_end_it_with_their_own_code() -> None:
    cluster = ClusterOfObjects()
    cluster.jobs_end = "Running"
    cluster.pods = [a_pod(ended=3)]
    cluster.log = b"millrace: no Kafka answers at kafka:9092 in 20 s\n"
    with pytest.raises(CannotReach, match="no Kafka answers at kafka:9092"):
        await install(Target(cluster), a_wanted(), WAITING)
    assert cluster.names("Deployment") == set(), "the services are not started"


@virtually
async def test_an_image_that_cannot_be_pulled_ends_it_after_some_time() -> None:
    cluster = ClusterOfObjects()
    cluster.is_ready = False
    cluster.pods = [a_pod("ImagePullBackOff", name="fusion-backend")]
    with pytest.raises(Failure, match="the image image:1 cannot be pulled: ImagePullBackOff"):
        await install(Target(cluster), a_wanted(), WAITING)


@virtually
async def test_a_pod_without_a_node_is_waited_for_until_the_time_is_up() -> None:
    """A cluster autoscaler may take minutes."""
    cluster = ClusterOfObjects()
    cluster.is_ready = False
    pod = a_pod("", name="fusion-backend")
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes have room"}
    cluster.pods = [{**pod, "status": {"conditions": [unscheduled]}}]
    with pytest.raises(TimedOut, match="is on no node: 0/3 nodes have room"):
        await install(Target(cluster), a_wanted(), WAITING)


@virtually
async def test_services_that_are_late_end_it_with_what_is_missing() -> None:
    cluster = ClusterOfObjects()
    cluster.is_ready = False
    with pytest.raises(TimedOut, match="0 of 6 are ready, millrace-fusion-backend"):
        await install(Target(cluster), a_wanted(), WAITING)


@virtually
async def test_a_right_that_is_missing_is_named() -> None:
    cluster = ClusterOfObjects()
    cluster.refuses = "clusterroles/"
    with pytest.raises(Failure, match=r"you lack a right: .*clusterroles"):
        await install(Target(cluster), a_wanted(), WAITING)


@virtually
async def test_a_cluster_without_deployments_is_named_as_such() -> None:
    """Such as the sandbox of `millrace up`."""
    cluster = ClusterOfObjects()
    cluster.lacks = "deployments"
    with pytest.raises(Failure, match=r"has no deployments \(apps/v1\)"):
        await install(Target(cluster), a_wanted(), WAITING)
    assert cluster.applied == []


@virtually
async def test_what_helm_installed_is_left_to_helm() -> None:
    cluster = ClusterOfObjects()
    meta = {
        "name": "millrace-node-tainter",
        "namespace": "millrace",
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
    }
    deployment = {"kind": "Deployment", "metadata": meta, "spec": {"replicas": 1}}
    await Target(cluster).apply(deployment)
    with pytest.raises(Misused, match="helm upgrade"):
        await install(Target(cluster), a_wanted(), WAITING)


def test_an_inventory_is_read_as_it_was_written() -> None:
    from cli.installing.objects import inventory_of

    refs = frozenset({Ref("Deployment", "millrace", "a"), Ref("ClusterRole", "", "b")})
    written = Inventory(a_wanted(), "1.0", is_complete=False, refs=refs)
    assert inventory_of(inventory_object(written)) == written


def _owned_by(manager: str, kind: str, name: str) -> dict[str, object]:
    labels = {MANAGED_BY: manager} if manager else {}
    return {"kind": kind, "metadata": {"name": name, "labels": labels}}


@pytest.mark.parametrize("manager", ["", "Helm", "somebody"])
@virtually
async def test_an_object_of_somebody_else_is_not_taken_over(manager: str) -> None:
    cluster = ClusterOfObjects()
    ref = Ref("ClusterRole", "", "millrace.millrace.watch-ingest")
    assert ref in {ref_of(each) for each in manifest_of(a_wanted())}
    cluster.objects[ref.path] = _owned_by(manager, ref.kind, ref.name)
    with pytest.raises(Failure, match="nothing was changed") as refused:
        await install(Target(cluster), a_wanted(), WAITING)
    assert f"  {ref}" in str(refused.value).splitlines()
    assert cluster.applied == []


@virtually
async def test_what_an_uninstallation_left_is_no_object_of_somebody_else() -> None:
    cluster = ClusterOfObjects()
    for document in manifest_of(a_wanted()):
        if document["kind"] in KEPT_KINDS:
            cluster.objects[ref_of(document).path] = _owned_by("Helm", document["kind"], "kept")
    await install(Target(cluster), a_wanted(), WAITING)
    assert cluster.names("Deployment") == SERVICES


@pytest.mark.parametrize(
    ("version", "is_kept"),
    [("", False), ("0.0.9", False), (application_version(), False), ("0.10.0", True), ("2", True)],
)
@virtually
async def test_definitions_of_a_newer_release_are_kept(version: str, is_kept: bool) -> None:
    """An older one would take fields away from Jobs that have them."""
    cluster = ClusterOfObjects()
    definition = definitions()[0]
    ref = ref_of(definition)
    found = {**definition, "metadata": {"name": ref.name, "annotations": {VERSION: version}}}
    cluster.objects[ref.path] = found
    WORDS.clear()
    await install(Target(cluster), a_wanted(), WAITING)
    assert (f"kept {ref}, which is of the newer release {version}" in WORDS) is is_kept
    assert (cluster.objects[ref.path] is found) is is_kept
