"""What a Job may ask of its pods: the administrator's settings, and what goes beyond them.

1. Its pod template stays within a level of the Pod Security Standards (`pod_security.py`).
2. Fields of the Job itself that need more than `baseline` (a path of the host, ptrace) have a
   setting each. At `restricted` they are refused whatever that says.
3. The path of the host that a Job field gives is for the container `pe`, which runs as the user of
   the runtime image. A container of the template that mounts it may run as root, which would be
   the file system of the node: below `privileged` it is refused.
4. What millrace renders meets `baseline` but for those fields. At `restricted`, PEs are made from a
   template in which `hardened` has put the rest, so that pods meet that too.

A job that runs is judged by an edit only: what was accepted stays, whatever the settings are now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.labels import PE_CONTAINER
from services.fusion_backend.core.spec.pod_parts import Group, Json, containers_of, fields_of
from services.fusion_backend.core.spec.pod_security import Level, excesses
from services.fusion_backend.core.spec.provisions import TEMPLATE

POD_TEMPLATE: Final = f"{TEMPLATE}.podTemplate"
LEVEL_SETTING: Final = "MILLRACE_POD_SECURITY"
HOST_PATHS_SETTING: Final = "MILLRACE_ALLOW_HOST_PATHS"
PTRACE_SETTING: Final = "MILLRACE_ALLOW_PTRACE"


@dataclass(frozen=True, slots=True)
class PodRules:
    """The level of pod templates, and whether fields of a Job may ask for more."""

    level: Level = Level.BASELINE
    host_paths: bool = True
    ptrace: bool = True


DEFAULT_RULES: Final = PodRules()
Fault = tuple[str, Any, str]
"""Field, value, and what is so and what to do."""


def faults_of(spec: Json, rules: PodRules) -> Iterator[Fault]:
    """What a Job's spec (as JSON of any shape) asks of its pods beyond the rules."""
    pe = Group(TEMPLATE, fields_of(spec.get("processingElement")))
    yield from _host_paths(pe, rules)
    yield from _ptrace(pe, rules)
    if rules.level is not Level.PRIVILEGED:
        yield from _shared_paths(pe)
    template = fields_of(pe.at("podTemplate"))
    judged = _as_rendered(template) if rules.level is Level.RESTRICTED else template
    for each in excesses(judged, rules.level, POD_TEMPLATE):
        enough = Level.BASELINE if each.level is Level.RESTRICTED else Level.PRIVILEGED
        why = (
            f"level {rules.level} of {LEVEL_SETTING} {each.why};"
            f" level {enough} of that setting of fusion-backend would allow it"
        )
        yield each.field, each.value, why


# --------------------------------------------------------------------------- fields of the Job


_STORES: Final = ("checkpointRepository", "checkpointDataStore")


def _host_paths(pe: Group, rules: PodRules) -> Iterator[Fault]:
    """A path that the Job itself chooses; below restricted, that of pod-state-machine's settings is
    the administrator's."""
    off = _off(HOST_PATHS_SETTING, rules.host_paths, rules.level)
    if not off:
        return
    if pe.at("dataPath") and pe.at("dataVolumeClaim") is None:
        why = f"{off} a path of the host: use dataVolumeClaim"
        yield f"{TEMPLATE}.dataPath", pe.at("dataPath"), why
    for name in _STORES:
        files = pe.inner(f"{name}.fileSystem")
        is_used = isinstance(pe.at(f"{name}.fileSystem"), Mapping)
        is_any_refused = is_used and rules.level is Level.RESTRICTED
        path = files.at("path")
        if (path or is_any_refused) and files.at("volumeClaim") is None:
            why = f"{off} a path of the host: use fileSystem.volumeClaim"
            yield f"{files.place}.path", path, why


def _ptrace(pe: Group, rules: PodRules) -> Iterator[Fault]:
    off = _off(PTRACE_SETTING, rules.ptrace, rules.level)
    for name in ("allowPtrace", "runWithValgrind"):
        if off and pe.at(name) not in (None, False):
            why = f"{off} capabilities for a debugger: leave it out"
            yield f"{TEMPLATE}.{name}", pe.at(name), why


def _off(setting: str, is_allowed: bool, level: Level) -> str:
    """How a refusal begins where a field may not be used; empty where it may."""
    if level is Level.RESTRICTED:
        return f"level {level} of {LEVEL_SETTING} allows no pod"
    return "" if is_allowed else f"{setting} is false, which allows no pod"


_OUR_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "data-volume": ("dataVolumeClaim",),
    "checkpoint-volume": tuple(f"{name}.fileSystem.volumeClaim" for name in _STORES),
}
"""Volumes that are a path of the host, unless one of these fields gives a claim."""


def _shared_paths(pe: Group) -> Iterator[Fault]:
    on_host = {
        name for name, claims in _OUR_PATHS.items() if all(pe.at(claim) is None for claim in claims)
    }
    for container in containers_of(pe.inner("podTemplate")):
        is_ours = container.at("name") == PE_CONTAINER and ".containers[" in container.place
        for mount in () if is_ours else container.elements("volumeMounts"):
            name = mount.at("name")
            if isinstance(name, str) and name in on_host:
                why = (
                    f"a path of the host is mounted in the container {PE_CONTAINER} only, unless"
                    f" {LEVEL_SETTING} is {Level.PRIVILEGED}: use a claim"
                )
                yield f"{mount.place}.name", name, why


# --------------------------------------------------------------------------- what millrace adds


def hardened(spec: Json, rules: PodRules) -> Json:
    """The spec that PEs are made from: at `restricted`, with what their pods need to meet that.

    What the template says stays. At other levels nothing is added.
    """
    if rules.level is not Level.RESTRICTED:
        return spec
    pe = fields_of(spec.get("processingElement"))
    template = _hardened_template(fields_of(pe.get("podTemplate")))
    return {**spec, "processingElement": {**pe, "podTemplate": template}}


def _hardened_template(template: Json) -> Json:
    spec = fields_of(template.get("spec"))
    given = spec.get("containers")
    containers: list[Any] = list(given) if isinstance(given, list) else []
    if not any(map(_is_pe, containers)):
        containers.append({"name": PE_CONTAINER})
    context = {"runAsNonRoot": True} | _given(spec.get("securityContext"))
    hard = {
        "securityContext": context,
        "containers": [_dropping(each) if _is_pe(each) else each for each in containers],
    }
    return {**template, "spec": {**spec, **hard}}


def _is_pe(container: Any) -> bool:
    return isinstance(container, Mapping) and container.get("name") == PE_CONTAINER


def _dropping(container: Json) -> Json:
    context = fields_of(container.get("securityContext"))
    capabilities = fields_of(context.get("capabilities"))
    listed = capabilities.get("drop")
    dropped = listed if isinstance(listed, list) else []
    drop = dropped if "ALL" in dropped else [*dropped, "ALL"]
    return {
        **container,
        "securityContext": {**context, "capabilities": {**capabilities, "drop": drop}},
    }


def _as_rendered(template: Json) -> Json:
    """The hardened template with what pod-state-machine says of every pod beside."""
    whole = _hardened_template(template)
    spec = whole["spec"]
    context = {"seccompProfile": {"type": "RuntimeDefault"}} | spec["securityContext"]
    containers = [
        {
            **each,
            "securityContext": {**each["securityContext"], "allowPrivilegeEscalation": False},
        }
        if _is_pe(each)
        else each
        for each in spec["containers"]
    ]
    return {**whole, "spec": {**spec, "securityContext": context, "containers": containers}}


def _given(group: Any) -> dict[str, Any]:
    return {name: value for name, value in fields_of(group).items() if value is not None}
