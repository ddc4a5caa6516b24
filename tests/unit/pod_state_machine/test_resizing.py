"""Which pods take other resources while they run, and what is sent for them."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.reasons import Reason
from contracts.scheduling.requests import differ_in_place
from services.pod_state_machine.adapters.reading import pe_of
from services.pod_state_machine.core.effects import ResizePod
from services.pod_state_machine.core.resizing import refused_status, wanted_of
from tests.builders import PeBuilder, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import decided, submitted

SHARE = {"limits": {"cpu": "1.5", "memory": "1.6Gi"}}
TAKEN = {
    "limits": {"cpu": "1500m", "memory": "1717986919"},
    "requests": {"cpu": "1500m", "memory": "1717986919"},
}
OTHER = {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}


def pe(**spec: Any) -> PeBuilder:
    return a_pe().with_spec(resources=SHARE, resizesInPlace=True, **spec).launched(1)


def pod(resources: dict[str, Any], phase: str = "Running") -> Any:
    container = {"name": "pe", "image": "i", "resources": resources}
    return a_pod().with_spec(containers=[container]).in_phase(phase)


def waiting(reason: str, spec: dict[str, Any]) -> Any:
    """A pod whose kubelet does not put the resources of its spec in force."""
    condition = {"type": "PodResizePending", "status": "True", "reason": reason, "message": "m"}
    held = {"name": "pe", "resources": OTHER}
    return pod(spec).with_status(conditions=[condition], containerStatuses=[held])


def resizes(*builders: Any) -> list[ResizePod]:
    effects = decided(*builders, submitted()).effects
    return [each for each in effects if isinstance(each, ResizePod)]


def rule(*builders: Any) -> str:
    """The observation that decides on the resources of the pod."""
    return decided(*builders, submitted()).rules["resize"]


def test_a_pod_with_another_share_gets_limits_and_requests_in_whole_bytes() -> None:
    (effect,) = resizes(pe(), pod(OTHER))
    assert effect.resources == (
        ("limits", "cpu", "1.5"),
        ("limits", "memory", "1717986919"),
        ("requests", "cpu", "1.5"),
        ("requests", "memory", "1717986919"),
    )


def test_a_pod_that_has_its_share_however_it_is_written_is_left_alone() -> None:
    assert not resizes(pe(), pod(TAKEN))
    assert not differ_in_place(wanted_of(SHARE), TAKEN)


def test_pods_are_resized_for_marked_pes_only_and_not_beside_a_launch() -> None:
    """Edits of others are for the next launch, which makes a pod with the new share."""
    unmarked = a_pe().with_spec(resources=SHARE).launched(1)
    assert not resizes(unmarked, pod(OTHER))
    assert not resizes(pe(launchCount=2), pod(OTHER))
    assert not resizes(pe(), pod(OTHER, "Failed"))
    assert not resizes(pe(), pod(OTHER).deleting())


def test_a_refusal_is_recorded_with_the_words_of_the_api_server_and_not_repeated() -> None:
    (effect,) = resizes(pe(), pod(OTHER))
    owner = pe_of(pe().entry())
    status = refused_status(owner, effect, "no support", 0.0)
    stated = status.condition("ResizedInPlace")
    assert stated is not None
    assert (stated.status, stated.reason) == ("False", Reason.RESIZE_REFUSED)
    assert stated.message.endswith("was refused: no support")
    refused = pe().with_status(conditions=[stated.to_json()])
    assert not resizes(refused, pod(OTHER))


@pytest.mark.parametrize("reason", ["Infeasible", "Deferred"])
def test_a_pod_whose_resize_is_pending_shows_what_it_has_and_is_not_sent_it_again(
    reason: str,
) -> None:
    """What the spec says is compared, so that another share is sent and the same one is not."""
    data = waiting(reason, TAKEN).entry().data
    assert (data["resources"], data["heldResources"]) == (TAKEN, OTHER)
    (condition,) = data["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodResizePending", reason)
    assert not resizes(pe(), waiting(reason, TAKEN))
    assert len(resizes(pe(), waiting(reason, OTHER))) == 1


@pytest.mark.parametrize("reason", ["Infeasible", "Deferred"])
def test_a_refusal_is_not_withdrawn_while_the_kubelet_holds_the_resize_back(reason: str) -> None:
    """ResizedInPlace says that the pod has the resources, which it does not have yet."""
    (effect,) = resizes(pe(), pod(OTHER))
    stated = refused_status(pe_of(pe().entry()), effect, "no", 0.0).condition("ResizedInPlace")
    assert stated is not None
    refused = pe().with_status(conditions=[stated.to_json()])
    assert rule(refused, waiting(reason, TAKEN)) == "AS_WANTED"
    assert rule(refused, pod(TAKEN)) == "REFUSAL_OVER"
