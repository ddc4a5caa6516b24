"""Every control of the Pod Security Standards: a value that it allows and one that it refuses.

A case changes one field of a template that meets `restricted`. The unit tests hold our table to
them; against a real cluster Pod Security admission is asked the same.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from services.fusion_backend.core.spec.pod_security import (
    CAPABILITIES,
    SELINUX_TYPES,
    SYSCTLS,
    Level,
)

Json = dict[str, Any]
_SLASH: Final = "~"


def _container(name: str) -> Json:
    """One that meets restricted, with something of everything in it."""
    return {
        "name": name,
        "image": "beside:1",
        "ports": [{"containerPort": 80}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": []},
        },
    }


def hard_template() -> Json:
    """A template that meets restricted, with two volumes and a container of each kind."""
    return {
        "metadata": {"annotations": {}},
        "spec": {
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
                "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
            },
            "containers": [_container("pe"), _container("beside")],
            "initContainers": [_container("before")],
            "ephemeralContainers": [_container("later")],
            "volumes": [
                {"name": "scratch", "emptyDir": {}},
                {"name": "more", "projected": {"sources": [{"configMap": {"name": "c"}}]}},
            ],
        },
    }


@dataclass(frozen=True)
class Case:
    """A field, what must not stand there at a level, and what may.

    `path` has steps between slashes, `~` is a slash in one; `of_standards` is False for a
    control of ours; `named` is what a refusal names below the path.
    """

    control: str
    level: Level
    path: str
    refused: Any
    allowed: tuple[Any, ...]
    beside: tuple[tuple[str, Any], ...] = ()
    of_standards: bool = True
    named: str = ""

    def template(self, value: Any) -> Json:
        """The template with this value there."""
        whole = hard_template()
        for path, each in (*self.beside, (self.path, value)):
            _put(whole, path, each)
        return whole

    @property
    def field(self) -> str:
        """The place, as a refusal names it."""
        text = ""
        for step in f"{self.path}{self.named}".split("/"):
            text += f"[{step}]" if step.isdecimal() else f".{step}"
        return text.removeprefix(".").replace(_SLASH, "/")

    def __str__(self) -> str:
        return f"{self.control}: {self.path}"


def _put(whole: Json, path: str, value: Any) -> None:
    steps = [step.replace(_SLASH, "/") for step in path.split("/")]
    holder: Any = whole
    for step in steps[:-1]:
        holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
    if isinstance(holder, list):
        holder.insert(int(steps[-1]), value)
    else:
        holder[steps[-1]] = copy.deepcopy(value)


_B, _R = Level.BASELINE, Level.RESTRICTED
_POD: Final = "spec/securityContext"
CONTAINERS: Final = (
    "spec/containers/0",
    "spec/containers/1",
    "spec/initContainers/0",
    "spec/ephemeralContainers/0",
)
_VOLUME: Final = "spec/volumes/0"
_EMPTY: Final = ((f"{_VOLUME}/emptyDir", None),)
"""Beside another source: a volume has only one."""
_SOURCES: Final[Json] = {
    "nfs": {"server": "s", "path": "/"},
    "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:a", "lun": 0},
    "rbd": {"monitors": ["m"], "image": "i"},
    "azureDisk": {"diskName": "d", "diskURI": "https://blob/d"},
    "cinder": {"volumeID": "v"},
    "gitRepo": {"repository": "r"},
}
_NO: Final = (False, None)
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_HOST_USERS: Final = (("spec/hostUsers", False),)
_PROBES: Final = (
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle/postStart",
    "lifecycle/preStop",
)


def _of_pod() -> Iterator[Case]:
    yield Case("HostProcess", _B, f"{_POD}/windowsOptions/hostProcess", True, _NO)
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        yield Case("host namespaces", _B, f"spec/{name}", True, _NO)
    yield Case("HostPath volumes", _B, f"{_VOLUME}/hostPath", {"path": "/"}, (None,), _EMPTY)
    yield Case("AppArmor", _B, f"{_POD}/appArmorProfile/type", "Unconfined", (*_PROFILES, None))
    apparmor = "metadata/annotations/container.apparmor.security.beta.kubernetes.io~pe"
    yield Case(
        "AppArmor annotations", _B, apparmor, "unconfined", ("runtime/default", "localhost/a", "")
    )
    for field, type_ in (("type", "container_t"), ("user", ""), ("role", "")):
        control = "SELinux type" if field == "type" else "SELinux user and role"
        yield Case(control, _B, f"{_POD}/seLinuxOptions/{field}", "spc_t", (type_, "", None))
    yield Case("seccomp", _B, f"{_POD}/seccompProfile/type", "Unconfined", _PROFILES)
    yield Case("sysctls", _B, f"{_POD}/sysctls/0/name", "kernel.msgmax", SYSCTLS)
    yield Case("running as non-root", _R, f"{_POD}/runAsNonRoot", False, (True,))
    yield Case("running as non-root user", _R, f"{_POD}/runAsUser", 0, (1, None))
    for name, source in _SOURCES.items():
        yield Case("volume types", _R, f"{_VOLUME}/{name}", source, (None,), _EMPTY)


def _of_probes(at: str) -> Iterator[Case]:
    """What the kubelet asks of a container, in every form that names a host."""
    for probe in _PROBES:
        for kind in ("httpGet", "tcpSocket"):
            path = f"{at}/{probe}/{kind}/host"
            yield Case(
                "host probes and lifecycle hooks",
                _B,
                path,
                "10.0.0.1",
                ("", None),
                ((f"{at}/{probe}/{kind}/port", 80),),
            )


def _of_container(at: str) -> Iterator[Case]:
    context = f"{at}/securityContext"
    yield Case("HostProcess", _B, f"{context}/windowsOptions/hostProcess", True, _NO)
    yield Case(
        "privileged containers",
        _B,
        f"{context}/privileged",
        True,
        _NO,
        ((f"{context}/allowPrivilegeEscalation", None),),
    )
    yield Case("host ports", _B, f"{at}/ports/0/hostPort", 80, (0, None))
    profiles = (*_PROFILES, None)
    yield Case("AppArmor", _B, f"{context}/appArmorProfile/type", "Unconfined", profiles)
    yield Case("SELinux type", _B, f"{context}/seLinuxOptions/type", "spc_t", SELINUX_TYPES)
    for field in ("user", "role"):
        yield Case("SELinux user and role", _B, f"{context}/seLinuxOptions/{field}", "u", ("",))
    yield Case("/proc mount type", _B, f"{context}/procMount", "Unmasked", ("Default", None))
    yield Case("seccomp", _B, f"{context}/seccompProfile/type", "Unconfined", profiles)
    yield Case("capabilities", _B, f"{context}/capabilities/add/0", "NET_RAW", CAPABILITIES)


def _of_container_at_restricted(at: str) -> Iterator[Case]:
    context = f"{at}/securityContext"
    yield Case(
        "restricted capabilities",
        _R,
        f"{context}/capabilities/add/0",
        "CHOWN",
        ("NET_BIND_SERVICE",),
    )
    yield Case("capabilities dropped", _R, f"{context}/capabilities/drop", ["CHOWN"], (["ALL"],))
    yield Case("privilege escalation", _R, f"{context}/allowPrivilegeEscalation", True, (False,))
    yield Case("privilege escalation", _R, f"{context}/allowPrivilegeEscalation", None, (False,))
    yield Case("running as non-root", _R, f"{context}/runAsNonRoot", False, (True, None))
    yield Case(
        "running as non-root",
        _R,
        f"{context}/runAsNonRoot",
        None,
        (True,),
        _said_by_others("runAsNonRoot", True, at),
    )
    yield Case("running as non-root user", _R, f"{context}/runAsUser", 0, (1, None))
    yield Case(
        "restricted seccomp",
        _R,
        f"{context}/seccompProfile",
        None,
        ({"type": "RuntimeDefault"},),
        _said_by_others("seccompProfile", {"type": "RuntimeDefault"}, at),
        named="/type",
    )
    yield Case(
        "restricted /proc mount type",
        _R,
        f"{context}/procMount",
        "Unmasked",
        ("Default",),
        _HOST_USERS,
    )


def _said_by_others(name: str, value: Any, at: str) -> tuple[tuple[str, Any], ...]:
    """Every container but one says it itself, and the pod does not say it for them."""
    others = (each for each in CONTAINERS if each != at)
    said = ((f"{each}/securityContext/{name}", value) for each in others)
    return (*said, (f"{_POD}/{name}", None))


def _of_accounts() -> Iterator[Case]:
    names = ("default", "", None)
    for field in ("serviceAccountName", "serviceAccount"):
        yield Case("accounts", _B, f"spec/{field}", "builder", names, of_standards=False)
    yield Case(
        "tokens of accounts",
        _B,
        "spec/automountServiceAccountToken",
        True,
        _NO,
        of_standards=False,
    )
    for source in ("serviceAccountToken", "podCertificate"):
        yield Case(
            "projected tokens and certificates of accounts",
            _B,
            f"spec/volumes/1/projected/sources/0/{source}",
            {"path": "t"},
            (None,),
            of_standards=False,
        )


CASES: Final = (
    *_of_pod(),
    *(case for at in CONTAINERS for case in _of_probes(at)),
    *(case for at in CONTAINERS for case in _of_container(at)),
    *(case for at in CONTAINERS for case in _of_container_at_restricted(at)),
    *_of_accounts(),
)
