"""Where the fields of Job and ProcessingElement come from, and when each is taken up.

Beside the models, not in them: names, types, defaults and descriptions are the models' (`job.py`,
`processing_element.py`), what is ignored or refused is in `accepting.py`, and only what
neither can know stands here. A note holds for a field and what is below it, unless that has one of
its own. `deploy/fields.py` draws `docs/fields.md` from all of them; tests ask the code of both
services whether each moment is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")


class Origin(Enum):
    """Who names a field: the design documents (seed), the original's code, or only we."""

    BOTH = "seed, original"
    SEED = "seed"
    ORIGINAL = "original"
    OURS = "millrace"


class Moment(Enum):
    """When a field is read, what an edit of a running job's comes to, and who reads it."""

    FIRST_PLAN = (
        "first plan",
        "refused (EditRefused)",
        "fusion-backend reads it for the first plan of an attempt and keeps it beside the plan"
        " record; every resize goes by what was kept. Another value later is refused.",
    )
    PE_MADE = (
        "plan",
        "next resize",
        "fusion-backend keeps it beside each plan record and makes ProcessingElements of it. Edited"
        " later, the next resize takes it up for the PEs that it adds or changes; the others keep"
        " what they have, and a PE that somebody deletes is made again of what is kept.",
    )
    SUBMISSION = (
        "submission",
        "while Submitting",
        "fusion-backend looks at it as long as the phase is Submitting, and in the next attempt.",
    )
    LAUNCH = (
        "launch",
        "next launch",
        "pod-state-machine reads it whenever it makes a pod; a pod that exists stays as it is.",
    )
    POD_END = (
        "end of a pod",
        "at once, for pods that have ended too",
        "pod-state-machine asks it of every pod that has ended, also of one that ended before the"
        " edit: a PE that is Failed, Completed or Stopped may start again.",
    )
    POD_HANGS = (
        "a pod that hangs",
        "at once",
        "pod-state-machine asks it of a pod that is being deleted and does not end.",
    )
    AT_ONCE = (
        "a change",
        "at once",
        "pod-state-machine launches the PE again as soon as it sees the change.",
    )

    RESIZE = (
        "new width",
        "at once",
        "fusion-backend reads it when a new width follows the start of a resize.",
    )
    CERTIFICATE = (
        "certificate made",
        "next certificate",
        "fusion-backend reads it when it makes the job's certificate, and when it renews it.",
    )

    HEALTH = (
        "Healthy",
        "at once",
        "fusion-backend reads it when it reports whether the job is healthy.",
    )

    ADMISSION = (
        "admission",
        "at once",
        "fusion-backend reads it before it records a plan, and whenever it reports where the job in"
        " force runs. What is refused or in force already is not decided again.",
    )

    def __init__(self, when: str, edited: str, sentence: str) -> None:
        self.when = when
        self.edited = edited
        self.sentence = sentence


class FieldNote(NamedTuple):
    """What the models do not say of a field.

    `taken_up` without a moment: nothing reads it. `about` is a sentence: where seed and original
    differ, and what an edit does that one would not expect.
    """

    origin: Origin
    taken_up: tuple[Moment, ...] = ()
    about: str = ""


_M, _O = Moment, Origin
_LAUNCHED: Final = FieldNote(_O.BOTH, (_M.LAUNCH,))
_DEBUGGED: Final = FieldNote(_O.BOTH, (_M.LAUNCH,), "The image `millrace/runtime` ignores it.")
_AT_END: Final = FieldNote(_O.BOTH, (_M.POD_END,))
_PLANNED: Final = FieldNote(_O.BOTH, (_M.FIRST_PLAN,))
_OPERATORS_OWN: Final = FieldNote(_O.ORIGINAL)

