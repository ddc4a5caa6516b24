"""The pods that PEs get, written down once: the default, and what each option changes of it.

`tests/unit/pod_state_machine` holds the manifest to it word for word, `tests/e2e/test_pod_specs.py`
the pods of a running system, to which API servers add defaults of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts import labels

Json = dict[str, Any]
Path = tuple[str | int, ...]

REDIS_CONFIG = (
    '{"replicas": 1, "shards": 1, "replicaGroups": '
    '[{"servers": ["localhost:6379:password"], "description": "localhost#0"}]}'
)
TOKEN = {
    "serviceAccountToken": {
        "audience": "streams-api",
        "expirationSeconds": 3600,
        "path": "token",
    }
}
IMAGE = "docker.io/openstreams/streams-runtime:6"
CONTAINER: Json = {
    "name": "pe",
    "image": f"{IMAGE}.debug",
    "imagePullPolicy": "Always",
    "args": ["/usr/local/streams/system/impl/bin/streams-k8s-bootstrap"],
    "livenessProbe": {
        "exec": {"command": ["cat", "/tmp/live"]},
        "initialDelaySeconds": 30,
        "periodSeconds": 10,
        "failureThreshold": 1,
    },
    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    "securityContext": {"allowPrivilegeEscalation": False},
    "volumeMounts": [
        {"name": "pe-config-volume", "mountPath": "/etc/config/pe"},
        {"name": "job-config-volume", "mountPath": "/etc/config/job"},
        {
            "name": "streams-api-token-volume",
            "mountPath": "/var/run/secrets/streams-api",
            "readOnly": True,
        },
    ],
}


def golden_spec(
    job: str,
    pe_id: int,
    *,
    content_id: str,
    bundle: str,
    job_uid: str,
    launch: int = 1,
    pack: Json | None = None,
    generation: int = 0,
) -> Json:
    """The spec of the pod of a default PE; without a pack as a release without packs made it."""
    aadl = _aadl(pack) if pack else {"name": labels.pe_config_map_name(job, pe_id, content_id)}
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsUser": 2098,
            "runAsGroup": 2015,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "dnsConfig": {"options": [{"name": "single-request-reopen"}]},
        "containers": [
            {**CONTAINER, "env": environment(job, pe_id, bundle, launch, job_uid, generation)},
        ],
        "volumes": [
            {"name": "pe-config-volume", "configMap": aadl},
            {"name": "job-config-volume", "configMap": {"name": job}},
            {"name": "streams-api-token-volume", "projected": {"sources": [TOKEN]}},
        ],
    }


def _aadl(pack: Json) -> Json:
    return {"name": pack["name"], "items": [{"key": pack["key"], "path": "aadl.xml"}]}


def environment(
    job: str, pe_id: int, bundle: str, launch: int, job_uid: str, generation: int = 0
) -> list[Json]:
    """The variables of a default PE, in their order."""
    values = {
        "STREAMS_DOMAIN_ID": "kubernetes",
        "STREAMS_INITIAL_TRACE_LEVEL": "INFO",
        "STREAMS_INSTALL": "/usr/local/streams",
        "STREAMS_INSTANCE_ID": "default",
        "STREAMS_JOB_NAME": job,
        "STREAMS_NS": "K8S:",
        "STREAMS_PE_ID": str(pe_id),
        "STREAMS_PE_LAUNCH_COUNT": str(launch),
        "STREAMS_PE_NAME": f"{job}-{pe_id}",
        "STREAMS_PE_USE_VALGRIND": "false",
        "STREAMS_SAB_NAME": bundle,
        "STREAMS_TRANSPORT_SECURITY_TYPE": "none",
    }
    return [
        *(variable(name, value) for name, value in values.items()),
        variable("MILLRACE_JOB_UID", job_uid),
        {"name": "MILLRACE_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        variable("MILLRACE_GENERATION", str(generation)),
        variable("MILLRACE_HAND_OVER_SECONDS", "30"),
    ]


def in_service_of_job(spec: Json, job: str, pe_id: int) -> Json:
    """The spec of a pod that has its host name in the Service of its job."""
    service = f"{job}-pes"
    found = copy.deepcopy(spec) | {"hostname": f"{job}-{pe_id}", "subdomain": service}
    variables = found["containers"][0]["env"]
    before = next(n for n, each in enumerate(variables) if each["name"] == "STREAMS_PE_ID")
    variables.insert(before, variable("STREAMS_PE_DOMAIN", f"{service}.default.svc"))
    return found


def variable(name: str, value: str) -> Json:
    """One of the environment."""
    return {"name": name, "value": value}


@dataclass(frozen=True)
class Variant:
    """An option: what a PE's spec says, and what that changes of the golden pod.

    `sets` are values at a path, `adds` what is appended to the list at a path, `drops` paths of
    which nothing is left. `{job}` in a text is the job's name.
    """

    spec: Json
    sets: Mapping[Path, Any] = field(default_factory=dict)
    adds: Mapping[Path, list[Any]] = field(default_factory=dict)
    drops: tuple[Path, ...] = ()

    def applied(self, golden: Json, job: str) -> Json:
        """The spec of the pod of a PE with this option."""
        changed = copy.deepcopy(golden)
        for path, value in self.sets.items():
            _holder(changed, path)[path[-1]] = named(value, job)
        for path, more in self.adds.items():
            holder = _holder(changed, path)
            holder[path[-1]] = [*(holder.get(path[-1]) or []), *named(more, job)]
        for path in self.drops:
            del _holder(changed, path)[path[-1]]
        return changed


def _holder(value: Any, path: Path) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


def named(value: Any, job: str) -> Any:
    """The same with the job's name in its texts."""
    if isinstance(value, str):
        return value.replace("{job}", job)
    if isinstance(value, list):
        return [named(each, job) for each in value]
    if isinstance(value, dict):
        return {key: named(each, job) for key, each in value.items()}
    return value


