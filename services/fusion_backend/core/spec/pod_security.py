"""What of a pod template goes beyond a level of the Pod Security Standards: an ordered table.

1. The rows are those of the standards as Kubernetes 1.36 has them, in their order; `restricted`
   has the rows of `baseline` and its own.
2. The rows on accounts are ours. The standards leave tokens to the right to create pods; who
   creates Jobs need not have it, and must not get the rights of an account of the namespace.
3. A template is judged as it stands; what millrace adds to it is put in before (`pod_rules.py`).
   Shapes are no matter of this file: what is no list has no elements, what is no object no fields.

Stricter than the standards in one point: pods of another operating system are judged as those of
Linux, since the runtime image is one of Linux. A newer release of Kubernetes may allow more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from services.fusion_backend.core.spec.pod_parts import (
    Group,
    Json,
    container_contexts,
    contexts,
    fields_of,
    handlers,
    ports,
    projections,
    spec_of,
    sysctls,
    volumes,
)


class Level(StrEnum):
    """A level of the Pod Security Standards; each allows less than the one before."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


class Excess(NamedTuple):
    """A field that goes beyond a level: `level` is the lowest that refuses it.

    `why` goes on after "level baseline" and says what to do.
    """

    field: str
    value: Any
    why: str
    level: Level


Found = tuple[str, Any]
"""A field and its value."""


class Control(NamedTuple):
    """A row: from which level it holds, which fields break it, what is so and what to do."""

    name: str
    level: Level
    broken_by: Callable[[Group], Iterator[Found]]
    why: str


def excesses(template: Json, level: Level, place: str) -> tuple[Excess, ...]:
    """What of a template (as JSON, found at `place`) goes beyond the level; each field once."""
    found: dict[str, Excess] = {}
    for control in CONTROLS:
        if _RANK[control.level] <= _RANK[level]:
            for field, value in control.broken_by(Group(place, fields_of(template))):
                lowest = found[field].level if field in found else control.level
                found[field] = Excess(field, value, control.why, lowest)
    return tuple(found.values())


_RANK: Final[Mapping[Level, int]] = {level: number for number, level in enumerate(Level)}


# --------------------------------------------------------------------------- ways to break a row


def _unless(
    groups: Callable[[Group], Iterator[Group]], paths: str, allowed: Callable[[Any], bool]
) -> Callable[[Group], Iterator[Found]]:
    """The fields at these paths of these groups that have a value which is not allowed."""

    def broken_by(template: Group) -> Iterator[Found]:
        for group in groups(template):
            for path in paths.split():
                value = group.at(path)
                if not allowed(value):
                    yield f"{group.place}.{path}", value

    return broken_by


def _absent(value: Any) -> bool:
    return value is None


def _absent_or_for_gateway(value: Any) -> bool:
    """The token that every pod of a PE has: it opens nothing but pe-gateway."""
    return value is None or (isinstance(value, Mapping) and value.get("audience") == "streams-api")


def _off(value: Any) -> bool:
    return value is None or value is False


def _no_port(value: Any) -> bool:
    return value is None or value == 0


def _one_of(*allowed: str | None) -> Callable[[Any], bool]:
    return lambda value: (value is None or isinstance(value, str)) and value in allowed


def _no_root(value: Any) -> bool:
    return value is None or (isinstance(value, int) and value != 0)


def _on_host_users(broken_by: Callable[[Group], Iterator[Found]]) -> Any:
    """The same, of pods without a user namespace of their own: root in one is nobody outside."""
    return lambda template: (
        iter(()) if template.at("spec.hostUsers") is False else broken_by(template)
    )


def _adding(*allowed: str) -> Callable[[Group], Iterator[Found]]:
    """Capabilities beyond these."""

    def broken_by(template: Group) -> Iterator[Found]:
        for context in container_contexts(template):
            added = context.at("capabilities.add")
            for at, each in enumerate(added if isinstance(added, list) else ()):
                if each not in allowed:
                    yield f"{context.place}.capabilities.add[{at}]", each

    return broken_by


def _not_dropping_all(template: Group) -> Iterator[Found]:
    for context in container_contexts(template):
        dropped = context.at("capabilities.drop")
        if not (isinstance(dropped, list) and "ALL" in dropped):
            yield f"{context.place}.capabilities.drop", dropped


def _profiles(template: Group) -> Iterator[Found]:
    """AppArmor's, in the form of annotations: older kubelets go by those."""
    for key, value in template.inner("metadata.annotations").fields.items():
        is_known = isinstance(value, str) and (
            value in ("", "runtime/default") or value.startswith("localhost/")
        )
        if str(key).startswith(APPARMOR_PREFIX) and not is_known:
            yield f"{template.place}.metadata.annotations.{key}", value


def _other_sources(template: Group) -> Iterator[Found]:
    for volume in volumes(template):
        for name, value in volume.fields.items():
            if name != "name" and value is not None and name not in VOLUME_TYPES:
                yield f"{volume.place}.{name}", value


def _unsaid(path: str, allowed: Callable[[Any], bool]) -> Callable[[Group], Iterator[Found]]:
    """Containers for which neither they nor the pod say it, and what says something else."""

    def broken_by(template: Group) -> Iterator[Found]:
        pod = template.inner("spec.securityContext")
        of_pod = pod.at(path)
        if of_pod is not None and not allowed(of_pod):
            yield f"{pod.place}.{path}", of_pod
        for context in container_contexts(template):
            value = context.at(path)
            is_left_to_pod = value is None and of_pod is not None
            if not is_left_to_pod and not allowed(value):
                yield f"{context.place}.{path}", value

    return broken_by