JOB_FIELDS: Final[Mapping[str, FieldNote]] = {
    "bundle": _PLANNED,
    "bundle.pullPolicy": FieldNote(
        _O.BOTH,
        (_M.FIRST_PLAN,),
        "IfNotPresent: what the namespace fetched before from the same URL with the same Secret is"
        " taken. Ignored without an URL; a resize never fetches.",
    ),
    "bundle.file": FieldNote(_O.SEED, (_M.FIRST_PLAN,)),
    "bundle.http": FieldNote(_O.SEED, (_M.FIRST_PLAN,)),
    "bundle.github": FieldNote(_O.SEED, (_M.FIRST_PLAN,)),
    "bundle.github.certificationAuthority": FieldNote(_O.OURS, (_M.FIRST_PLAN,)),
    "bundle.url": FieldNote(_O.ORIGINAL, (_M.FIRST_PLAN,)),
    "bundle.secret": FieldNote(_O.ORIGINAL, (_M.FIRST_PLAN,), "Ignored without bundle.url."),
    "fusion": _PLANNED,
    "fusion.type": FieldNote(
        _O.BOTH,
        (_M.FIRST_PLAN,),
        "In the original it had no effect. With legacy only what must share a PE is looked at.",
    ),
    "fusion.automatic": FieldNote(
        _O.BOTH,
        (_M.FIRST_PLAN,),
        "It is what is done without legacy and manual; false alone is refused (FusionInvalid). What"
        " the number of PEs was chosen from is kept in the plan record.",
    ),
    "parallelRegions": FieldNote(
        _O.ORIGINAL,
        (_M.FIRST_PLAN,),
        "The widths of a running job are changed on its ParallelRegions.",
    ),
    "parallelRegions[].index": _OPERATORS_OWN,
    "submissionTimeValues": _PLANNED,
    "submissionTimeOutInSeconds": FieldNote(
        _O.BOTH, (_M.SUBMISSION,), "In the original it only wrote lines of a log."
    ),
    "retrySeconds": FieldNote(
        _O.OURS,
        (_M.SUBMISSION,),
        "The Job of a failed submission: an edit starts an attempt at once.",
    ),
    "lossRetentionSeconds": FieldNote(
        _O.OURS, (_M.HEALTH,), "`status.losses` keeps what was lost, whatever it says."
    ),
    "threadingModel": FieldNote(
        _O.BOTH,
        (_M.FIRST_PLAN,),
        "Of operators for which the application names no model, neither at the operator nor at a"
        " composite around it. In the original, dynamic was lost.",
    ),
    "processingElement": FieldNote(
        _O.BOTH, (_M.PE_MADE,), "Its fields are those of the table ProcessingElement."
    ),
    "resources": FieldNote(
        _O.BOTH,
        (_M.FIRST_PLAN, _M.PE_MADE),
        "Limits and requests are divided, as in the seed; the original gave the requests to each PE"
        " whole. They win over processingElement.resources. After a resize the shares add up to the"
        " whole again: pods that run take CPU and memory in place where the cluster can, else they"
        " keep their share and the rest is divided"
        " ([docs/adr/0033](adr/0033-shares-of-a-jobs-resources-add-up.md)). At most three decimals,"
        " rounded down; never 0, but at least 1m of CPU or one byte. Devices and huge pages are"
        " shared in whole ones; a plan of more PEs than there are is refused.",
    ),
    "imagePullPolicy": FieldNote(
        _O.BOTH, (_M.PE_MADE,), "Default of the seed; in the original it was IfNotPresent."
    ),
    "imagePullSecret": FieldNote(
        _O.BOTH,
        (_M.PE_MADE, _M.LAUNCH),
        "Read at a launch for PEs that were made while neither Job nor template named one.",
    ),
    "placement": FieldNote(_O.OURS, (_M.PE_MADE,)),
    "admission": FieldNote(
        _O.OURS,
        (_M.ADMISSION,),
        "A job with host constraints is always placed before it is created, whatever this says.",
    ),
    "services": FieldNote(
        _O.OURS,
        (_M.FIRST_PLAN,),
        "PE *n* of job `shop` has the name `shop-n.shop-pes.NAMESPACE.svc` with PerJob, and"
        " `shop-n.NAMESPACE.svc` with PerPE. A job that a release without this field submitted"
        " keeps PerPE. Left out later, the job keeps what it has"
        " ([docs/adr/0050](adr/0050-one-headless-service-a-job.md)).",
    ),
    "scaling": FieldNote(_O.OURS, (_M.RESIZE,)),
    "scaling.handOverSeconds": FieldNote(
        _O.OURS,
        (_M.RESIZE, _M.LAUNCH),
        "PEs of the image `millrace/runtime` get it, and may take 5 seconds more to end.",
    ),
    "transportCertificateValidityInDays": FieldNote(
        _O.BOTH, (_M.CERTIFICATE,), "It is renewed when a third of them is left."
    ),
    "id": _OPERATORS_OWN,
    "generationId": _OPERATORS_OWN,
    "status": _OPERATORS_OWN,
    "statistics": _OPERATORS_OWN,
    "parallelRegionWidths": _OPERATORS_OWN,
}

