"""Makes the pod of a launch: a pure function of PE, job, launch number and the runtime's settings.

The names of environment variables, files, volumes and paths are those that the runtime image of
open-source IBM Streams reads. When a pod is made is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contracts import labels
from contracts.resources.fields import API_VERSION, VolumeClaim
from contracts.resources.processing_element import (
    BuildType,
    CheckpointStore,
    ProcessingElementSpec,
)
from services.pod_state_machine.core.snapshot import Job, Pe

RUN_AS_USER = 2098
RUN_AS_GROUP = 2015
INSTALL = "/usr/local/streams"
BOOTSTRAP = f"{INSTALL}/system/impl/bin/streams-k8s-bootstrap"
LIVE_FILE = "/tmp/live"  # noqa: S108  the runtime image creates it
CONTAINER = "pe"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RuntimeImage:
    """Where the runtime image is, and what pods fall back to (empty paths: nothing is mounted)."""

    registry: str = "docker.io"
    repository: str = "openstreams"
    data_path: str = ""
    checkpoint_path: str = ""


def pod_of_launch(pe: Pe, job: Job, launch: int, runtime: RuntimeImage) -> Json:
    """The manifest of one launch; raises ValueError for a spec that no schema has seen."""
    spec = ProcessingElementSpec.model_validate(pe.spec)
    volumes, mounts = _volumes(pe, spec, runtime)
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(pe, launch),
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsUser": RUN_AS_USER,
                "runAsGroup": RUN_AS_GROUP,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "dnsConfig": {"options": [{"name": "single-request-reopen"}]},
            "containers": [_container(pe, job, spec, launch, runtime) | {"volumeMounts": mounts}],
            "volumes": volumes,
        },
    }
    secret = spec.image_pull_secret or job.image_pull_secret
    if secret:
        body["spec"]["imagePullSecrets"] = [{"name": secret}]
    return body


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
        "annotations": {labels.CONTENT_ID: pe.content_id},
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


def _container(
    pe: Pe, job: Job, spec: ProcessingElementSpec, launch: int, runtime: RuntimeImage
) -> Json:
    return {
        "name": CONTAINER,
        "image": _image(spec, runtime),
        "imagePullPolicy": spec.image_pull_policy or job.image_pull_policy or "IfNotPresent",
        "args": [BOOTSTRAP],
        "env": _environment(pe, job, spec, launch),
        "livenessProbe": {
            "exec": {"command": ["cat", LIVE_FILE]},
            "initialDelaySeconds": spec.initial_probe_delay_in_seconds,
            "periodSeconds": spec.probe_interval_in_seconds,
            "failureThreshold": spec.probe_failure_threshold,
        },
        "resources": spec.resources.model_dump(exclude_none=True),
        "securityContext": _privileges(spec),
    }


def _image(spec: ProcessingElementSpec, runtime: RuntimeImage) -> str:
    if spec.image:
        return spec.image
    build = BuildType.DEBUG if spec.run_with_valgrind else spec.build_type
    return f"{runtime.registry}/{runtime.repository}/streams-runtime:6.{build}"


def _privileges(spec: ProcessingElementSpec) -> Json:
    """Nothing may be gained, unless a debugger must attach: its capabilities are a gain."""
    if spec.allow_ptrace or spec.run_with_valgrind:
        return {"capabilities": {"add": ["SYS_ADMIN", "SYS_PTRACE"]}}
    return {"allowPrivilegeEscalation": False}


def _environment(
    pe: Pe, job: Job, spec: ProcessingElementSpec, launch: int
) -> list[dict[str, str]]:
    values = {
        "STREAMS_DOMAIN_ID": "kubernetes",
        "STREAMS_INITIAL_TRACE_LEVEL": spec.runtime_trace_level,
        "STREAMS_INSTALL": INSTALL,
        "STREAMS_INSTANCE_ID": pe.namespace,
        "STREAMS_JOB_NAME": pe.job,
        "STREAMS_NS": "K8S:",
        "STREAMS_PE_ID": str(pe.id),
        "STREAMS_PE_LAUNCH_COUNT": str(launch),
        "STREAMS_PE_NAME": pe.name,
        "STREAMS_PE_USE_VALGRIND": "true" if spec.run_with_valgrind else "false",
        "STREAMS_SAB_NAME": spec.bundle or job.bundle,
        "STREAMS_TRANSPORT_SECURITY_TYPE": spec.transport_security_type,
    }
    if spec.app_trace_level:
        values["STREAMS_APP_TRACE_LEVEL"] = spec.app_trace_level
    if spec.checkpoints is not None:
        values["STREAMS_CHECKPOINT_REPOSITORY"] = "fileSystem"
        values["STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION"] = '{ "Dir" : "/checkpoint" }'
    return [{"name": name, "value": value} for name, value in values.items()]


# --------------------------------------------------------------------------- volumes


def _volumes(
    pe: Pe, spec: ProcessingElementSpec, runtime: RuntimeImage
) -> tuple[list[Json], list[Json]]:
    """Volumes and their mounts, in the same order."""
    pe_config = labels.pe_config_map_name(pe.job, pe.id, pe.content_id)
    mounted: list[tuple[str, Json, str, VolumeClaim | None]] = [
        ("pe-config-volume", _config_map(pe_config), "/etc/config/pe", None),
        ("job-config-volume", _config_map(pe.job), "/etc/config/job", None),
    ]
    data = _claim_or_path(spec.data_volume_claim, spec.data_path or runtime.data_path)
    if data:
        mounted.append(("data-volume", data, "/data", spec.data_volume_claim))
    checkpoint, claim = _checkpoint(spec.checkpoints, runtime)
    if checkpoint:
        mounted.append(("checkpoint-volume", checkpoint, "/checkpoint", claim))
    for name, secret, path in (
        ("app-properties-secret-volume", spec.app_properties_secret, "/etc/config/app"),
        (
            "restricted-properties-secret-volume",
            spec.restricted_properties_secret,
            "/etc/config/restricted",
        ),
    ):
        if secret:
            mounted.append((name, {"secret": {"secretName": secret}}, path, None))
    volumes = [{"name": name, **source} for name, source, _, _ in mounted]
    mounts = [_mount(name, path, claim) for name, _, path, claim in mounted]
    return volumes, mounts


def _config_map(name: str) -> Json:
    return {"configMap": {"name": name}}


def _checkpoint(
    store: CheckpointStore | None, runtime: RuntimeImage
) -> tuple[Json | None, VolumeClaim | None]:
    if store is None or store.file_system is None:
        return None, None
    files = store.file_system
    return _claim_or_path(files.volume_claim, files.path or runtime.checkpoint_path), (
        files.volume_claim
    )


def _claim_or_path(claim: VolumeClaim | None, path: str) -> Json | None:
    if claim is not None:
        return {"persistentVolumeClaim": {"claimName": claim.name}}
    return {"hostPath": {"path": path, "type": ""}} if path else None


def _mount(name: str, path: str, claim: VolumeClaim | None) -> Json:
    mount = {"name": name, "mountPath": path}
    if claim is not None and claim.sub_path:
        mount["subPath"] = claim.sub_path
    return mount
