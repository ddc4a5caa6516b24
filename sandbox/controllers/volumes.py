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
