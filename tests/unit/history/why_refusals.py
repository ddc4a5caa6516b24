"""Troubles of the tests of `why` that a cluster gave to somebody who had not prepared them."""

from __future__ import annotations

from dataclasses import replace

from contracts.decisions import DecisionRecord, EffectRecord
from contracts.envelope import Envelope
from history.entries import Decided, Place
from history.why.rules import Trouble
from tests.builders import a_pe, a_pod
from tests.unit.history.troubles import NOW_S, Scene, a_blocked_pe, a_submitted_job, ill
from tests.unit.history.why_cases import QUOTA, Case

LIMITS = 'pods "shop-0-1" is forbidden: maximum cpu usage per Container is 500m, but limit is 1'
PRIORITY = 'pods "shop-0-1" is forbidden: no PriorityClass with name urgent was found'
RUNTIME = 'pods "shop-0-1" is forbidden: pod rejected: RuntimeClass "gvisor" not found'
UNWRITTEN = Scene((a_submitted_job(phase="Submitting", conditions=[]), a_pe()))


def a_failed_write(outcome: str) -> Decided:
    """The newest decision on the PE, whose pod could not be created."""
    record = DecisionRecord(
        service="pod-state-machine",
        key="default/shop-0",
        reason="FirstLaunch",
        effects=(EffectRecord("CreatePod", "shop-0-1", outcome, sha256="a"),),
        now=NOW_S - 60,
    )
    envelope = Envelope("d", "test", "t", "s", NOW_S - 60, "0" * 32)
    return Decided(Place("decisions/0", 6), envelope, record)


def refused(words: str, *remedy: str) -> Case:
    """The API server refuses the pod with these words."""
    scene = ill(a_blocked_pe("PodRefused", words, phase="Waiting"))
    return Case(scene, Trouble.POD_REFUSED, ("PE shop-0 gets no pod", words), remedy)


REFUSALS: dict[str, Case] = {
    "limits of the namespace": refused(
        LIMITS, "kubectl edit limitrange -n default", "spec.processingElement.resources"
    ),
    "priority class": refused(
        PRIORITY, "kubectl create priorityclass urgent --value=NUMBER", "priorityClassName"
    ),
    "runtime class": refused(RUNTIME, "Create RuntimeClass gvisor", "runtimeClassName"),
    "only those that are refused alike are counted": Case(
        ill(
            a_blocked_pe("PodRefused", LIMITS, phase="Waiting"),
            a_blocked_pe("PodRefused", LIMITS, phase="Waiting", pe_id=1),
            a_blocked_pe("PodRefused", QUOTA, phase="Waiting", pe_id=2),
        ),
        Trouble.QUOTA,
        ("PE shop-2 gets no pod",),
        ("kubectl edit resourcequota small",),
    ),
    "pull secret": Case(
        replace(
            ill(
                a_blocked_pe("ImagePullBackOff", "The image of the pod cannot be pulled."),
                a_pod()
                .on_node("node-1")
                .with_spec(imagePullSecrets=[{"name": "registry"}])
                .waiting("ImagePullBackOff"),
            ),
            missing=frozenset({"Secret/registry"}),
        ),
        Trouble.IMAGE_MISSING,
        ("cannot be pulled", "Secret registry for it does not exist"),
        ("kubectl create secret docker-registry registry -n default", "kubectl edit stj shop"),
    ),
    "a webhook that is down": Case(
        UNWRITTEN.with_log(a_failed_write("transient")),
        Trouble.WRITES_FAIL,
        ("pod-state-machine tries CreatePod shop-0-1 for PE shop-0", "answers with an error"),
        ("millrace logs --service pod-state-machine --job shop -n default", "webhook"),
    ),
    "a right that a service lacks": Case(
        UNWRITTEN.with_log(a_failed_write("rejected")),
        Trouble.WRITES_FAIL,
        ("pod-state-machine tries CreatePod shop-0-1 for PE shop-0", "refuses it"),
        ("give pod-state-machine the right", "millrace upgrade"),
    ),
}
