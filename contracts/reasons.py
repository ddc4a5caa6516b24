"""Every reason for a refusal, restart, launch or deletion: an enum and the sentence a user sees.

A reason is the CamelCase `reason` of a condition and of an Event; its sentence says in plain words
what it means, and the message of the occasion names object, field and value.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """A reason; `sentence` explains it."""

    sentence: str

    def __new__(cls, value: str, sentence: str) -> Reason:
        """A member whose value is the CamelCase reason and that knows its sentence."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member

    # Refusals of a job or of a width
    BUNDLE_MISSING = "BundleMissing", "The bundle is not where the job says that it is."
    BUNDLE_FORBIDDEN = "BundleForbidden", "The bundle is not given without other credentials."
    BUNDLE_UNTRUSTED = "BundleUntrusted", "The certificate of the bundle's server is not trusted."
    ADDRESS_REFUSED = "AddressRefused", "Bundles are not fetched from an address of that kind."
    BUNDLE_INVALID = "BundleInvalid", "The file is not a bundle that can be read."
    BUNDLE_TOO_LARGE = "BundleTooLarge", "The bundle exceeds a size limit."
    ADL_INVALID = "AdlInvalid", "The application description in the bundle is not valid."
    UNKNOWN_REGION = "UnknownRegion", "The application has no parallel region of that name."
    CONSISTENT_REGION = (
        "ConsistentRegion",
        "A region with operators of a consistent region keeps its width while the job runs.",
    )
    SUBMISSION_VALUE_INVALID = (
        "SubmissionValueInvalid",
        "A submission-time value is missing, unknown, ambiguous or not of its type.",
    )
    STATE_CANNOT_FOLLOW = (
        "StateCannotFollow",
        "State of an operator cannot follow the widths of the regions around it.",
    )
    STORE_NOT_SHARED = (
        "StoreNotShared",
        "State is kept where only one node finds it, and PEs may be on another one.",
    )
    STREAMS_NOT_CONNECTED = (
        "StreamsNotConnected",
        "Streams that the job imports or exports are not connected with those of other jobs yet.",
    )
    STATE_NOT_KEPT = (
        "StateNotKept",
        "State of operators is lost when their processing elements are launched again.",
    )
    CONSTRAINTS_CONTRADICT = (
        "ConstraintsContradict",
        "Constraints of the application cannot hold together.",
    )
    FUSION_INVALID = "FusionInvalid", "The requested fusion cannot be done."
    NOT_SUPPORTED_YET = "NotSupportedYet", "This release does not support that value yet."
    PE_TOO_LARGE = "PeTooLarge", "The description of a processing element exceeds its limit."
    PLAN_TOO_LARGE = "PlanTooLarge", "The plan record exceeds its limit."
    TEMPLATE_TOO_LARGE = (
        "TemplateTooLarge",
        "What every processing element would carry is too deep or too large.",
    )
    CHECKPOINT_STORE_INVALID = (
        "CheckpointStoreInvalid",
        "The redis servers of the checkpoint store are not as many as it asks for.",
    )
    NAME_TAKEN = "NameTaken", "An object of that name belongs to somebody else."
    SUBMISSION_TIMED_OUT = (
        "SubmissionTimedOut",
        "The job could not be submitted within its time-out.",
    )
    PLANNING_LIMIT_EXCEEDED = (
        "PlanningLimitExceeded",
        "Planning takes more CPU time or memory than a planning worker may use.",
    )
    PLANNING_FAILED = "PlanningFailed", "The planner stopped without an answer; it is tried again."
    POD_SECURITY = (
        "PodSecurity",
        "The pods of the job would get more than the settings of fusion-backend allow.",
    )
    SPEC_INVALID = "SpecInvalid", "A field of the object has a value that cannot be used."
    INVALID_REFERENCE = (
        "InvalidReference",
        "A field of the object names something that does not exist.",
    )
    EDIT_REFUSED = (
        "EditRefused",
        "An edit of a running job was refused as a whole; what runs is as before.",
    )

    # Refusals of a placement
    INSUFFICIENT_CAPACITY = (
        "InsufficientCapacity",
        "Nodes have too little left of what the job requests, or are not ready yet.",
    )
    NODES_CLOSED = (
        "NodesClosed",
        "Nodes that could take the job are cordoned or tainted.",
    )
    HOST_MISSING = "HostMissing", "No node has the name or address that the job asks for."
    HOST_UNFIT = "HostUnfit", "The host that the job asks for cannot take what must run there."
    TAG_MISSING = "TagMissing", "Too few nodes, or none, carry all the tags of a host pool."
    LABELS_MISSING = (
        "LabelsMissing",
        "No node that could take the job has the labels that the template of its pods asks for.",
    )
    POOL_TOO_SMALL = "PoolTooSmall", "A host pool cannot get as many nodes as it asks for."
    NODES_CLAIMED = "NodesClaimed", "Nodes that the job needs are held by the pools of others."
    NODE_QUOTA_EXCEEDED = (
        "NodeQuotaExceeded",
        "Exclusive host pools of the namespace would have more nodes than its quota allows.",
    )
    COLOCATION_IMPOSSIBLE = (
        "ColocationImpossible",
        "Processing elements that must share a host do not fit on any.",
    )
    EXLOCATION_IMPOSSIBLE = (
        "ExlocationImpossible",
        "There are not enough hosts for processing elements that must not share one.",
    )
    NO_PLACEMENT = "NoPlacement", "The constraints of the job leave no placement."
    PLACEMENT_UNKNOWN = (
        "PlacementUnknown",
        "Neither a placement nor a proof that there is none was found in time; it is tried again.",
    )

    # Trouble that passes, or that somebody has to end
    BUNDLE_UNREADABLE = "BundleUnreadable", "The bundle cannot be read for now; it is tried again."
    WRITE_FAILED = (
        "WriteFailed",
        "An object of the job cannot be written for now; it is tried again.",
    )
    JOB_IDS_USED_UP = "JobIdsUsedUp", "No job id is left in the namespace."
    CONTRADICTORY = "Contradictory", "The status and what is observed contradict each other."
    CRASHING = "Crashing", "The code that works on the object crashes; it is tried again."
    OBJECT_UNREADABLE = (
        "ObjectUnreadable",
        "The object is too large or nests too deep to be read; what runs stays as it is.",
    )
    PLAN_DAMAGED = "PlanDamaged", "A plan record of the job cannot be read."

    # Progress of a job
    SUBMITTING = "Submitting", "The job is being planned and its objects are being created."
    SUBMITTED = "Submitted", "Every processing element of the job has its pod."
    SUBMISSION_SUCCEEDED = "SubmissionSucceeded", "The submission is complete."
    PLANNING = "Planning", "The planner works on the job."
    REPAIRING = "Repairing", "What is missing of the job, or was changed, is written again."
    RETRY_REQUESTED = "RetryRequested", "The spec or the annotation retry of a failed job changed."
    RETRY_DUE = "RetryDue", "A failed submission is tried again: its cause may have passed."
    CLEARING = "Clearing", "What a failed attempt left is being deleted."
    DELETING = "Deleting", "The job is being deleted, and everything that belongs to it."
    RESIZING = "Resizing", "A new width of a parallel region is being put in force."
    RESIZED = "Resized", "The new widths are in force."
    HAND_OVER_TIMED_OUT = (
        "HandOverTimedOut",
        "Processing elements did not seal their state in time; the resize goes on without it.",
    )
    HAND_OVER_HELD_UP = (
        "HandOverHeldUp",
        "Processing elements held up all others of a hand-over; it goes on without them.",
    )
    WIDTH_REFUSED = (
        "WidthRefused",
        "The region cannot have that width; the last good one stays.",
    )
    WIDTH_WAITS = "WidthWaits", "The new width waits; the last one is in force."
    GATHERING = "Gathering", "Widths that closely follow a resize are put in force together."
    STATE_LOADING = (
        "StateLoading",
        "A new width waits until PEs have loaded the state that the last resize handed over.",
    )
    WIDTH_IN_FORCE = "WidthInForce", "The width of the spec is in force."
    CHANNELS_COUNTED = (
        "ChannelsCounted",
        "Each channel has one pod that autoscalers count: metrics of every kind work.",
    )
    CHANNELS_SHARED = "ChannelsShared", "Not every channel has a pod that stands for it alone."
    CHANNELS_UNMARKED = (
        "ChannelsUnmarked",
        "Pods of channels lack the label by which autoscalers count them.",
    )
    ACCEPTED = "Accepted", "The job's spec is accepted."
    EDIT_TAKEN_UP_LATER = (
        "EditTakenUpLater",
        "An edit of the spec is accepted, and the next resize takes it up.",
    )
    FIELDS_IGNORED = "FieldsIgnored", "Some fields of the spec are accepted but ignored."
    WITHOUT_EFFECT = "WithoutEffect", "Something that was submitted has another effect than meant."
    FUSED = "Fused", "Operators are fused into processing elements."
    PLACING = "Placing", "It is being decided where the job runs."
    PLACED = "Placed", "Every processing element of the job has a node that can take it."
    MEMBERS_READY = "MembersReady", "The host pool has all its members."
    MEMBERS_MISSING = "MembersMissing", "The host pool has lost members and gets no others."
    CLAIM_INCOMPLETE = (
        "ClaimIncomplete",
        "Members of the host pool do not carry its marks yet, or run what is not of the pool.",
    )
    NO_CONSTRAINTS = (
        "NoConstraints",
        "The job has no host constraint: the scheduler places its pods, and reports none of them as"
        " unschedulable for 2 s or more.",
    )
    NOT_CHECKED = (
        "NotChecked",
        "spec.admission is Ignore: it is not checked whether nodes can take the job.",
    )
    ALL_RUNNING = "AllRunning", "Every pod of the job runs or has completed."
    SOME_NOT_RUNNING = "SomeNotRunning", "Some pods of the job do not run."
    SOME_NOT_CONNECTED = (
        "SomeNotConnected",
        "Some processing elements report that they are not connected to all of their neighbours.",
    )
    OPERATOR_FAILED = (
        "OperatorFailed",
        "A function of the application fails at a tuple: its processing element waits there, loses"
        " nothing, and tries again.",
    )
    OPERATOR_HANGS = (
        "OperatorHangs",
        "A function of the application has worked on one tuple for more than 30 s, and has not"
        " returned.",
    )
    CHECKPOINT_FAILED = (
        "CheckpointFailed",
        "A processing element cannot keep its checkpoints: it runs, and would go back further.",
    )
    RESOURCES_EXCEEDED = (
        "ResourcesExceeded",
        "The pods of the job have more than its spec.resources.",
    )
    RESOURCES_KEPT = (
        "ResourcesKept",
        "The pods of the job have no more than its spec.resources.",
    )
    FINDING_RESIZING = (
        "FindingResizing",
        "It is found out whether the cluster resizes pods in place.",
    )
    PE_DELETED = (
        "PeDeleted",
        "Somebody deleted processing elements that are not restartable: the job is incomplete.",
    )
    COMPLETED = "Completed", "Every processing element has completed."
    WAITING = "Waiting", "Something that the next step needs is not there yet."

    # Launches, restarts and deletions of pods
    FIRST_LAUNCH = "FirstLaunch", "The processing element is launched for the first time."
    LAUNCH_DUE = "LaunchDue", "The launch that the status intends gets its pod."
    CONTENT_CHANGED = "ContentChanged", "A resize changed what the processing element runs."
    LAUNCH_REQUESTED = "LaunchRequested", "spec.launchCount was raised."
    RESTART_REQUESTED = (
        "RestartRequested",
        "The annotation streams.ibm.com/restart has a new value.",
    )
    POD_FAILED = "PodFailed", "The pod failed."
    POD_COMPLETED = "PodCompleted", "The pod completed."
    POD_DELETED = "PodDeleted", "The pod was deleted."
    DISRUPTED = "Disrupted", "The cluster took the pod away, which counts as a failure."
    POD_SUPERSEDED = "PodSuperseded", "A newer launch replaces the pod."
    POD_RUNNING = "PodRunning", "The pod runs."
    POD_STARTING = "PodStarting", "The pod is created and does not run yet."
    POD_REFUSED = "PodRefused", "The API server refused the pod."
    POD_UNKNOWN = "PodUnknown", "The node of the pod is silent; the pod may still run."
    UNSCHEDULABLE = "Unschedulable", "No node can take the pod."
    IMAGE_PULL_FAILED = "ImagePullBackOff", "The image of the pod cannot be pulled."
    VOLUMES_NOT_MOUNTED = (
        "VolumesNotMounted",
        "The pod is on its node, and its volumes were not mounted within 10 s.",
    )
    CONTAINER_NOT_STARTED = "ContainerNotStarted", "The container of the pod cannot be started."
    STUCK_TERMINATING = "StuckTerminating", "The pod is being deleted and does not end."
    GATES_CLOSED = "GatesClosed", "What the pod needs does not exist yet."
    REASSIGNED = (
        "Reassigned",
        "The processing element goes to another node; its pod was on none yet.",
    )
    RESTARTED = "Restarted", "A restart policy launches the processing element again."
    SHARE_CHANGED = (
        "ShareChanged",
        "The share of the job's resources changed, and the pod takes it in place.",
    )
    RESIZE_REFUSED = (
        "ResizeRefused",
        "The API server refused other resources for the pod that runs.",
    )
    RESIZED_IN_PLACE = (
        "ResizedInPlace",
        "The pod has the resources of the processing element.",
    )
    RETENTION_OVER = (
        "RetentionOver",
        "The failed pod was kept for a while and no launch follows, so it is deleted.",
    )
    RESTART_NOT_WANTED = "RestartNotWanted", "The restart policy asks for no restart."
    BACKING_OFF = "BackingOff", "The next restart waits for its back-off."
    TOO_MANY_RESTARTS = (
        "TooManyRestarts",
        "There were as many restarts in a row as spec.maxRestartsInARow allows.",
    )
    NO_LONGER_PLANNED = "NoLongerPlanned", "No plan of the job names the object any more."
    OWNER_DELETED = "OwnerDeleted", "The owner of the object is being deleted."
    NODE_CLAIMED = "NodeClaimed", "The node gets the marks of the host pools that it belongs to."
    NODE_RELEASED = "NodeReleased", "The node belongs to no host pool any more."
    POOL_SECURED = "PoolSecured", "The host pool is kept until its nodes have been released."
    POOL_RELEASED = "PoolReleased", "No node carries the marks of the host pool any more."
    CONNECTIVITY_REPORTED = (
        "ConnectivityReported",
        "The processing element reported how many of its connections are up.",
    )
    RUNTIME_REPORTED = (
        "RuntimeReported",
        "The runtime in the processing element reported what became of its state.",
    )
    BUNDLE_NOT_GIVEN = (
        "BundleNotGiven",
        "The processing element did not get the bundle that it requested at its start.",
    )
    TUPLES_LOST = "TuplesLost", "Tuples were sent to a launch that ended before it processed them."
    SOURCE_READS_AGAIN = (
        "SourceReadsAgain",
        "A launch began with an older state than its sources had reached: tuples may come twice.",
    )
    NOTHING_TO_CHANGE = "NothingToChange", "The world is as it should be."


