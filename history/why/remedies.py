"""The remedy for each reason that a status can have: the command, the field, the value.

Placeholders: {ns} the namespace, {job}, {pe}, {pod}, {node}, {name} (of the object that shows the
cause), {launch} (a launch count that is not used yet), {url} (of the bundle), {log} (how the log of
what failed is read), {logs} (the logs of a PE that exist, in a list). What a message names already,
such as the field of a Job, is not repeated. A rule that knows more, such as which Secret is
missing, has a remedy of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts import labels
from contracts.reasons import Reason

_R = Reason
EDIT: Final = "kubectl edit stj {job} -n {ns}"
RETRY: Final = f'kubectl annotate stj {{job}} -n {{ns}} {labels.RETRY}="$(date +%s)" --overwrite'
RESTART: Final = "millrace restart {pe} -n {ns}"
LOG: Final = "millrace logs {pe} -n {ns}"
DESCRIBE: Final = "kubectl describe pod {pod} -n {ns}"
_SUBMITTED_AGAIN: Final = "and submit it again, since a job keeps its bundle"
_FAILS_AGAIN: Final = (
    f"Once the cause is gone, launch it again: {RESTART}; where that is in the application, correct"
    f" it, {_SUBMITTED_AGAIN}"
)
_CORRECT: Final = f"Correct the field that the message names: {EDIT}"

REMEDIES: Final[Mapping[Reason, str]] = {
    # Refusals of a job or of a width
    _R.BUNDLE_MISSING: "Put the bundle where spec.bundle says (`millrace submit FILE` puts one into"
    f" the bundle root), or correct spec.bundle: {EDIT}",
    _R.BUNDLE_FORBIDDEN: "Correct the Secret with the credentials of the bundle's server, which"
    f" spec.bundle names, then try again: {RETRY}",
    _R.BUNDLE_UNTRUSTED: "Give the server a certificate that is trusted, or name its authority in"
    f" spec.bundle ({EDIT}); then try again: {RETRY}",
    _R.ADDRESS_REFUSED: "Allow the network in MILLRACE_BUNDLE_ALLOWED_NETWORKS of fusion-backend"
    f" (an administrator), or name another address in spec.bundle: {EDIT}",
    _R.BUNDLE_INVALID: "See what is wrong with the file (`millrace bundle verify FILE`), replace it"
    f" in the bundle root, then try again: {RETRY}",
    _R.BUNDLE_TOO_LARGE: "Make the bundle smaller (`millrace bundle show FILE` lists what is in"
    f" it), replace it, then try again: {RETRY}",
    _R.ADL_INVALID: "Compile the application again, and check the result with `millrace bundle"
    f" verify FILE`; then try again: {RETRY}",
    _R.UNKNOWN_REGION: "Name a region of the application (`millrace bundle show FILE` lists them)"
    f" in spec.parallelRegions: {EDIT}",
    _R.CONSISTENT_REGION: "Delete the job and submit it again with the new width: millrace delete"
    " {job} -n {ns}",
    _R.SUBMISSION_VALUE_INVALID: f"Correct spec.submissionTimeValues: {EDIT}",
    _R.CONSTRAINTS_CONTRADICT: "Change the constraints that the message names in the application"
    " (host, pool, hostColocation, hostExlocation, hostIsolation), compile it, and submit it again",
    _R.STATE_CANNOT_FOLLOW: "Split the region by attributes of the operator's key, or let its state"
    ' be discarded (at_resize="discard"), pack the application, and submit it again',
    _R.STREAMS_NOT_CONNECTED: "Let the jobs meet at a topic of Kafka (`kafka.topic`), or at files,"
    f" instead of import and export, pack the application, {_SUBMITTED_AGAIN}; an export that"
    " nobody needs may stay",
    _R.STATE_NOT_KEPT: "If that state matters, name a claim that every node mounts, or redis, in"
    f" spec.processingElement.checkpointRepository: {EDIT}",
    _R.STORE_NOT_SHARED: "Name a claim that every node mounts (ReadWriteMany), or redis, in"
    f" spec.processingElement.checkpointRepository: {EDIT}",
    _R.FUSION_INVALID: f"Give spec.fusion another value, such as automatic: true: {EDIT}",
    _R.NOT_SUPPORTED_YET: f"Leave the value out that the message names: {EDIT}",
    _R.PE_TOO_LARGE: "Fuse the operators into more PEs with spec.fusion, such as legacy: true:"
    f" {EDIT}",
    _R.PLAN_TOO_LARGE: "Lower the widths in spec.parallelRegions, or fuse into fewer PEs with"
    f" spec.fusion: {EDIT}",
    _R.TEMPLATE_TOO_LARGE: f"Make spec.processingElement.podTemplate smaller: {EDIT}",
    _R.CHECKPOINT_STORE_INVALID: "Start as many redis servers as the message asks for, or correct"
    f" the checkpoint store of the Job: {EDIT}",
    _R.NAME_TAKEN: "Delete the object that has the name and try again"
    f" ({RETRY}), or submit the job under another --name",
    _R.SUBMISSION_TIMED_OUT: "Remove what the message names, or raise"
    f" spec.submissionTimeOutInSeconds: {EDIT}; to try again at once: {RETRY}",
    _R.PLANNING_LIMIT_EXCEEDED: "Raise the limits of planning workers of fusion-backend (an"
    f" administrator; docs/settings.md), or lower the widths: {EDIT}",
    _R.PLANNING_FAILED: "It is tried again; the log of fusion-backend says how the planner ended."
    f" To try again at once: {RETRY}",
    _R.POD_SECURITY: f"Leave the field out that the message names ({EDIT}), or ask an"
    " administrator for another MILLRACE_POD_SECURITY of fusion-backend",
    _R.SPEC_INVALID: _CORRECT,
    _R.INVALID_REFERENCE: "Correct the field that the message names, or delete the object: kubectl"
    " delete {kind} {name} -n {ns}",
    _R.EDIT_REFUSED: f"Take the edit back, or correct it as the message says: {EDIT}",
    # Refusals of a placement
    _R.INSUFFICIENT_CAPACITY: "Free or add nodes, or lower what the PEs request"
    f" (spec.processingElement.resources, spec.resources): {EDIT}",
    _R.NODES_CLOSED: "Open a node that the message names, `kubectl uncordon NODE`, or remove its"
    " taint: kubectl taint node NODE KEY-",
    _R.HOST_MISSING: "Name a host that exists (`kubectl get nodes -o wide`) in the application or"
    f" its submission-time values ({EDIT}), or add the node",
    _R.HOST_UNFIT: "Make room on the host, give it the label that the message names (`kubectl label"
    f" node NODE KEY=VALUE`), or name another one: {EDIT}",
    _R.TAG_MISSING: f"Give nodes the tags: kubectl label node NODE {labels.TAG_PREFIX}TAG=",
    _R.LABELS_MISSING: "Give a node the label that the message names (`kubectl label node NODE"
    f" KEY=VALUE`), or correct podTemplate.spec.nodeSelector of the Job: {EDIT}",
    _R.POOL_TOO_SMALL: "Add nodes that fit the pool, give nodes its tags (`kubectl label node NODE"
    f" {labels.TAG_PREFIX}TAG=`), or make the pool smaller in the application",
    _R.NODES_CLAIMED: "End a job whose exclusive pool holds the nodes (`kubectl get sthp -A` lists"
    " the pools), or add nodes",
    _R.NODE_QUOTA_EXCEEDED: "Make the pools smaller or shared in the application, or ask an"
    " administrator to raise MILLRACE_EXCLUSIVE_NODES_MAX of hostpool-manager",
    _R.COLOCATION_IMPOSSIBLE: "Make room on one host for all that must share it, or lower what the"
    f" PEs request: {EDIT}",
    _R.EXLOCATION_IMPOSSIBLE: "Add nodes, or open closed ones (`kubectl uncordon NODE`): each of"
    " the PEs needs one of its own",
    _R.NO_PLACEMENT: "Add nodes, or relax constraints in the application that the message names",
    _R.PLACEMENT_UNKNOWN: "It is tried again; fewer constraints, or more room, make it easier. To"
    f" try again at once: {RETRY}",
    # Trouble that passes, or that somebody has to end
    _R.BUNDLE_UNREADABLE: "See that the server of spec.bundle answers (`curl -I {url}`); it is"
    f" tried again by itself, and at once with: {RETRY}",
    _R.WRITE_FAILED: "Remove what the API server's message names, such as a quota, a webhook or a"
    " missing right; it is tried again by itself",
    _R.JOB_IDS_USED_UP: "Delete jobs of the namespace that are not needed: millrace get -n {ns}",
    _R.CONTRADICTORY: "Report it with the log (`millrace events {job} -n {ns}`); to begin again,"
    " delete the job and submit it",
    _R.CRASHING: "Report it with the log of the service that the message names (`millrace service"
    " status` names its file); other objects are not affected",
    _R.OBJECT_UNREADABLE: "Make the object smaller or less deep, as the message says: kubectl edit"
    " {kind} {name} -n {ns}",
    _R.PLAN_DAMAGED: "Nothing, where the message says that the plan is made again; else restore the"
    " ConfigMap that it names, or submit the job again",
    _R.WIDTH_REFUSED: "Request a width that is possible (the one in force is {width}): millrace"
    " scale {job} {region}={width} -n {ns}",
    _R.WIDTH_WAITS: "Add or free nodes: it is tried again by itself. To take the request back:"
    " millrace scale {job} {region}={width} -n {ns}",
    _R.CHANNELS_SHARED: "Submit the job with spec.fusion.type channelIsolation for a pod of each"
    f" channel: {EDIT}",
    _R.CHANNELS_UNMARKED: "Launch the PEs that the message names again: millrace restart {job} -n"
    " {ns}",
    _R.WITHOUT_EFFECT: _CORRECT,
    _R.FIELDS_IGNORED: f"Leave the fields out that the message names: {EDIT}",
    _R.EDIT_TAKEN_UP_LATER: "Nothing: the next resize takes it up; to take it up now, submit the"
    " job again",
    _R.MEMBERS_MISSING: "Bring the lost nodes back, or add nodes that fit the pool (`kubectl get"
    " nodes`)",
    _R.BUNDLE_NOT_GIVEN: "Let pe-gateway read the bundle store of fusion-backend (chart:"
    " bundles.store.accessMode ReadWriteMany), or do what the message says; the PE is launched"
    f" again by itself, and at once with: {RESTART}",
    _R.TUPLES_LOST: "See why (`millrace events {job} -n {ns}`{logs}): what is lost is not sent"
    " again. Then acknowledge it: millrace acknowledge {job} -n {ns}",
    _R.SOURCE_READS_AGAIN: "Nothing, where sinks bear a tuple twice; else write with a key or a"
    " number. To go back less far the next time, save more often: App(…, checkpoint_seconds=10)"
    f" with a store, {_SUBMITTED_AGAIN}",
    _R.HAND_OVER_TIMED_OUT: "See in the logs of these PEs what they waited for; if they only need"
    f" longer, raise spec.scaling.handOverSeconds: {EDIT}",
    _R.HAND_OVER_HELD_UP: "See in the logs of these PEs where they hang: a function that neither"
    " ends nor waits holds up its whole process",
    _R.RESOURCES_EXCEEDED: f"Raise spec.resources ({EDIT}), or launch the PEs that the message"
    " names again: millrace restart {job} -n {ns}",
    _R.PE_DELETED: f"Create the PEs again: {RETRY}",
    _R.SOME_NOT_RUNNING: "See why its PEs do not run: kubectl get stp -n {ns} -o wide",
    _R.SOME_NOT_CONNECTED: "See what the PEs report: kubectl get stp -n {ns} -o yaml"
    " (status.connectivity, status.runtime)",
    _R.OPERATOR_FAILED: "See its log (`millrace logs {pe} -n {ns}`); it tries again, goes on once"
    " the function takes the tuple, and loses nothing until then; a source that gives what does not"
    ' fit waits for good. Correct the application, or let it skip such tuples (on_error="skip"),'
    f" {_SUBMITTED_AGAIN}",
    _R.OPERATOR_HANGS: "See in its log (`millrace logs {pe} -n {ns}`) what it waits for; a function"
    " that waits for others needs a timeout (`asyncio.timeout`), and fails under its on_error then."
    " A plain one that holds up its process is ended after two to three minutes, and launched"
    " again",
    _R.CHECKPOINT_FAILED: "Make room in the store, or let it answer again; where the state of an"
    " operator does not fit into its type, correct the function that sets it. The PE runs, and"
    " tries again each period; until then do not stop it or set a width: both save its state",
    # Launches
    _R.POD_FAILED: f"{{log}}. {_FAILS_AGAIN}",
    _R.POD_DELETED: f"Launch it again: {RESTART}; so that it is launched by itself, set"
    f" spec.processingElement.restartDeletedPod: true ({EDIT})",
    _R.DISRUPTED: "See what happened to the node (`kubectl describe node {node}`), and launch the"
    f" PE again: {RESTART}",
    _R.POD_REFUSED: "Correct in the Job what the API server's message names"
    f" ({EDIT}), or remove what refuses the pod; it is tried again by itself",
    _R.POD_UNKNOWN: "Bring the node back; if it is lost for good: kubectl delete node {node}",
    _R.UNSCHEDULABLE: "Free or add nodes, or lower what the PE requests"
    f" (spec.processingElement.resources): {EDIT}",
    _R.IMAGE_PULL_FAILED: "Push the image, or correct spec.processingElement.image (or the Secret"
    f" in spec.imagePullSecret): {EDIT}",
    _R.VOLUMES_NOT_MOUNTED: f"Create what does not exist, then wait; `{DESCRIBE}` has the words of"
    " the kubelet",
    _R.CONTAINER_NOT_STARTED: f"Correct what the message names in the Job ({EDIT}); `{DESCRIBE}`"
    " has the words of the kubelet",
    _R.STUCK_TERMINATING: "Bring node {node} back, or if it is lost: kubectl delete node {node}",
    _R.RESIZE_REFUSED: f"Lower spec.resources to what the node has ({EDIT}), or launch the PE"
    f" again: {RESTART}",
    _R.TOO_MANY_RESTARTS: f"{{log}}. {_FAILS_AGAIN}",
    _R.BACKING_OFF: "{log}; it is restarted by itself, and once the cause is gone at once with:"
    f" {RESTART}",
    _R.RESTART_NOT_WANTED: f"Launch it again: {RESTART}",
    _R.RETENTION_OVER: f"Launch it again: {RESTART}",
}
"""For what somebody has to end, or can end sooner."""

WAIT: Final = "Nothing: it goes on by itself. `millrace get {job} -n {ns} --watch` shows how"
ON_THE_WAY: Final[frozenset[Reason]] = frozenset(
    {
        _R.SUBMITTING,
        _R.PLANNING,
        _R.REPAIRING,
        _R.RETRY_REQUESTED,
        _R.RETRY_DUE,
        _R.CLEARING,
        _R.DELETING,
        _R.RESIZING,
        _R.GATHERING,
        _R.STATE_LOADING,
        _R.PLACING,
        _R.CLAIM_INCOMPLETE,
        _R.FINDING_RESIZING,
        _R.WAITING,
        _R.FIRST_LAUNCH,
        _R.LAUNCH_DUE,
        _R.CONTENT_CHANGED,
        _R.LAUNCH_REQUESTED,
        _R.RESTART_REQUESTED,
        _R.POD_SUPERSEDED,
        _R.POD_STARTING,
        _R.GATES_CLOSED,
        _R.REASSIGNED,
        _R.RESTARTED,
        _R.SHARE_CHANGED,
        _R.POOL_SECURED,
        _R.CONNECTIVITY_REPORTED,
        _R.RUNTIME_REPORTED,
        _R.NODE_CLAIMED,
        _R.NODE_RELEASED,
        _R.NO_LONGER_PLANNED,
        _R.OWNER_DELETED,
    }
)
"""Nobody has to do anything, as long as the services run."""

WELL: Final[frozenset[Reason]] = frozenset(
    {
        _R.SUBMITTED,
        _R.SUBMISSION_SUCCEEDED,
        _R.RESIZED,
        _R.WIDTH_IN_FORCE,
        _R.CHANNELS_COUNTED,
        _R.ACCEPTED,
        _R.FUSED,
        _R.PLACED,
        _R.MEMBERS_READY,
        _R.NO_CONSTRAINTS,
        _R.NOT_CHECKED,
        _R.ALL_RUNNING,
        _R.RESOURCES_KEPT,
        _R.COMPLETED,
        _R.POD_RUNNING,
        _R.POD_COMPLETED,
        _R.RESIZED_IN_PLACE,
        _R.POOL_RELEASED,
        _R.NOTHING_TO_CHANGE,
    }
)
"""Nothing is wrong."""


def remedy_of(reason: Reason | None, values: Mapping[str, str]) -> str:
    """The remedy for a reason, as a sentence without a full stop; `values` fill the placeholders.

    Of an unknown word: where to look.
    """
    text = REMEDIES.get(reason) if reason is not None else None
    if text is None:
        text = (
            WAIT
            if reason in ON_THE_WAY
            else "See its Events: kubectl describe {kind} {name} -n {ns}"
        )
    return text.format_map(values)
