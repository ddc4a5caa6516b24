"""The pod template of a PE: what people add to its pods, and what of a pod is not theirs to say.

A pod is made of the PE's fields; the template is laid over it. One rule: what millrace says of a
pod stays, what the template says beside it is added, and a template that speaks of what is
millrace's is refused, whatever its value. `contradictions` is that refusal, used by fusion-backend
before a job is planned and by pod-state-machine before a pod is made; how the two are put together
is the latter's affair. Everything else in `spec` is for the API server to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field, WithJsonSchema

from contracts import labels
from contracts.names import KEY_RULE, NAME_RULE, WORD_RULE, is_key, is_label_value, is_name

from .fields import PROPERTIES_MAX, Fields, LongText, Text
from .pod_shapes import misshapen
from .pod_structure import pod_spec_schema

Json = Mapping[str, Any]

LISTS_BY_KEY: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "env": "name",
    "volumeMounts": "mountPath",
}
"""Lists of objects in which no two have the same value of a key; other lists are only appended."""

OURS_IN_SPEC: Final[Mapping[str, str]] = {
    "restartPolicy": "launches are counted: use the restart policies of processingElement",
    "nodeName": "pods go by the scheduler: use nodeSelector or affinity",
    "securityContext.runAsUser": "the runtime image belongs to one user",
    "securityContext.runAsGroup": "the runtime image belongs to one group",
}
"""Fields of a pod's spec that a template leaves out, and what to use instead."""

OURS_IN_CONTAINER: Final[Mapping[str, str]] = {
    "image": "use processingElement.image",
    "imagePullPolicy": "use processingElement.imagePullPolicy",
    "command": "the runtime image begins with its own",
    "args": "the runtime image begins with its own",
    "resources": "use processingElement.resources",
    "restartPolicy": "launches are counted: use the restart policies of processingElement",
    "restartPolicyRules": "launches are counted: use the restart policies of processingElement",
    "livenessProbe": "use processingElement.initialProbeDelayInSeconds, probeIntervalInSeconds,"
    " probeTimeoutInSeconds and probeFailureThreshold",
    "securityContext.runAsUser": "the runtime image belongs to one user",
    "securityContext.runAsGroup": "the runtime image belongs to one group",
    "securityContext.privileged": "use processingElement.allowPtrace to debug",
    "securityContext.allowPrivilegeEscalation": "use processingElement.allowPtrace to debug",
    "securityContext.capabilities.add": "use processingElement.allowPtrace to debug",
}
"""The same of the container `pe`."""

OUR_VOLUMES: Final = frozenset(
    f"{name}-volume"
    for name in (
        "pe-config",
        "job-config",
        "streams-api-token",
        "data",
        "checkpoint",
        "app-properties-secret",
        "restricted-properties-secret",
    )
)
TOKEN_PATH: Final = "/var/run/secrets/streams-api"  # noqa: S105  a folder
"""Where pods have the token by which pe-gateway knows them."""
OUR_PATHS: Final = ("/etc/config/pe", "/etc/config/job", TOKEN_PATH)
OUR_PREFIX: Final = "STREAMS_"
OUR_VARIABLES: Final = frozenset(
    f"MILLRACE_{name}" for name in ("GATEWAY_URL", "JOB_UID", "POD_IP", "HAND_OVER_SECONDS")
)
_OUR_MARKS: Final = frozenset({labels.APP, labels.SERVICE_ROLE})


class PodMarks(Fields):
    """Labels and annotations that pods carry beside those of millrace."""

    labels: dict[str, Text] | None = Field(
        default=None, max_length=PROPERTIES_MAX, description="Labels of the pods."
    )
    annotations: dict[str, LongText] | None = Field(
        default=None, max_length=PROPERTIES_MAX, description="Annotations of the pods."
    )


PodSpec = Annotated[dict[str, Any], WithJsonSchema(pod_spec_schema())]
"""A PodSpec of the core API: its fields are typed in the schema, and plain JSON here."""


class PodTemplate(Fields):
    """What people add to the pods of a PE; in the form of a Kubernetes PodTemplateSpec."""

    metadata: PodMarks | None = Field(
        default=None, description="Labels and annotations that are added to the pods."
    )
    spec: PodSpec | None = Field(
        default=None,
        description="Fields of a PodSpec that are added; its container `pe` is that of the PE.",
    )


class Contradiction(NamedTuple):
    """A field of a template that is not the template's, and what to do about it."""

    field: str
    value: Any
    why: str