UNPLACEABLE: Final = frozenset(
    {
        Reason.INSUFFICIENT_CAPACITY,
        Reason.NODES_CLOSED,
        Reason.HOST_MISSING,
        Reason.HOST_UNFIT,
        Reason.TAG_MISSING,
        Reason.LABELS_MISSING,
        Reason.POOL_TOO_SMALL,
        Reason.NODES_CLAIMED,
        Reason.NODE_QUOTA_EXCEEDED,
        Reason.COLOCATION_IMPOSSIBLE,
        Reason.EXLOCATION_IMPOSSIBLE,
        Reason.NO_PLACEMENT,
        Reason.PLACEMENT_UNKNOWN,
    }
)
"""Why a job cannot be placed on the nodes that there are: other nodes may help."""

_BY_VALUE: Final = {each.value: each for each in Reason}


def reason_of(value: object) -> Reason | None:
    """The reason of a condition or status; None for a word that is no reason of ours."""
    return _BY_VALUE.get(value) if isinstance(value, str) else None


WARNED_OF: Final = (Reason.STREAMS_NOT_CONNECTED, Reason.STATE_NOT_KEPT)
"""What a warning of a plan may begin with; all others are about something without effect."""


def warned_of(warning: str) -> tuple[Reason, str]:
    """The reason that a warning of a plan has, and what it says."""
    for reason in WARNED_OF:
        if warning.startswith(mark := f"{reason.value}: "):
            return reason, warning.removeprefix(mark)
    return Reason.WITHOUT_EFFECT, warning
