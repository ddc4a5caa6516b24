"""The volumes of a pod and their mount paths: one row a volume, in the order of the pod."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from contracts import labels
from contracts.resources.checkpoint_store import CHECKPOINT_PATH
from contracts.resources.fields import VolumeClaim
from contracts.resources.pod_template import TOKEN_PATH
from services.pod_state_machine.core.pod_inputs import Launch, PodImpossible

Json = dict[str, Any]

TOKEN_AUDIENCE: Final = "streams-api"  # noqa: S105  for whom the token is
TOKEN_FILE: Final = "token"  # noqa: S105  the name of a file
TOKEN_SECONDS: Final = 3_600
"""The kubelet puts another one there after four fifths of it."""


class Mounted(NamedTuple):
    """A volume of a launch: its source, and the path in it that is mounted.

    `at` is where it is mounted; empty where the row of the volume says so.
    """

    source: Json
    sub_path: str = ""
    at: str = ""
    is_read_only: bool = False


def _pe_config(launch: Launch) -> Mounted:
    """The AADL of the PE, and nothing else of the pack that it is in."""
    pe = launch.pe
    only = {"items": [{"key": pe.pack[1], "path": labels.AADL_KEY}]} if pe.pack else {}
    return Mounted({"configMap": {"name": pe.config_map, **only}})


def _job_config(launch: Launch) -> Mounted:
    """The job's ConfigMap; with the job's certificate and key if PEs use TLS."""
    if not launch.spec.is_encrypted:
        return Mounted({"configMap": {"name": launch.pe.job}})
    files = [{"key": key, "path": key} for key in (labels.CERTIFICATE_KEY, labels.PRIVATE_KEY_KEY)]
    sources = [
        {"configMap": {"name": launch.pe.job}},
        {"secret": {"name": launch.job.certificate_secret, "items": files}},
    ]
    return Mounted({"projected": {"sources": sources}})


def _token(_launch: Launch) -> Mounted:
    """The token by which pe-gateway knows the pod: bound to it, and good for nothing else."""
    token = {
        "audience": TOKEN_AUDIENCE,
        "expirationSeconds": TOKEN_SECONDS,
        "path": TOKEN_FILE,
    }
    return Mounted({"projected": {"sources": [{"serviceAccountToken": token}]}}, is_read_only=True)


def _data(launch: Launch) -> Mounted | None:
    spec = launch.spec
    return _claim_or_path(spec.data_volume_claim, spec.data_path or launch.runtime.data_path)


def _checkpoints(launch: Launch) -> Mounted | None:
    store = launch.spec.checkpoints
    if store is None or store.file_system is None:
        return None
    files = store.file_system
    source = _claim_or_path(files.volume_claim, files.path or launch.runtime.checkpoint_path)
    if source is None:
        why = "give a path or a volumeClaim: pod-state-machine has no MILLRACE_CHECKPOINT_PATH"
        raise PodImpossible(f"{_place_of_checkpoints(launch)}.path", files.path, why)
    return source._replace(at=files.mount_path)


def _place_of_checkpoints(launch: Launch) -> str:
    """The field of the spec that says where checkpoints are, under the name that it has there."""
    is_original = launch.spec.checkpoint_repository is None
    name = "checkpointDataStore" if is_original else "checkpointRepository"
    return f"spec.{name}.fileSystem"


def _app_properties(launch: Launch) -> Mounted | None:
    return _secret(launch.spec.app_properties_secret)


def _restricted_properties(launch: Launch) -> Mounted | None:
    return _secret(launch.spec.restricted_properties_secret)


def _claim_or_path(claim: VolumeClaim | None, path: str) -> Mounted | None:
    if claim is not None:
        return Mounted({"persistentVolumeClaim": {"claimName": claim.name}}, claim.sub_path or "")
    return Mounted({"hostPath": {"path": path, "type": ""}}) if path else None


def _secret(name: str | None) -> Mounted | None:
    return Mounted({"secret": {"secretName": name}}) if name else None


VOLUMES: Final[tuple[tuple[str, str, Callable[[Launch], Mounted | None]], ...]] = (
    ("pe-config-volume", "/etc/config/pe", _pe_config),
    ("job-config-volume", "/etc/config/job", _job_config),
    ("streams-api-token-volume", TOKEN_PATH, _token),
    ("data-volume", "/data", _data),
    ("checkpoint-volume", CHECKPOINT_PATH, _checkpoints),
    ("app-properties-secret-volume", "/etc/config/app", _app_properties),
    ("restricted-properties-secret-volume", "/etc/config/restricted", _restricted_properties),
)
"""Name, mount path and source; the source is None if a launch does not need the volume."""


def volumes_and_mounts(launch: Launch) -> tuple[list[Json], list[Json]]:
    """Volumes and their mounts, in the same order. Raises PodImpossible."""
    volumes: list[Json] = []
    mounts: list[Json] = []
    for name, path, of in VOLUMES:
        mounted = of(launch)
        if mounted is None:
            continue
        volumes.append({"name": name, **mounted.source})
        within = {"subPath": mounted.sub_path} if mounted.sub_path else {}
        access = {"readOnly": True} if mounted.is_read_only else {}
        mounts.append({"name": name, "mountPath": mounted.at or path, **within, **access})
    _check_checkpoints(launch, mounts)
    return volumes, mounts


def _check_checkpoints(launch: Launch, mounts: list[Json]) -> None:
    """The one mount path that a spec chooses must not be that of another volume."""
    paths = [posixpath.normpath(each["mountPath"]) for each in mounts]
    store = launch.spec.checkpoints
    path = store.file_system.path if store and store.file_system else None
    if path and paths.count(posixpath.normpath(path)) > 1:
        why = "another volume of the PE is mounted there"
        raise PodImpossible(f"{_place_of_checkpoints(launch)}.path", path, why)