PE: Path = ("containers", 0)
ENV: Path = (*PE, "env")
MOUNTS: Path = (*PE, "volumeMounts")
VOLUMES: Path = ("volumes",)
DEBUGGED: Json = {"capabilities": {"add": ["SYS_PTRACE"]}}


def _mounted(name: str, path: str, source: Json, **within: str) -> Mapping[Path, list[Any]]:
    mount = {"name": name, "mountPath": path, **within}
    return {VOLUMES: [{"name": name, **source}], MOUNTS: [mount]}


def _host_path(path: str) -> Json:
    return {"hostPath": {"path": path, "type": ""}}


def _claim(name: str) -> Json:
    return {"persistentVolumeClaim": {"claimName": name}}


def _checkpoints(
    source: Json, path: str = "/checkpoint", **within: str
) -> Mapping[Path, list[Any]]:
    variables = [
        variable("STREAMS_CHECKPOINT_REPOSITORY", "fileSystem"),
        variable("STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION", f'{{ "Dir" : "{path}" }}'),
    ]
    return {ENV: variables, **_mounted("checkpoint-volume", path, source, **within)}


TRANSPORT = {
    "projected": {
        "sources": [
            {"configMap": {"name": "{job}"}},
            {
                "secret": {
                    "name": "{job}.transport",
                    "items": [
                        {"key": "transport.cert", "path": "transport.cert"},
                        {"key": "transport.key", "path": "transport.key"},
                    ],
                }
            },
        ]
    }
}
REDIS: Json = {
    "service": "localhost",
    "replicaCount": 1,
    "shardCount": 1,
    "restrictedProperty": "password",
}