# --------------------------------------------------------------------------- the standards

APPARMOR_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
CAPABILITIES: Final = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
VOLUME_TYPES: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
SELINUX_TYPES: Final = (
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
)
_PROFILE: Final = ("RuntimeDefault", "Localhost")
_B, _R = Level.BASELINE, Level.RESTRICTED
_LEAVE: Final = "leave it out"
_UNMASKED = _unless(container_contexts, "procMount", _one_of(None, "Default"))

CONTROLS: Final[tuple[Control, ...]] = (
    Control(
        "HostProcess",
        _B,
        _unless(contexts, "windowsOptions.hostProcess", _off),
        f"allows no processes of the host: {_LEAVE}",
    ),
    Control(
        "host namespaces",
        _B,
        _unless(spec_of, "hostNetwork hostPID hostIPC", _off),
        f"allows no namespace of the host: {_LEAVE}",
    ),
    Control(
        "privileged containers",
        _B,
        _unless(container_contexts, "privileged", _off),
        f"allows no privileged container: {_LEAVE}",
    ),
    Control(
        "capabilities",
        _B,
        _adding(*CAPABILITIES),
        f"allows to add only {', '.join(CAPABILITIES)}: {_LEAVE}",
    ),
    Control(
        "HostPath volumes",
        _B,
        _unless(volumes, "hostPath", _absent),
        "allows no path of the host: use a claim",
    ),
    Control(
        "host ports",
        _B,
        _unless(ports, "hostPort", _no_port),
        f"allows no port of the host: {_LEAVE}, and reach the pod by a Service",
    ),
    Control(
        "host probes and lifecycle hooks",
        _B,
        _unless(handlers, "httpGet.host tcpSocket.host", _one_of(None, "")),
        f"allows probes and hooks of the pod itself only: {_LEAVE}",
    ),
    Control(
        "AppArmor",
        _B,
        _unless(contexts, "appArmorProfile.type", _one_of(None, *_PROFILE)),
        "allows the profiles RuntimeDefault and Localhost only: choose one, or leave it out",
    ),
    Control(
        "AppArmor annotations",
        _B,
        _profiles,
        "allows the profiles runtime/default and localhost/NAME only: choose one, or leave it out",
    ),
    Control(
        "SELinux type",
        _B,
        _unless(contexts, "seLinuxOptions.type", _one_of(None, "", *SELINUX_TYPES)),
        f"allows the types {', '.join(SELINUX_TYPES)} only: choose one, or leave it out",
    ),
    Control(
        "SELinux user and role",
        _B,
        _unless(contexts, "seLinuxOptions.user seLinuxOptions.role", _one_of(None, "")),
        f"allows no user or role of SELinux: {_LEAVE}",
    ),
    Control(
        "/proc mount type",
        _B,
        _on_host_users(_UNMASKED),
        f"allows only the default mount of /proc: {_LEAVE}",
    ),
    Control(
        "seccomp",
        _B,
        _unless(contexts, "seccompProfile.type", _one_of(None, *_PROFILE)),
        "allows the profiles RuntimeDefault and Localhost only: choose one, or leave it out",
    ),
    Control(
        "sysctls",
        _B,
        _unless(sysctls, "name", _one_of(*SYSCTLS)),
        f"allows to set only {', '.join(SYSCTLS)}: {_LEAVE}",
    ),
    Control(
        "accounts",
        _B,
        _unless(spec_of, "serviceAccountName serviceAccount", _one_of(None, "", "default")),
        f"allows no account but default: {_LEAVE}",
    ),
    Control(
        "tokens of accounts",
        _B,
        _unless(spec_of, "automountServiceAccountToken", _off),
        f"allows no token of an account: {_LEAVE}",
    ),
    Control(
        "projected tokens and certificates of accounts",
        _B,
        _unless(projections, "serviceAccountToken podCertificate", _absent_or_for_gateway),
        f"allows no token or certificate of an account: {_LEAVE}",
    ),
    Control(
        "volume types",
        _R,
        _other_sources,
        f"allows volumes of {', '.join(VOLUME_TYPES)} only: use a claim",
    ),
    Control(
        "privilege escalation",
        _R,
        _unless(container_contexts, "allowPrivilegeEscalation", lambda value: value is False),
        "demands that no container gains privileges: set it to false",
    ),
    Control(
        "running as non-root",
        _R,
        _on_host_users(_unsaid("runAsNonRoot", lambda value: value is True)),
        "demands containers that do not run as root: set it to true",
    ),
    Control(
        "running as non-root user",
        _R,
        _on_host_users(_unless(contexts, "runAsUser", _no_root)),
        "allows no container to run as user 0: choose another",
    ),
    Control(
        "restricted seccomp",
        _R,
        _unsaid("seccompProfile.type", _one_of(*_PROFILE)),
        "demands the profile RuntimeDefault or Localhost: choose one",
    ),
    Control(
        "capabilities dropped",
        _R,
        _not_dropping_all,
        "demands that containers drop ALL capabilities: set it to [ALL]",
    ),
    Control(
        "restricted capabilities",
        _R,
        _adding("NET_BIND_SERVICE"),
        f"allows to add only NET_BIND_SERVICE: {_LEAVE}",
    ),
    Control(
        "restricted /proc mount type",
        _R,
        _UNMASKED,
        f"allows only the default mount of /proc: {_LEAVE}",
    ),
)
"""Every control, those of each level in the order of the standards."""
