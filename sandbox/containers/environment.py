"""The environment variables of a container, and `$(NAME)` in its words. Pure.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#environment-variables
"""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.containers.fields import Surroundings, UnknownField, field_value, resource_value

Obj = Mapping[str, Any]
Look = Callable[[str], Obj | None]
"""The object of a name in the namespace of the pod, if it exists."""
INHERITED = ("LANG", "LC_ALL", "PYTHONPATH", "SSL_CERT_FILE", "TZ")
_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")
_NAME = re.compile(r"[^=\x00]+")


class ConfigError(Exception):
    """A container cannot be created (CreateContainerConfigError); the message says why."""


@dataclass(frozen=True)
class Objects:
    """What variables and volumes refer to, in the namespace of the pod."""

    config_map: Look
    secret: Look


def base_environment(of_sandbox: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What every process of a container has: little of the sandbox's own variables, no secrets.

    The folder of our Python comes first in PATH: `python` is one that can import what we can.
    """
    kept = {name: of_sandbox[name] for name in INHERITED if name in of_sandbox}
    folder = os.path.dirname(sys.executable)
    path = of_sandbox.get("PATH") or os.defpath
    return {
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        **kept,
        "PATH": f"{folder}{os.pathsep}{path}",
        **given,
    }


def environment_of(
    container: Obj, pod: Obj, objects: Objects, around: Surroundings
) -> dict[str, str]:
    """The variables that a container has by its spec. Raises ConfigError."""
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        for name, value in _all_of(source, pod, objects):
            found[f"{source.get('prefix') or ''}{name}"] = value
    for variable in container.get("env") or ():
        name = str(variable["name"])
        if "valueFrom" not in variable:
            found[name] = expanded(str(variable.get("value") or ""), found)
            continue
        try:
            taken = _value_from(variable["valueFrom"], container, pod, objects, around)
        except UnknownField as problem:
            raise ConfigError(str(problem)) from None
        if taken is not None:
            found[name] = taken
    return {name: value for name, value in found.items() if _NAME.fullmatch(name)}


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """The text with `$(NAME)` put in; an unknown name stays as it is, and `$$` is `$`."""

    def put_in(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        return variables.get(found[1], found[0])

    return _REFERENCE.sub(put_in, text)


def data_of(kind: str, obj: Obj) -> dict[str, bytes]:
    """The entries of a ConfigMap or a Secret."""
    if kind == "secret":
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    texts = {key: str(value).encode() for key, value in (obj.get("data") or {}).items()}
    binary = obj.get("binaryData") or {}
    return {**texts, **{key: base64.b64decode(value) for key, value in binary.items()}}


def _all_of(source: Obj, pod: Obj, objects: Objects) -> Iterable[tuple[str, str]]:
    for field, kind, look in _kinds(objects, "configMapRef", "secretRef"):
        ref = source.get(field)
        if not ref:
            continue
        obj = look(str(ref.get("name", "")))
        if obj is None:
            if ref.get("optional"):
                continue
            raise ConfigError(f'{kind} "{ref.get("name", "")}" not found')
        for name, value in sorted(data_of(kind, obj).items()):
            yield name, value.decode(errors="replace")


def _value_from(
    source: Obj, container: Obj, pod: Obj, objects: Objects, around: Surroundings
) -> str | None:
    if ref := source.get("fieldRef"):
        return field_value(str(ref.get("fieldPath", "")), pod, around)
    if ref := source.get("resourceFieldRef"):
        return resource_value(ref, container, pod, around)
    for field, kind, look in _kinds(objects, "configMapKeyRef", "secretKeyRef"):
        if ref := source.get(field):
            return _entry(kind, ref, look, pod)
    raise ConfigError("a variable has no source that is known here")


def _entry(kind: str, ref: Obj, look: Look, pod: Obj) -> str | None:
    name, key = str(ref.get("name", "")), str(ref.get("key", ""))
    obj = look(name)
    if obj is None:
        if ref.get("optional"):
            return None
        raise ConfigError(f'{kind} "{name}" not found')
    data = data_of(kind, obj)
    if key not in data:
        if ref.get("optional"):
            return None
        shown = "Secret" if kind == "secret" else "ConfigMap"
        namespace = pod["metadata"].get("namespace", "")
        raise ConfigError(f"couldn't find key {key} in {shown} {namespace}/{name}")
    return data[key].decode(errors="replace")


def _kinds(objects: Objects, config_map: str, secret: str) -> Iterable[tuple[str, str, Look]]:
    return (
        (config_map, "configmap", objects.config_map),
        (secret, "secret", objects.secret),
    )
