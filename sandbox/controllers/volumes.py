"""Which objects a pod mounts, and so needs before it can start. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Obj = Mapping[str, Any]


@dataclass(frozen=True)
class Mounted:
    """An object that a volume mounts; `kind` is configmap or secret, as the kubelet says it."""

    volume: str
    kind: str
    name: str

    @property
    def complaint(self) -> str:
        return f'MountVolume.SetUp failed for volume "{self.volume}" : {self.kind} ' + (
            f'"{self.name}" not found'
        )


def mounted_by(pod: Obj) -> tuple[Mounted, ...]:
    """The objects that have to exist; optional ones are not among them."""
    return tuple(
        mounted
        for volume in pod["spec"].get("volumes") or ()
        for mounted in _sources(str(volume.get("name", "")), volume)
    )


def referred_by(pod: Obj) -> set[tuple[str, str]]:
    """Kind and name of the ConfigMaps and Secrets in volumes and variables, optional ones too."""
    found: set[tuple[str, str]] = set()
    for volume in pod["spec"].get("volumes") or ():
        projected = (volume.get("projected") or {}).get("sources") or ()
        for source in (volume, *projected):
            found.add(("configmap", str((source.get("configMap") or {}).get("name", ""))))
            secret = source.get("secret") or {}
            found.add(("secret", str(secret.get("secretName") or secret.get("name", ""))))
    for field in ("initContainers", "containers"):
        for container in pod["spec"].get(field) or ():
            for source in container.get("envFrom") or ():
                found.add(("configmap", str((source.get("configMapRef") or {}).get("name", ""))))
                found.add(("secret", str((source.get("secretRef") or {}).get("name", ""))))
            for variable in container.get("env") or ():
                value = variable.get("valueFrom") or {}
                found.add(("configmap", str((value.get("configMapKeyRef") or {}).get("name", ""))))
                found.add(("secret", str((value.get("secretKeyRef") or {}).get("name", ""))))
    return {(kind, name) for kind, name in found if name}


def _sources(name: str, volume: Obj) -> Iterable[Mounted]:
    yield from _source(name, volume, "secretName")
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from _source(name, source, "name")


def _source(volume: str, source: Obj, secret_key: str) -> Iterable[Mounted]:
    for field, kind, key in (
        ("configMap", "configmap", "name"),
        ("secret", "secret", secret_key),
    ):
        found = source.get(field)
        if found and not found.get("optional") and found.get(key):
            yield Mounted(volume, kind, str(found[key]))
