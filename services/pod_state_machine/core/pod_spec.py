"""Makes the pod of a launch: a pure function of PE, job, launch number and the runtime's settings.

The names of environment variables, files, volumes and paths are those that the runtime image of
open-source IBM Streams reads. `pod_environment.py` has the variables, `pod_volumes.py` the volumes,
`pod_placement.py` affinity and tolerations; `pod_merging.py` lays the user's template over it all.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from contracts import labels
from contracts.resources.fields import API_VERSION
from contracts.resources.processing_element import BuildType, ProcessingElementSpec
from contracts.runtime_image import BOOTSTRAP, is_our_runtime
from services.pod_state_machine.core.pod_environment import environment
from services.pod_state_machine.core.pod_inputs import Launch, PodImpossible, RuntimeImage
from services.pod_state_machine.core.pod_merging import merged
from services.pod_state_machine.core.pod_placement import in_place
from services.pod_state_machine.core.pod_volumes import volumes_and_mounts
from services.pod_state_machine.core.rounding import in_whole_bytes
from services.pod_state_machine.core.snapshot import Assignment, Job, Pe

RUN_AS_USER: Final = 2098
RUN_AS_GROUP: Final = 2015
LIVE_FILE: Final = "/tmp/live"  # noqa: S108  the runtime image creates it
GRACE_S: Final = 30
"""How long a pod may take to end by default (Kubernetes)."""
ENDS_IN_S: Final = 5
"""How long a PE may take to end after its state is saved."""
PROBE_TIMEOUT_S: Final = 5
"""For our runtime. Three failures of it outlast ten seconds in which nothing begins."""
PROBE_FAILURES: Final = 3
"""For our runtime: probes in a row."""
PROBE_FAILURES_OF_OTHERS: Final = 1
"""As in the original. Earlier releases wrote it into PEs of every image, as a default."""
DEBUGGERS_NEED: Final = "SYS_PTRACE"

Json = dict[str, Any]

__all__ = ["PodImpossible", "RuntimeImage", "pod_of_launch"]


def pod_of_launch(
    pe: Pe, job: Job, launch: int, runtime: RuntimeImage, place: Assignment | None = None
) -> Json:
    """The manifest of one launch. Raises PodImpossible, with field and value."""
    made = Launch(pe, job, _spec(pe), launch, runtime, place)
    volumes, mounts = volumes_and_mounts(made)
    container = _container(made) | {"volumeMounts": mounts}
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(pe, launch),
        "spec": {
            "restartPolicy": "Never",
            **_host_name(made),
            **_grace(made),
            "securityContext": {"runAsUser": RUN_AS_USER, "runAsGroup": RUN_AS_GROUP},
            "dnsConfig": {"options": [{"name": "single-request-reopen"}]},
            "containers": [container],
            "volumes": volumes,
        },
    }
    secret = made.spec.image_pull_secret or job.image_pull_secret
    if secret:
        body["spec"]["imagePullSecrets"] = [{"name": secret}]
    return merged(in_place(body, made), pe.spec.get("podTemplate"))


def _host_name(launch: Launch) -> Json:
    """The name of the pod in the Service of its job; nothing where each PE has a Service."""
    pe, service = launch.pe, launch.spec.service_name
    return {"hostname": labels.pe_name(pe.job, pe.id), "subdomain": service} if service else {}


def _grace(launch: Launch) -> Json:
    """How long the pod may take to end: our runtime saves its state, other images need no more.

    Nothing where the template says it, or where Kubernetes gives as much.
    """
    template = launch.pe.spec.get("podTemplate") or {}
    seconds = launch.job.hand_over_s + ENDS_IN_S
    is_given = (template.get("spec") or {}).get("terminationGracePeriodSeconds") is not None
    if is_given or seconds <= GRACE_S or not is_our_runtime(_image(launch)):
        return {}
    return {"terminationGracePeriodSeconds": seconds}


def _spec(pe: Pe) -> ProcessingElementSpec:
    try:
        return ProcessingElementSpec.model_validate(pe.spec)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(("spec", *map(str, first["loc"])))
        raise PodImpossible(field, first.get("input"), first["msg"]) from problem


def _metadata(pe: Pe, launch: int) -> Json:
    return {
        "name": labels.pod_name(pe.job, pe.id, pe.uid, launch),
        "namespace": pe.namespace,
        "labels": {
            **pe.labels,
            labels.APP: labels.APP_VALUE,
            labels.SERVICE_ROLE: labels.ROLE_PE,
            labels.JOB: pe.job,
            labels.JOB_UID: pe.job_uid,
            labels.PE: str(pe.id),
            labels.LAUNCH_COUNT: str(launch),
        },
        "annotations": {
            labels.CONTENT_ID: pe.content_id,
            **({labels.PACK: pe.pack[0]} if pe.pack else {}),
            **({labels.RESTART: pe.restart} if pe.restart else {}),
        },
        "ownerReferences": [
            {
                "apiVersion": API_VERSION,
                "kind": "ProcessingElement",
                "name": pe.name,
                "uid": pe.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def _container(launch: Launch) -> Json:
    spec = launch.spec
    return {
        "name": labels.PE_CONTAINER,
        "image": _image(launch),
        "imagePullPolicy": spec.image_pull_policy or launch.job.image_pull_policy or "IfNotPresent",
        "args": [BOOTSTRAP],
        "env": environment(launch),
        "livenessProbe": _liveness(launch),
        "resources": in_whole_bytes(spec.resources.model_dump(exclude_none=True)),
        "securityContext": _privileges(spec),
    }


def _liveness(launch: Launch) -> Json:
    """The probe of the file that the runtime keeps while it is alive.

    Where a node is busy, to begin `cat` takes longer than the second that Kubernetes gives. Our
    runtime removes the file itself once its loop hangs, so one slow probe says nothing: a PE that
    is killed loses what it has in hand. Other images get what the original gave them.
    """
    spec, is_ours = launch.spec, is_our_runtime(_image(launch))
    timeout_s = spec.probe_timeout_in_seconds or (PROBE_TIMEOUT_S if is_ours else None)
    return {
        "exec": {"command": ["cat", LIVE_FILE]},
        "initialDelaySeconds": spec.initial_probe_delay_in_seconds,
        "periodSeconds": spec.probe_interval_in_seconds,
        **({"timeoutSeconds": timeout_s} if timeout_s else {}),
        "failureThreshold": _probe_failures(spec, is_ours=is_ours),
    }


def _probe_failures(spec: ProcessingElementSpec, *, is_ours: bool) -> int:
    """After how many failures in a row a PE is killed.

    For our runtime a 1 counts only beside a timeout: alone it is a default of an earlier release.
    """
    given = spec.probe_failure_threshold
    if not is_ours:
        return given or PROBE_FAILURES_OF_OTHERS
    is_default = given == PROBE_FAILURES_OF_OTHERS and spec.probe_timeout_in_seconds is None
    return PROBE_FAILURES if given is None or is_default else given


def _image(launch: Launch) -> str:
    """The image of the PE, else that of the runtime; only the debug build has valgrind."""
    spec, runtime = launch.spec, launch.runtime
    if spec.image:
        return spec.image
    build = BuildType.DEBUG if spec.run_with_valgrind else spec.build_type or runtime.build_type
    return f"{runtime.registry}/{runtime.repository}/streams-runtime:6.{build}"


def _privileges(spec: ProcessingElementSpec) -> Json:
    """No privilege escalation, unless a debugger must attach.

    A process that is not root gets the debugger's capability from its executable, which is an
    escalation: where it is forbidden, gdb attaches to nothing.
    """
    if spec.allow_ptrace or spec.run_with_valgrind:
        return {"capabilities": {"add": [DEBUGGERS_NEED]}}
    return {"allowPrivilegeEscalation": False}
