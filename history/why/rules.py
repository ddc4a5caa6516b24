"""What can be wrong, in order: the first rule that holds names the cause.

1. What keeps the object from being looked at at all: unreadable, the code crashes, a wrong name.
2. What holds a deletion.
3. Refusals of the job: nothing of it runs.
4. Why pods are not created or do not start: what is missing first, then nodes, then the scheduler.
5. A service or the log that the next step waits for. It is no cause of what failed before.
6. What ended and is not launched again, or ends again for good, or does not get past a tuple.
7. Requests that are refused while the job runs.
8. What passes by itself. 9. What is over, to be acknowledged. 10. What stays as it is.

So a restart that backs off, a condition that only informs and a closed node that nobody needs never
hide the cause. To change the order is to change answers: the tests of two troubles hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from contracts.reasons import Reason
from contracts.resources.conditions import READABLE, STALLED
from history.why import (
    of_endings,
    of_jobs,
    of_losses,
    of_needs,
    of_nodes,
    of_operators,
    of_pods,
    of_services,
    of_streams,
    of_writes,
)
from history.why.case import Case
from history.why.things import Thing


class Trouble(Enum):
    """What is wrong; a rule has one each."""

    UNREADABLE = "the object cannot be read"
    CRASHING = "the code that works on the object crashes"
    WRONG_REFERENCE = "the object names a Job that does not exist, or is not its own"
    STUCK_TERMINATING = "a pod is being deleted and does not end"
    HELD_BY_FINALIZERS = "finalizers keep an object that is being deleted"
    BUNDLE_AWAY = "the bundle is not there, or its host does not give it"
    BUNDLE_INVALID = "the bundle cannot be used"
    NAME_TAKEN = "an object of somebody else has the name"
    NODE_QUOTA = "exclusive pools would have more nodes than the namespace may have"
    QUOTA = "a quota of the namespace is used up"
    ADMISSION_POLICY = "a policy or webhook refuses what is created"
    ACCOUNT_MISSING = "the service account of the pods does not exist"
    POD_REFUSED = "the API server refuses the pod"
    NODE_NOT_READY = "the node does not report"
    NODE_PRESSED = "the node is short of something"
    NODE_CLOSED = "the node takes no new pods"
    SECRET_MISSING = "a Secret or ConfigMap that pods need does not exist"  # noqa: S105
    CLAIM_MISSING = "a claim that pods need does not exist"
    CLAIM_UNBOUND = "a claim that pods need has no volume"
    INIT_FAILED = "a container that initializes the pod fails"
    IMAGE_MISSING = "the image cannot be pulled"
    NOT_MOUNTED = "volumes are not mounted"
    NOT_STARTED = "a container cannot be started"
    NODE_LOST = "a node that is needed is lost"
    NODES_CLOSED = "nodes that could take the pods are closed"
    UNPLACED = "there is no placement"
    UNSCHEDULABLE = "no node can take the pod"
    JOB_REFUSED = "the job is refused"
    LOG_AWAY = "the log does not answer"
    SERVICE_DOWN = "a service does not run"
    WRITES_FAIL = "what a service writes fails again and again"
    SERVICE_SILENT = "a service does not act"
    RESTARTS_EXHAUSTED = "the PE was restarted as often as it may be"
    EVICTED = "the node threw the pod out"
    ENDED = "the PE ended, and is not launched again"
    FAILS_EACH_TIME = "each launch of the PE ends for a cause that does not pass"
    PES_DELETED = "somebody deleted PEs"
    OPERATOR_FAILS = "an operator fails at a tuple, and the PE waits there, or in its launches"
    WIDTH_REFUSED = "a width is refused"
    EDIT_REFUSED = "an edit is refused"
    GATES_CLOSED = "the PE waits for something that its pod needs"
    SILENT_POD = "the kubelet does not report on the pod"
    BACKING_OFF = "the next restart waits"
    POD_FAILED = "the pod failed"
    SIDECAR_FAILED = "another container of a pod failed, and the PE runs without it"
    NOT_READY = "the pod is not ready"
    OPERATOR_HANGS = "a function does not return from a tuple, and the PE waits there"
    CHECKPOINTS_FAIL = "a PE cannot keep its checkpoints, and goes on without"
    OWN_STATUS = "the status says that something is wrong"
    HANDING_OVER = "a resize waits until PEs have handed over"
    NOT_CONNECTED = "PEs run, and connections between them are missing"
    IN_PROGRESS = "it is on its way"
    TUPLES_LOST = "tuples were lost, and nobody has acknowledged it"
    STREAMS_NOT_CONNECTED = "streams that the job imports or exports are not connected"


Guard = Callable[[Case], Thing | None]
Text = Callable[[Case, Thing], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """`guard` gives the object that shows the trouble, or None; the texts are about it."""

    trouble: Trouble
    guard: Guard
    cause: Text
    remedy: Text


T, _R = Trouble, Reason
RULES: Final[tuple[Rule, ...]] = (
    # Nobody can work on the object
    Rule(
        T.UNREADABLE,
        of_jobs.unreadable,
        of_jobs.says(READABLE, "False"),
        of_jobs.cure(_R.OBJECT_UNREADABLE),
    ),
    Rule(T.CRASHING, of_jobs.stalled, of_jobs.says(STALLED, "True"), of_jobs.cure(_R.CRASHING)),
    Rule(
        T.WRONG_REFERENCE,
        of_jobs.wrong_reference,
        of_jobs.says("Accepted", "False"),
        of_jobs.cure(_R.INVALID_REFERENCE),
    ),
    # A deletion that does not end
    Rule(T.STUCK_TERMINATING, of_pods.stuck, of_pods.of_stuck, of_pods.cure_stuck),
    Rule(
        T.HELD_BY_FINALIZERS,
        of_jobs.held_by_finalizers,
        of_jobs.of_finalizers,
        of_jobs.cure_finalizers,
    ),
    # The node that the question is about
    Rule(T.NODE_NOT_READY, of_nodes.not_ready, of_nodes.of_not_ready, of_nodes.cure_not_ready),
    Rule(T.NODE_PRESSED, of_nodes.pressed, of_nodes.of_pressure, of_nodes.cure_pressure),
    Rule(T.NODE_CLOSED, of_nodes.closed, of_nodes.of_closed, of_nodes.cure_closed),
    # Refusals of a job
    Rule(T.BUNDLE_AWAY, of_jobs.bundle_away, of_jobs.of_refusal, of_jobs.cure_refusal),
    Rule(T.BUNDLE_INVALID, of_jobs.bundle_bad, of_jobs.of_refusal, of_jobs.cure_refusal),
    Rule(T.NAME_TAKEN, of_jobs.name_taken, of_jobs.of_refusal, of_jobs.cure_refusal),
    Rule(T.NODE_QUOTA, of_jobs.quota_of_nodes, of_jobs.of_refusal, of_jobs.cure_refusal),
    # What the API server refuses
    Rule(T.QUOTA, of_needs.over_quota, of_needs.of_api_refusal, of_needs.cure_quota),
    Rule(
        T.ACCOUNT_MISSING, of_needs.without_account, of_needs.of_api_refusal, of_needs.cure_account
    ),
    Rule(
        T.ADMISSION_POLICY, of_needs.against_policy, of_needs.of_api_refusal, of_needs.cure_policy
    ),
    # What pods need and is not there
    Rule(
        T.SECRET_MISSING,
        of_needs.lacking(of_needs.SECRET, of_needs.CONFIG_MAP),
        of_needs.of_lack(of_needs.SECRET, of_needs.CONFIG_MAP),
        of_needs.create(of_needs.SECRET, of_needs.CONFIG_MAP),
    ),
    Rule(
        T.CLAIM_MISSING,
        of_needs.lacking(of_needs.CLAIM),
        of_needs.of_lack(of_needs.CLAIM),
        of_needs.create(of_needs.CLAIM),
    ),
    Rule(T.CLAIM_UNBOUND, of_needs.claim_unbound, of_needs.of_claim, of_needs.cure_claim),
    Rule(T.INIT_FAILED, of_pods.init_failed, of_pods.of_init, of_pods.cure_init),
    Rule(
        T.IMAGE_MISSING,
        of_pods.blocked(_R.IMAGE_PULL_FAILED),
        of_pods.of_image,
        of_pods.cure_image,
    ),
    # Nodes
    Rule(T.NODE_LOST, of_nodes.lost, of_nodes.of_lost, of_nodes.cure_lost),
    Rule(
        T.NOT_MOUNTED,
        of_pods.not_mounted,
        of_pods.of_mounts,
        of_jobs.cure(_R.VOLUMES_NOT_MOUNTED),
    ),
    Rule(
        T.NOT_STARTED,
        of_pods.blocked(_R.CONTAINER_NOT_STARTED),
        of_pods.of_blocked("cannot be started", _R.CONTAINER_NOT_STARTED),
        of_jobs.cure(_R.CONTAINER_NOT_STARTED),
    ),
    Rule(
        T.NODES_CLOSED,
        of_jobs.unplaced(_R.NODES_CLOSED),
        of_jobs.of_placement,
        of_jobs.cure_placement,
    ),
    Rule(T.NODES_CLOSED, of_nodes.all_closed, of_nodes.of_all_closed, of_nodes.cure_all_closed),
    Rule(T.UNPLACED, of_jobs.unplaced(), of_jobs.of_placement, of_jobs.cure_placement),
    Rule(
        T.UNSCHEDULABLE,
        of_pods.blocked(_R.UNSCHEDULABLE),
        of_pods.of_blocked("finds no node", _R.UNSCHEDULABLE),
        of_jobs.cure(_R.UNSCHEDULABLE),
    ),
    Rule(
        T.POD_REFUSED,
        of_needs.pod_refused,
        of_needs.of_api_refusal,
        of_needs.cure_refused,
    ),
    Rule(T.JOB_REFUSED, of_jobs.any_refusal, of_jobs.of_refusal, of_jobs.cure_refusal),
    # Who has to act next
    Rule(T.LOG_AWAY, of_services.log_away, of_services.of_log_away, of_services.start_log),
    Rule(
        T.SERVICE_DOWN,
        of_services.service_down,
        of_services.of_service_down,
        of_services.start_service,
    ),
    Rule(T.WRITES_FAIL, of_writes.failing, of_writes.of_failing, of_writes.cure_failing),
    Rule(
        T.SERVICE_SILENT,
        of_services.service_silent,
        of_services.of_service_silent,
        of_services.look_at_services,
    ),
    # What ended
    Rule(
        T.RESTARTS_EXHAUSTED,
        of_pods.with_reason(_R.TOO_MANY_RESTARTS),
        of_pods.of_pe("failed too often and is not restarted"),
        of_endings.cure_ended,
    ),
    Rule(T.EVICTED, of_pods.evicted, of_pods.of_eviction, of_pods.cure_eviction),
    Rule(
        T.ENDED,
        of_pods.with_reason(_R.POD_FAILED, _R.POD_DELETED, _R.DISRUPTED, _R.RESTART_NOT_WANTED),
        of_pods.of_pe("is not launched again"),
        of_endings.cure_ended,
    ),
    Rule(
        T.FAILS_EACH_TIME,
        of_endings.fails_each_time,
        of_endings.of_lasting,
        of_endings.cure_ended,
    ),
    Rule(
        T.PES_DELETED,
        of_jobs.pes_deleted,
        of_jobs.says("Healthy", "False"),
        of_jobs.cure(_R.PE_DELETED),
    ),
    Rule(
        T.OPERATOR_FAILS,
        of_operators.waits_at_a_tuple,
        of_operators.of_the_tuple,
        of_operators.cure_the_tuple,
    ),
    # Requests that are refused; what is in force runs
    Rule(T.WIDTH_REFUSED, of_jobs.width_refused, of_jobs.of_width, of_jobs.cure_width),
    Rule(
        T.EDIT_REFUSED,
        of_jobs.edit_refused,
        of_jobs.says("Accepted", "False"),
        of_jobs.cure(_R.EDIT_REFUSED),
    ),
    # What passes by itself, or is looked at more closely elsewhere
    Rule(
        T.GATES_CLOSED,
        of_pods.closed_gates,
        of_pods.of_pe("waits"),
        of_jobs.cure(_R.GATES_CLOSED),
    ),
    Rule(
        T.SILENT_POD,
        of_pods.with_reason(_R.POD_UNKNOWN),
        of_pods.of_pe("may not run"),
        of_pods.cure_pe,
    ),
    Rule(
        T.BACKING_OFF,
        of_pods.restarting,
        of_pods.of_restarting,
        of_endings.cure_restarting,
    ),
    Rule(
        T.POD_FAILED,
        of_pods.failed_pod,
        of_pods.of_blocked("failed"),
        of_jobs.cure(_R.POD_FAILED),
    ),
    Rule(T.SIDECAR_FAILED, of_pods.without_sidecar, of_pods.of_sidecar, of_pods.cure_sidecar),
    Rule(
        T.NOT_READY, of_pods.not_ready, of_pods.of_not_ready, of_jobs.cure(_R.CONTAINER_NOT_STARTED)
    ),
    Rule(
        T.OPERATOR_HANGS,
        of_operators.hangs_at_a_tuple,
        of_operators.of_report("waits at a tuple"),
        of_jobs.cure(_R.OPERATOR_HANGS),
    ),
    Rule(
        T.CHECKPOINTS_FAIL,
        of_operators.keeps_no_checkpoint,
        of_operators.of_report("runs, and cannot keep its checkpoints"),
        of_jobs.cure(_R.CHECKPOINT_FAILED),
    ),
    Rule(T.OWN_STATUS, of_jobs.own_status, of_jobs.of_own_status, of_jobs.cure_own),
    Rule(T.HANDING_OVER, of_jobs.handing_over, of_jobs.of_hand_over, of_jobs.cure(_R.RESIZING)),
    Rule(
        T.NOT_CONNECTED,
        of_jobs.not_connected,
        of_jobs.of_connections,
        of_jobs.cure_connections,
    ),
    Rule(T.IN_PROGRESS, of_jobs.in_progress, of_jobs.of_progress, of_jobs.cure(_R.WAITING)),
    # What is over, and what stays as it is
    Rule(
        T.TUPLES_LOST, of_losses.lost_tuples, of_losses.of_lost_tuples, of_losses.cure_lost_tuples
    ),
    Rule(
        T.STREAMS_NOT_CONNECTED,
        of_streams.not_connected,
        of_streams.of_streams,
        of_streams.cure_streams,
    ),
)
