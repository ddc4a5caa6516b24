"""Each trouble of the tests of `why`: the scene, the rule, and words of the first two lines."""

from __future__ import annotations

from dataclasses import dataclass, replace

from contracts.waits import waits_for_another_node
from history.why.gathered import LogSeen
from history.why.rules import Trouble
from services.launching.core.named_objects import NamedObject, Use, volumes_text
from tests.builders import a_node, a_parallel_region, a_pe, a_placement, a_pod
from tests.unit.history.troubles import (
    Scene,
    a_blocked_pe,
    a_failed_job,
    a_ready_node,
    a_running_pod,
    a_submitted_job,
    an_ill_job,
    condition,
    event,
    healthy,
    ill,
)

NODES_SHORT = "0/1 nodes are available: 1 Insufficient cpu."
NODES_SHUT = "0/1 nodes are available: 1 node(s) were unschedulable. preemption: 0/1 nodes."
QUOTA = 'pods "shop-0-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=4'
POLICY = 'admission webhook "images.example" denied the request: image is not signed'
ACCOUNT = (
    'pods "shop-0-1" is forbidden: error looking up service account default/runner: '
    'serviceaccount "runner" not found'
)
SECRET = {"name": "properties", "secret": {"secretName": "keys"}}
KEYS = NamedObject("Secret", "keys", "spec.appPropertiesSecret", Use.VOLUME)
STUCK = a_running_pod().deleting().on_node("node-1")
SILENT = a_node(ready="Unknown").with_status(
    conditions=[condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting.")]
)


@dataclass(frozen=True)
class Case:
    """A trouble: the scene, the rule, and words of the first two lines."""

    scene: Scene
    trouble: Trouble
    cause: tuple[str, ...]
    remedy: tuple[str, ...]


def closed_node() -> object:
    return a_ready_node().with_spec(unschedulable=True)


def failed(trouble: Trouble, reason: str, message: str, *remedy: str) -> Case:
    return Case(
        Scene((a_failed_job(reason, message),)), trouble, ("job shop failed", message), remedy
    )


REFUSED_WIDTH = a_parallel_region(width=9).with_status(
    width=3,
    observedGeneration=1,
    reason="WidthRefused",
    refused={"width": 9, "reason": "ConsistentRegion", "message": "it has a consistent region"},
)
UNANSWERED = a_placement({}).with_status(phase=None, observedGeneration=None)

CASES: dict[str, Case] = {
    "unschedulable": Case(
        ill(a_blocked_pe("Unschedulable", NODES_SHORT), a_pod().unschedulable(NODES_SHORT)),
        Trouble.UNSCHEDULABLE,
        ("finds no node", "Insufficient cpu"),
        ("spec.processingElement.resources", "kubectl edit stj shop -n default"),
    ),
    "image missing": Case(
        ill(
            a_blocked_pe("ImagePullBackOff", "The image of the pod cannot be pulled."),
            a_pod()
            .on_node("node-1")
            .with_spec(containers=[{"name": "pe", "image": "example/none:1"}])
            .waiting("ImagePullBackOff", "not found"),
        ),
        Trouble.IMAGE_MISSING,
        ("image example/none:1", "cannot be pulled", "not found"),
        ("spec.processingElement.image", "kubectl edit stj shop"),
    ),
    "node lost": Case(
        Scene(
            (
                an_ill_job(),
                a_blocked_pe("PodUnknown", "The node of the pod is silent.", phase="Running"),
                a_running_pod().with_status(
                    conditions=[condition("Ready", "False", "NodeNotReady")]
                ),
                SILENT,
            )
        ),
        Trouble.NODE_LOST,
        ("node node-1 is lost", "Kubelet stopped posting"),
        ("kubectl delete node node-1",),
    ),
    "node gone": Case(
        ill(
            a_blocked_pe(
                "GatesClosed",
                f"The processing element {waits_for_another_node('n7')}.",
                phase="Waiting",
            ),
            missing=frozenset({"Node/n7"}),
        ),
        Trouble.NODE_LOST,
        ("node n7 does not exist any more", "shop-0"),
        ("Bring node n7 back",),
    ),
    "all nodes closed": Case(
        Scene(
            (
                an_ill_job(),
                a_blocked_pe("Unschedulable", NODES_SHUT),
                a_pod().unschedulable(NODES_SHUT),
                a_ready_node().with_spec(unschedulable=True),
            )
        ),
        Trouble.NODES_CLOSED,
        ("all nodes (node-1) are closed",),
        ("kubectl uncordon node-1",),
    ),
    "node closed": Case(
        Scene(
            (
                a_failed_job("NodesClosed", "PE 0 finds no place; closest: node-1 is cordoned"),
                a_ready_node().with_spec(unschedulable=True),
            )
        ).and_also(
            a_placement({}).with_status(
                phase="Refused", reason="NodesClosed", message="closest: node-1 is cordoned"
            )
        ),
        Trouble.NODES_CLOSED,
        ("node-1 is cordoned",),
        ("kubectl uncordon node-1",),
    ),
    "placement refused": Case(
        Scene(
            (
                an_ill_job(condition("Placed", "False", "TagMissing", "pool P: no node has gpu")),
                a_blocked_pe("GatesClosed", "It waits for its placement.", phase="Waiting"),
                a_placement({}).with_status(phase="Refused", reason="TagMissing", message="no gpu"),
            )
        ),
        Trouble.UNPLACED,
        ("job shop finds no nodes", "no node has gpu"),
        ("kubectl label node NODE tag.streams.ibm.com/TAG=",),
    ),
    "handing over": Case(
        Scene(
            (
                a_submitted_job(
                    phase="Resizing",
                    handOver={
                        "generation": 3,
                        "deadline": "2026-11-20T10:00:12Z",
                        "pes": {"0": 1, "2": 1, "4": 1, "5": 1},
                        "gone": [5],
                        "complete": False,
                    },
                ),
                a_pe().with_status(runtime={"launch": 1, "handsOver": True, "sealed": 3}),
                a_pe(pe_id=2).with_status(runtime={"launch": 1, "handsOver": True, "sealed": 2}),
            )
        ),
        Trouble.HANDING_OVER,
        ("job shop is being resized", "it waits for PE 2 and 1 more to hand over, 12 s left"),
        ("millrace get shop -n default --watch",),
    ),
    "width refused": Case(
        healthy().and_also(REFUSED_WIDTH),
        Trouble.WIDTH_REFUSED,
        ("width 9 of Region0", "3 is in force", "it has a consistent region"),
        ("millrace scale shop Region0=3 -n default",),
    ),
    "quota": Case(
        ill(a_blocked_pe("PodRefused", QUOTA, phase="Waiting")),
        Trouble.QUOTA,
        ("shop-0 gets no pod", "exceeded quota: small"),
        ("kubectl edit resourcequota small -n default",),
    ),
    "quota of the job's objects": Case(
        Scene(
            (
                a_submitted_job(
                    phase="Submitting",
                    conditions=[condition("Submitted", "False", "WriteFailed", QUOTA)],
                ),
            )
        ),
        Trouble.QUOTA,
        ("job shop cannot be submitted", "exceeded quota: small"),
        ("kubectl edit resourcequota small -n default",),
    ),
    "an object that a running job lacks": Case(
        replace(
            healthy(),
            things=(
                a_submitted_job(
                    conditions=[
                        condition("Healthy", "True", "AllRunning"),
                        condition("Submitted", "False", "WriteFailed", QUOTA),
                    ]
                ),
                *healthy().things[1:],
            ),
        ),
        Trouble.QUOTA,
        ("job shop", "exceeded quota: small"),
        ("kubectl edit resourcequota small -n default",),
    ),
    "Secret missing": Case(
        ill(
            a_blocked_pe("VolumesNotMounted", volumes_text("shop-0-1", [KEYS])),
            a_pod().on_node("node-1").with_spec(volumes=[SECRET]),
            missing=frozenset({"Secret/keys"}),
        ),
        Trouble.SECRET_MISSING,
        ("Secret keys does not exist", "spec.appPropertiesSecret"),
        ("kubectl create secret generic keys -n default",),
    ),
    "bundle missing": failed(
        Trouble.BUNDLE_AWAY,
        "BundleMissing",
        "spec.bundle.name: x.sab is not in the bundle root",
        "millrace submit FILE",
        "kubectl edit stj shop",
    ),
    "bundle host down": Case(
        Scene(
            (
                a_submitted_job(
                    phase="Submitting",
                    conditions=[
                        condition(
                            "Submitted", "False", "BundleUnreadable", "http://b/x.sab: no answer"
                        )
                    ],
                ).with_spec(bundle={"name": "x.sab", "url": "http://me:secret@b/x.sab?a=1&b=2"}),
            )
        ),
        Trouble.BUNDLE_AWAY,
        ("job shop cannot be submitted", "http://b/x.sab: no answer"),
        ("curl -I 'http://b/x.sab?a=1&b=2'", "streams.ibm.com/retry"),
    ),
    "bundle invalid": failed(
        Trouble.BUNDLE_INVALID,
        "BundleInvalid",
        "spec.bundle.name: x.sab: it is no zip",
        "millrace bundle verify FILE",
    ),
    "restarts exhausted": Case(
        ill(
            a_blocked_pe("TooManyRestarts", "restarts in a row: 3, exit code 1.", phase="Failed"),
            a_pod(launch=4).in_phase("Failed"),
        ),
        Trouble.RESTARTS_EXHAUSTED,
        ("PE shop-0 failed too often", "exit code 1"),
        ("(`millrace logs shop-0 -n default`)", "millrace restart shop-0 -n default"),
    ),
    "name taken": failed(
        Trouble.NAME_TAKEN,
        "NameTaken",
        "Service shop-pes belongs to somebody else",
        "kubectl delete service shop-pes -n default",
        "streams.ibm.com/retry",
    ),
    "service down": Case(
        Scene((a_submitted_job(phase="", message=""),), down={"fusion-backend": ""}).and_also(),
        Trouble.SERVICE_DOWN,
        ("fusion-backend is stopped", "Job shop"),
        ("millrace service start fusion-backend",),
    ),
    "another service down": Case(
        ill(a_pe(), down={"pod-state-machine": ""}),
        Trouble.SERVICE_DOWN,
        ("pod-state-machine is stopped", "PE shop-0 has no pod"),
        ("millrace service start pod-state-machine",),
    ),
    "pods of a submission awaited": Case(
        Scene((a_submitted_job(phase="Submitting"), a_pe()), down={"pod-state-machine": ""}),
        Trouble.SERVICE_DOWN,
        ("pod-state-machine is stopped", "PE shop-0 has no pod"),
        ("millrace service start pod-state-machine",),
    ),
    "placement unanswered": Case(
        Scene((a_submitted_job(phase="Submitting"), UNANSWERED), down={"hostpool-manager": ""}),
        Trouble.SERVICE_DOWN,
        ("hostpool-manager is stopped", "Placement shop has no answer"),
        ("millrace service start hostpool-manager",),
    ),
    "broker down": Case(
        Scene(
            (a_submitted_job(phase="", message=""),),
            down=dict.fromkeys(("watch-ingest", "fusion-backend"), ""),
            log=LogSeen(absent="no Kafka answers at b:9092", away="no Kafka answers at b:9092"),
        ),
        Trouble.LOG_AWAY,
        ("the log does not answer", "b:9092"),
        ("millrace topics check",),
    ),
    "admission policy": Case(
        ill(a_blocked_pe("PodRefused", POLICY, phase="Waiting")),
        Trouble.ADMISSION_POLICY,
        ("shop-0 gets no pod", "images.example", "not signed"),
        ("spec.processingElement.podTemplate", "policy or webhook"),
    ),
    "stuck terminating": Case(
        Scene((an_ill_job(), a_pe().launched(1), STUCK, SILENT)),
        Trouble.STUCK_TERMINATING,
        ("is being deleted and does not end on node node-1", "is not ready"),
        ("kubectl delete node node-1",),
    ),
    # Kinds that nobody prepared
    "evicted": Case(
        ill(
            a_blocked_pe("PodFailed", "The pod failed.", phase="Failed"),
            a_pod()
            .on_node("node-1")
            .with_status(
                phase="Failed",
                reason="Evicted",
                message="The node was low on resource: ephemeral-storage.",
            ),
        ),
        Trouble.EVICTED,
        ("node node-1 evicted pod", "ephemeral-storage"),
        ("kubectl describe node node-1",),
    ),
    "wrong service account": Case(
        ill(a_blocked_pe("PodRefused", ACCOUNT, phase="Waiting")),
        Trouble.ACCOUNT_MISSING,
        ('serviceaccount "runner" not found',),
        ("kubectl create serviceaccount runner -n default",),
    ),
    "init container": Case(
        ill(
            a_blocked_pe("ContainerNotStarted", "Container setup: CrashLoopBackOff"),
            a_pod()
            .on_node("node-1")
            .with_status(
                initContainerStatuses=[
                    {
                        "name": "setup",
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                        "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}},
                    }
                ]
            ),
        ),
        Trouble.INIT_FAILED,
        ("the init container setup of pod", "exit code 3"),
        ("-c setup", "initContainers"),
    ),
    "full disk": Case(
        ill(
            a_blocked_pe("VolumesNotMounted", "Its spec names no Secret as a volume."),
            a_pod().on_node("node-1"),
            events=(event(a_pod(), "FailedMount", "mkdir: no space left on device"),),
        ),
        Trouble.NOT_MOUNTED,
        ("volumes of pod", "no space left on device"),
        ("kubectl describe pod",),
    ),
}