PE_FIELDS: Final[Mapping[str, FieldNote]] = {
    "image": FieldNote(
        _O.ORIGINAL,
        (_M.LAUNCH,),
        "Absent in an application in Python: MILLRACE_RUNTIME_IMAGE of fusion-backend.",
    ),
    "imagePullPolicy": FieldNote(
        _O.BOTH, (_M.LAUNCH,), "Inherited, as in the seed; in the original the default was Always."
    ),
    "imagePullSecret": _LAUNCHED,
    "buildType": FieldNote(
        _O.BOTH,
        (_M.LAUNCH,),
        "Valgrind needs debug. The setting's default is the seed's; that of the original's"
        " environment variable was release. The image `millrace/runtime` ignores it.",
    ),
    "sabName": FieldNote(_O.SEED, (_M.LAUNCH,)),
    "bundleName": FieldNote(_O.ORIGINAL, (_M.LAUNCH,)),
    "allowPtrace": _DEBUGGED,
    "runWithValgrind": _DEBUGGED,
    "appTraceLevel": _LAUNCHED,
    "runtimeTraceLevel": _LAUNCHED,
    "deleteFailedPod": FieldNote(
        _O.BOTH,
        (_M.POD_END,),
        "With true a failed pod is deleted when the next launch replaces it, or after"
        " `failedPodRetentionSeconds` where none follows. With false it is kept, and gets the label"
        " `svc=zombie`, as in the original, when the next launch replaces it.",
    ),
    "failedPodTimeToLiveInSeconds": FieldNote(_O.OURS, (_M.POD_END,)),
    "failedPodHistoryLimit": FieldNote(_O.OURS, (_M.POD_END,)),
    "failedPodRetentionSeconds": FieldNote(
        _O.OURS,
        (_M.POD_END,),
        "Where `deleteFailedPod` is true: counted from the pod's end, so that its logs can be"
        " read.",
    ),
    "maxRestartsInARow": FieldNote(
        _O.OURS,
        (_M.POD_END,),
        "Ten minutes of a pod's life reset the count; disruptions by the cluster do not count."
        " Condition `RestartsExhausted` says how to go on.",
    ),
    "nodeLossTimeOutInSeconds": FieldNote(
        _O.OURS,
        (_M.POD_HANGS,),
        "Counted from its deletion timestamp, and only where the Node object is gone or tainted"
        " `node.kubernetes.io/out-of-service`. Condition `StuckTerminating` says what to do.",
    ),
    "forceRelaunch": FieldNote(_O.OURS, (_M.POD_HANGS,), "Whatever the Node says."),
    "restartCompletedPod": _AT_END,
    "restartDeletedPod": FieldNote(
        _O.BOTH,
        (_M.POD_END,),
        "With false, the default, `kubectl delete pod` stops the PE: phase `Stopped`. With true it"
        " is launched again, also if it had failed or completed and the other two policies are"
        " false. A pod that the cluster took away failed.",
    ),
    "restartFailedPod": FieldNote(
        _O.BOTH,
        (_M.POD_END,),
        "The application's answer is written into the PE when it is made; a PE whose null was"
        " written later is restarted.",
    ),
    "initialProbeDelayInSeconds": _LAUNCHED,
    "probeIntervalInSeconds": _LAUNCHED,
    "probeTimeoutInSeconds": FieldNote(_O.OURS, (_M.LAUNCH,)),
    "probeFailureThreshold": FieldNote(
        _O.BOTH,
        (_M.LAUNCH,),
        "The default for others is the seed's. For the image `millrace/runtime` a 1 counts beside"
        " probeTimeoutInSeconds only: earlier releases wrote a 1 into each PE.",
    ),
    "resources": _LAUNCHED,
    "transportSecurityType": FieldNote(
        _O.BOTH,
        (_M.LAUNCH,),
        "But for none, a pod is made when the job has a certificate, which all its PEs share.",
    ),
    "dataPath": _LAUNCHED,
    "dataVolumeClaim": _LAUNCHED,
    "checkpointRepository": FieldNote(_O.SEED, (_M.LAUNCH,)),
    "checkpointDataStore": FieldNote(_O.ORIGINAL, (_M.LAUNCH,)),
    "checkpointRepository.fileSystem": FieldNote(
        _O.BOTH,
        (_M.LAUNCH,),
        "Without a volumeClaim checkpoints are kept on the node: under `path`, or if it is absent,"
        " under `MILLRACE_CHECKPOINT_PATH` of pod-state-machine.",
    ),
    "checkpointRepository.redis": FieldNote(
        _O.BOTH,
        (),
        "The servers are looked up once, before the first plan, and kept in the Job's status, with"
        " which every pod is launched: an edit later changes none.",
    ),
    "appPropertiesSecret": _LAUNCHED,
    "restrictedPropertiesSecret": _LAUNCHED,
    "podTemplate": FieldNote(
        _O.OURS,
        (_M.LAUNCH,),
        "Laid over the pod: what it says beside millrace's fields is added, what it says of them is"
        " refused ([docs/adr/0008](adr/0008-pod-templates.md)).",
    ),
    "id": FieldNote(_O.ORIGINAL, (_M.LAUNCH,), "It names the pod; the API server refuses edits."),
    "contentId": FieldNote(
        _O.ORIGINAL,
        (_M.AT_ONCE, _M.LAUNCH),
        "fusion-backend puts that of the plan back, and changes it in a resize.",
    ),
    "launchCount": FieldNote(
        _O.ORIGINAL,
        (_M.AT_ONCE,),
        "Lowered, it does nothing; `status.launchCount` never falls. A new value of the annotation"
        " `streams.ibm.com/restart` launches the PE again, too, once for each value.",
    ),
    "placement": FieldNote(_O.ORIGINAL, (_M.LAUNCH,)),
    "placement.isolations": FieldNote(_O.OURS, (_M.LAUNCH,)),
    "placement.topologyKey": FieldNote(_O.OURS, (_M.LAUNCH,)),
    "placement.required": FieldNote(_O.OURS, (_M.LAUNCH,)),
    "placement.nodeName": FieldNote(_O.OURS, (_M.LAUNCH,)),
    "operators": FieldNote(_O.ORIGINAL, (), "For people; a resize writes them again."),
    "regions": _OPERATORS_OWN,
    "connectivity": _OPERATORS_OWN,
    "job": FieldNote(_O.OURS, (), "For people: the label `streams.ibm.com/job` counts."),
    "generation": FieldNote(_O.OURS, (_M.LAUNCH,), "A launch copies it into pod and status."),
    "serviceName": FieldNote(
        _O.OURS,
        (_M.LAUNCH,),
        "PEs of jobs with `services: PerJob` have it: their pods get a host name and a subdomain."
        " Edited by hand, it is put right.",
    ),
    "pack": FieldNote(
        _O.OURS,
        (_M.LAUNCH,),
        "It changes with `contentId`, and is no reason for a launch of its own. Edited by hand, it"
        " is put right.",
    ),
    "startsLast": FieldNote(
        _O.OURS,
        (_M.LAUNCH,),
        "The first launch alone. PEs have it that a resize added where the nodes may not have room"
        " for all; set to false, the pod is made at once.",
    ),
    "resizesInPlace": FieldNote(
        _O.OURS,
        (_M.AT_ONCE,),
        "PEs have it whose share of the Job's resources a resize changed, and nothing else. While"
        " it is true, cpu and memory of `resources` are put in force in the pod that runs.",
    ),
}

OTHER_NAMES: Final[Mapping[str, str]] = {
    "bundleName": "sabName",
    "checkpointDataStore": "checkpointRepository",
}
"""Fields of a ProcessingElement that are another name of one: original's name, seed's name."""


def nearest(notes: Mapping[str, T], path: str) -> T | None:
    """The note of a field, such as `parallelRegions[].alias`, or of its parent, or None."""
    return next((notes[each] for each in _upwards(path) if each in notes), None)


def _upwards(path: str) -> Iterator[str]:
    steps = path.split(".")
    for end in range(len(steps), 0, -1):
        yield ".".join(steps[:end]).removesuffix("[]")
