"""What is in the volumes of a pod: files that are written, or a folder that is made. Pure.

The complaints are those of the kubelet's Events. `folders.py` makes the volumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.containers.environment import Objects, data_of, expanded
from sandbox.containers.fields import Surroundings, UnknownField, field_value, resource_value
from sandbox.containers.runs import Mount

Obj = Mapping[str, Any]
FILE_MODE = 0o644


class Unmountable(Exception):
    """A volume cannot be mounted; the message is that of the Event FailedMount."""


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    mode: int = FILE_MODE


@dataclass(frozen=True, slots=True)
class Files:
    """Files by their path in the volume; another content replaces all of them at once."""

    by_path: Mapping[str, File]


@dataclass(frozen=True, slots=True)
class EmptyDir:
    """A folder of the pod."""


@dataclass(frozen=True, slots=True)
class HostPath:
    """A path of a node; every node has a folder of its own."""

    node: str
    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A folder that all pods which name the claim share, on every node."""

    namespace: str
    name: str


Source = Files | EmptyDir | HostPath | Claim
Token = Callable[[str, Obj], str]
"""(volume, serviceAccountToken) → token; raises Unmountable."""


@dataclass(frozen=True)
class Contents:
    """Where the contents of volumes come from."""

    objects: Objects
    token: Token
    around: Surroundings


def sources_of(pod: Obj, contents: Contents) -> tuple[dict[str, Source], tuple[str, ...]]:
    """The source of every volume by its name, and what keeps others from being mounted."""
    found: dict[str, Source] = {}
    complaints = []
    for volume in pod["spec"].get("volumes") or ():
        name = str(volume["name"])
        try:
            found[name] = _source(volume, pod, contents)
        except (Unmountable, UnknownField) as problem:
            complaints.append(f'MountVolume.SetUp failed for volume "{name}" : {problem}')
    return found, tuple(complaints)


def mounts_of(
    container: Obj, environment: Mapping[str, str], volumes: Iterable[Obj] = ()
) -> tuple[Mount, ...]:
    """The mounts of a container, outer paths first; `volumes` are those of its pod."""
    unwritten = {
        str(each["name"])
        for each in volumes
        if (each.get("persistentVolumeClaim") or {}).get("readOnly")
    }
    mounts = [
        Mount(
            str(each["name"]),
            str(each["mountPath"]),
            expanded(str(each["subPathExpr"]), environment)
            if each.get("subPathExpr")
            else str(each.get("subPath") or ""),
            bool(each.get("readOnly")) or str(each["name"]) in unwritten,
        )
        for each in container.get("volumeMounts") or ()
    ]
    return tuple(sorted(mounts, key=lambda each: each.path.count("/")))


def _source(volume: Obj, pod: Obj, contents: Contents) -> Source:
    for kind in ("configMap", "secret", "downwardAPI"):
        if kind in volume:
            part = volume[kind] or {}
            mode = int(part.get("defaultMode") or FILE_MODE)
            return Files(_PARTS[kind](str(volume["name"]), part, mode, pod, contents))
    if "projected" in volume:
        return _projected(volume, pod, contents)
    if "hostPath" in volume:
        path = volume["hostPath"]
        node = str(pod["spec"].get("nodeName", ""))
        return HostPath(node, str(path.get("path", "")), str(path.get("type") or ""))
    if "persistentVolumeClaim" in volume:
        name = str(volume["persistentVolumeClaim"].get("claimName", ""))
        return Claim(str(pod["metadata"].get("namespace", "")), name)
    if "emptyDir" in volume or "ephemeral" in volume or len(volume) == 1:
        return EmptyDir()
    kinds = ", ".join(sorted(set(volume) - {"name"}))
    raise Unmountable(f"the sandbox has no volumes of the kind {kinds}")


def _projected(volume: Obj, pod: Obj, contents: Contents) -> Files:
    part = volume["projected"] or {}
    mode = int(part.get("defaultMode") or FILE_MODE)
    found: dict[str, File] = {}
    for source in part.get("sources") or ():
        for kind, files in _PARTS.items():
            if kind in source:
                found |= files(str(volume["name"]), source[kind] or {}, mode, pod, contents)
    return Files(found)


def _config_map(
    _volume: str, part: Obj, mode: int, _pod: Obj, contents: Contents
) -> dict[str, File]:
    return _entries("configmap", str(part.get("name", "")), part, mode, contents)


def _secret(_volume: str, part: Obj, mode: int, _pod: Obj, contents: Contents) -> dict[str, File]:
    name = str(part.get("secretName") or part.get("name") or "")
    return _entries("secret", name, part, mode, contents)


def _entries(kind: str, name: str, part: Obj, mode: int, contents: Contents) -> dict[str, File]:
    objects = contents.objects
    obj = (objects.secret if kind == "secret" else objects.config_map)(name)
    if obj is None:
        if part.get("optional"):
            return {}
        raise Unmountable(f'{kind} "{name}" not found')
    data = data_of(kind, obj)
    items = part.get("items")
    if not items:
        return {key: File(content, mode) for key, content in data.items()}
    found = {}
    for item in items:
        key = str(item["key"])
        if key in data:
            found[_inside(item)] = File(data[key], int(item.get("mode") or mode))
        elif not part.get("optional"):
            shown = "config" if kind == "configmap" else "secret"
            raise Unmountable(f"{kind} references non-existent {shown} key: {key}")
    return found


def _downward(_volume: str, part: Obj, mode: int, pod: Obj, contents: Contents) -> dict[str, File]:
    found = {}
    for item in part.get("items") or ():
        if ref := item.get("fieldRef"):
            text = field_value(str(ref.get("fieldPath", "")), pod, contents.around)
        else:
            text = resource_value(item.get("resourceFieldRef") or {}, {}, pod, contents.around)
        found[_inside(item)] = File(text.encode(), int(item.get("mode") or mode))
    return found


def _token(volume: str, part: Obj, mode: int, _pod: Obj, contents: Contents) -> dict[str, File]:
    return {_inside(part): File(contents.token(volume, part).encode(), mode)}


def _inside(item: Obj) -> str:
    """The path of an item, which must not lead out of the volume."""
    path = str(item.get("path", ""))
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise Unmountable(f"invalid path: {path}")
    return path


_PARTS: Mapping[str, Callable[[str, Obj, int, Obj, Contents], dict[str, File]]] = {
    "configMap": _config_map,
    "secret": _secret,
    "downwardAPI": _downward,
    "serviceAccountToken": _token,
}