def contradictions(template: Json | None, place: str) -> Iterator[Contradiction]:
    """What a template (as JSON, found at `place`) says that it may not say, in its order."""
    template = template or {}
    yield from _marks(template.get("metadata") or {}, f"{place}.metadata")
    spec = template.get("spec") or {}
    yield from _misshapen(spec, f"{place}.spec")
    yield from _given(spec, OURS_IN_SPEC, f"{place}.spec")
    for at, volume in _objects(spec, "volumes"):
        if volume.get("name") in OUR_VOLUMES:
            why = "millrace has a volume of that name: choose another"
            yield Contradiction(f"{place}.spec.volumes[{at}].name", volume["name"], why)
    for at, container in _objects(spec, "containers"):
        if container.get("name") == labels.PE_CONTAINER:
            yield from _container(container, f"{place}.spec.containers[{at}]")
    for each in misshapen(spec, f"{place}.spec"):
        yield Contradiction(*each)
    yield from _impossible(spec, f"{place}.spec")


def _marks(metadata: Json, place: str) -> Iterator[Contradiction]:
    for group in ("labels", "annotations"):
        for key, value in (metadata.get(group) or {}).items():
            domain = key.rpartition("/")[0]
            is_ours = domain == labels.PREFIX or domain.endswith(f".{labels.PREFIX}")
            if is_ours or key in _OUR_MARKS:
                why = "millrace finds its pods by keys of its own: choose another"
                yield Contradiction(f"{place}.{group}.{key}", value, why)
            elif not is_key(key):
                yield Contradiction(
                    f"{place}.{group}.{key}", value, f"{key!r} is no key: {KEY_RULE}"
                )
            elif group == "labels" and isinstance(value, str) and not is_label_value(value):
                why = f"no label has such a value: it is {WORD_RULE}, or nothing"
                yield Contradiction(f"{place}.{group}.{key}", value, why)


def _container(container: Json, place: str) -> Iterator[Contradiction]:
    yield from _misshapen(container, place)
    yield from _given(container, OURS_IN_CONTAINER, place)
    for at, variable in _objects(container, "env"):
        name = str(variable.get("name", ""))
        if name.startswith(OUR_PREFIX) or name in OUR_VARIABLES:
            named = f"that begin with {OUR_PREFIX}" if name.startswith(OUR_PREFIX) else "like it"
            why = f"variables {named} are the runtime's: choose another"
            yield Contradiction(f"{place}.env[{at}].name", variable["name"], why)
    for at, mount in _objects(container, "volumeMounts"):
        path = str(mount.get("mountPath", ""))
        if any(f"{path.rstrip('/')}/".startswith(f"{ours}/") for ours in OUR_PATHS):
            why = "the runtime reads its configuration there: choose another path"
            yield Contradiction(f"{place}.volumeMounts[{at}].mountPath", path, why)


def _impossible(spec: Json, place: str) -> Iterator[Contradiction]:
    """What no pod can have, and the API server says only when the pod is made."""
    for group in ("containers", "initContainers", "volumes"):
        for at, each in _objects(spec, group):
            name = each.get("name")
            if isinstance(name, str) and not is_name(name):
                why = f"it is no name: a name is {NAME_RULE}"
                yield Contradiction(f"{place}.{group}[{at}].name", name, why)
            is_ours = group == "volumes" or (group == "containers" and name == labels.PE_CONTAINER)
            if not is_ours and not each.get("image"):
                why = f"the container {name} beside {labels.PE_CONTAINER} needs an image"
                yield Contradiction(f"{place}.{group}[{at}].image", each.get("image"), why)


def _given(group: Json, ours: Mapping[str, str], place: str) -> Iterator[Contradiction]:
    for path, why in ours.items():
        value: Any = group
        for step in path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None:
            yield Contradiction(f"{place}.{path}", value, f"leave it out; {why}")


def _misshapen(group: Json, place: str) -> Iterator[Contradiction]:
    """Values that are not lists: laying them over a pod would lose what is in the pod."""
    for name, key in LISTS_BY_KEY.items():
        value = group.get(name)
        if value is None:
            continue
        if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            yield Contradiction(f"{place}.{name}", value, "it must be a list of objects")
        elif not all(isinstance(each.get(key), str) for each in value):
            yield Contradiction(f"{place}.{name}", value, f"each must have a {key}, as text")


def _objects(group: Json, name: str) -> Iterator[tuple[int, Json]]:
    value = group.get(name)
    for at, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, Mapping):
            yield at, each
