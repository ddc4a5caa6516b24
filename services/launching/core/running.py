"""What says that an owner runs, for a service that writes something else at the same moment.

The status is the one that the rules give (rules.py): where another rule than POD_RUNNING holds,
there is none. Who decides on launches is not here.
"""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from contracts.scheduling.nodes import Node
from services.chassis.running.rules import rule_for
from services.launching.core.owners import LaunchStatus, Owner
from services.launching.core.pods import Pod
from services.launching.core.recording import Record
from services.launching.core.rules import RULES, Observation
from services.launching.core.situation import Situation
from services.launching.core.snapshot import Context, LaunchSnapshot, Timing

_STARTS = (PePhase.WAITING, PePhase.STARTING)
_UNDISTURBED = Context(
    has_lost_job=False, is_job_busy=False, owners_in_job=1, has_mounts=True, awaited="", node=None
)
"""What would keep a launch from running is not there: its pod runs."""


def status_of_running(owner: Owner, pods: tuple[Pod, ...], now: float) -> LaunchStatus | None:
    """The status that says that the newest launch runs; None where it does not, or says so already.

    `pods` are those of the owner; `now` is in unix seconds.
    """
    if owner.status.phase not in _STARTS or owner.is_deleting:
        return None
    nodes = tuple(Node(pod.node) for pod in pods)
    at = Situation(
        LaunchSnapshot(owner=owner, pods=pods, nodes=nodes), owner, _UNDISTURBED, now, Timing()
    )
    if at.pod is None or not at.is_running or at.pod.is_deleting:
        return None
    if rule_for(RULES, at, at.phase).observation is not Observation.POD_RUNNING:
        return None
    return Record(PePhase.RUNNING).status(at, Reason.POD_RUNNING)
