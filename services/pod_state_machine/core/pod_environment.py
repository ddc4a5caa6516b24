"""The environment variables of the container `pe`: one row each, in the order of the pod.

Those that begin with STREAMS_ are read by the image of the original and by ours, those that begin
with MILLRACE_ by ours only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from contracts.runtime_image import INSTALL
from services.pod_state_machine.core.pod_inputs import Launch

Json = dict[str, Any]
Source = Mapping[str, Any]
"""Where the kubelet finds a value, in the form of `valueFrom`."""
Value = Callable[[Launch], str | Source | None]

_POD_IP: Final[Source] = {"fieldRef": {"fieldPath": "status.podIP"}}


def _checkpoint_repository(launch: Launch) -> str | None:
    store = launch.spec.checkpoints
    if store is None:
        return None
    return "fileSystem" if store.redis is None else "redis"


def _checkpoint_configuration(launch: Launch) -> str | None:
    store = launch.spec.checkpoints
    if store is None:
        return None
    if store.file_system is None:
        return launch.job.redis_config
    return f'{{ "Dir" : {json.dumps(store.file_system.mount_path)} }}'


def _domain(launch: Launch) -> str | None:
    """Where PEs of the job are found in the DNS: PE n is `STREAMS_JOB_NAME-n` in this domain.

    None where each PE has a Service, as the original expects it.
    """
    service = launch.spec.service_name
    return f"{service}.{launch.pe.namespace}.svc" if service else None


VARIABLES: Final[tuple[tuple[str, Value], ...]] = (
    ("STREAMS_DOMAIN_ID", lambda _: "kubernetes"),
    ("STREAMS_INITIAL_TRACE_LEVEL", lambda launch: launch.spec.runtime_trace_level),
    ("STREAMS_INSTALL", lambda _: INSTALL),
    ("STREAMS_INSTANCE_ID", lambda launch: launch.pe.namespace),
    ("STREAMS_JOB_NAME", lambda launch: launch.pe.job),
    ("STREAMS_NS", lambda _: "K8S:"),
    ("STREAMS_PE_DOMAIN", _domain),
    ("STREAMS_PE_ID", lambda launch: str(launch.pe.id)),
    ("STREAMS_PE_LAUNCH_COUNT", lambda launch: str(launch.number)),
    ("STREAMS_PE_NAME", lambda launch: launch.pe.name),
    ("STREAMS_PE_USE_VALGRIND", lambda launch: str(launch.spec.run_with_valgrind).lower()),
    ("STREAMS_SAB_NAME", lambda launch: launch.spec.bundle or launch.job.bundle),
    ("STREAMS_TRANSPORT_SECURITY_TYPE", lambda launch: launch.spec.transport_security_type),
    ("MILLRACE_GATEWAY_URL", lambda launch: launch.runtime.gateway_url or None),
    ("MILLRACE_JOB_UID", lambda launch: launch.pe.job_uid),
    ("MILLRACE_POD_IP", lambda _: _POD_IP),
    ("MILLRACE_GENERATION", lambda launch: str(launch.pe.generation or 0)),
    ("MILLRACE_HAND_OVER_SECONDS", lambda launch: str(launch.job.hand_over_s)),
    ("STREAMS_APP_TRACE_LEVEL", lambda launch: launch.spec.app_trace_level or None),
    ("STREAMS_CHECKPOINT_REPOSITORY", _checkpoint_repository),
    ("STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION", _checkpoint_configuration),
)
"""A variable whose value is None is left out."""


def environment(launch: Launch) -> list[Json]:
    """The `env` of the container `pe`."""
    values = ((name, value_of(launch)) for name, value_of in VARIABLES)
    return [_variable(name, value) for name, value in values if value is not None]


def _variable(name: str, value: str | Source) -> Json:
    return {"name": name, "value" if isinstance(value, str) else "valueFrom": value}