VARIANTS: Mapping[str, Variant] = {
    "default": Variant({}),
    "ptrace": Variant({"allowPtrace": True}, {(*PE, "securityContext"): DEBUGGED}),
    "valgrind": Variant(
        {"runWithValgrind": True, "buildType": "release"},
        {
            (*PE, "securityContext"): DEBUGGED,
            (*ENV, 9): variable("STREAMS_PE_USE_VALGRIND", "true"),
        },
    ),
    "application's trace level": Variant(
        {"appTraceLevel": "DEBUG"}, adds={ENV: [variable("STREAMS_APP_TRACE_LEVEL", "DEBUG")]}
    ),
    "runtime's trace level": Variant(
        {"runtimeTraceLevel": "TRACE"},
        {(*ENV, 1): variable("STREAMS_INITIAL_TRACE_LEVEL", "TRACE")},
    ),
    "image of our runtime": Variant(
        {"image": "here:5000/millrace/runtime:1"},
        {
            (*PE, "image"): "here:5000/millrace/runtime:1",
            ("terminationGracePeriodSeconds",): 35,
            (*PE, "livenessProbe", "timeoutSeconds"): 5,
            (*PE, "livenessProbe", "failureThreshold"): 3,
        },
    ),
    "image": Variant({"image": "mine:1", "buildType": "release"}, {(*PE, "image"): "mine:1"}),
    "build type": Variant({"buildType": "release"}, {(*PE, "image"): f"{IMAGE}.release"}),
    "pull policy and secret": Variant(
        {"imagePullPolicy": "Never", "imagePullSecret": "mine"},
        {(*PE, "imagePullPolicy"): "Never", ("imagePullSecrets",): [{"name": "mine"}]},
    ),
    "bundle": Variant(
        {"sabName": "other.sab"}, {(*ENV, 10): variable("STREAMS_SAB_NAME", "other.sab")}
    ),
    "probe": Variant(
        {
            "initialProbeDelayInSeconds": 3,
            "probeIntervalInSeconds": 4,
            "probeFailureThreshold": 5,
        },
        {
            (*PE, "livenessProbe", "initialDelaySeconds"): 3,
            (*PE, "livenessProbe", "periodSeconds"): 4,
            (*PE, "livenessProbe", "failureThreshold"): 5,
        },
    ),
    "timeout of the probe": Variant(
        {"probeTimeoutInSeconds": 6}, {(*PE, "livenessProbe", "timeoutSeconds"): 6}
    ),
    "resources": Variant(
        {"resources": {"limits": {"cpu": "4", "memory": "16Gi"}, "requests": {"cpu": "1"}}},
        {
            (*PE, "resources"): {
                "limits": {"cpu": "4", "memory": "16Gi"},
                "requests": {"cpu": "1"},
            }
        },
    ),
    "data path": Variant(
        {"dataPath": "/d"}, adds=_mounted("data-volume", "/data", _host_path("/d"))
    ),
    "data claim": Variant(
        {"dataVolumeClaim": {"name": "disk", "subPath": "a/b"}, "dataPath": "/d"},
        adds=_mounted("data-volume", "/data", _claim("disk"), subPath="a/b"),
    ),
    "checkpoints in a file system": Variant(
        {"checkpointRepository": {"fileSystem": {}}}, adds=_checkpoints(_host_path("/checkpoint"))
    ),
    "checkpoints under a path": Variant(
        {"checkpointDataStore": {"fileSystem": {"path": "/c"}}},
        adds=_checkpoints(_host_path("/c"), "/c"),
    ),
    "checkpoints on a claim": Variant(
        {
            "checkpointRepository": {
                "fileSystem": {"path": "/c", "volumeClaim": {"name": "disk", "subPath": "s"}}
            }
        },
        adds=_checkpoints(_claim("disk"), "/c", subPath="s"),
    ),
    "checkpoints in redis": Variant(
        {"checkpointRepository": {"redis": REDIS}},
        adds={
            ENV: [
                variable("STREAMS_CHECKPOINT_REPOSITORY", "redis"),
                variable("STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION", REDIS_CONFIG),
            ]
        },
    ),
    "application's properties": Variant(
        {"appPropertiesSecret": "open"},
        adds=_mounted(
            "app-properties-secret-volume", "/etc/config/app", {"secret": {"secretName": "open"}}
        ),
    ),
    "restricted properties": Variant(
        {"restrictedPropertiesSecret": "closed"},
        adds=_mounted(
            "restricted-properties-secret-volume",
            "/etc/config/restricted",
            {"secret": {"secretName": "closed"}},
        ),
    ),
    "TLS": Variant(
        {"transportSecurityType": "TLSv1.2"},
        {
            (*ENV, 11): variable("STREAMS_TRANSPORT_SECURITY_TYPE", "TLSv1.2"),
            (*VOLUMES, 1): {"name": "job-config-volume", **TRANSPORT},
        },
    ),
    "pod template": Variant(
        {
            "podTemplate": {
                "metadata": {"labels": {"team": "a"}, "annotations": {"example.com/b": "c"}},
                "spec": {
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "tolerations": [{"key": "spot", "operator": "Exists"}],
                    "terminationGracePeriodSeconds": 7,
                    "securityContext": {"fsGroup": 2015},
                    "containers": [
                        {
                            "name": "pe",
                            "env": [variable("ZONE", "north")],
                            "envFrom": [{"configMapRef": {"name": "more", "optional": True}}],
                            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                        },
                        {"name": "beside", "image": "beside:1"},
                    ],
                    "volumes": [{"name": "scratch", "emptyDir": {}}],
                },
            }
        },
        {
            ("nodeSelector",): {"kubernetes.io/os": "linux"},
            ("tolerations",): [{"key": "spot", "operator": "Exists"}],
            ("terminationGracePeriodSeconds",): 7,
            ("securityContext", "fsGroup"): 2015,
            (*PE, "envFrom"): [{"configMapRef": {"name": "more", "optional": True}}],
        },
        {
            ENV: [variable("ZONE", "north")],
            MOUNTS: [{"name": "scratch", "mountPath": "/scratch"}],
            ("containers",): [{"name": "beside", "image": "beside:1"}],
            VOLUMES: [{"name": "scratch", "emptyDir": {}}],
        },
    ),
}
"""One variant an option of the table of fields."""
