"""Fills a manifest in: the objects to apply, from a profile and values. Pure, but for its files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from cli.failing import Misused
from cli.installing.allowing import problem_of
from cli.installing.profiles import (
    ENV,
    KAFKA_PORT,
    NAMESPACE,
    PROFILES,
    Profile,
    is_copied,
    is_env,
    leaves,
    text_for,
    token,
)
from cli.resources import CHART, CRDS, MANIFEST
from cli.shipped import document_in, documents_of
from contracts.names import is_name
from contracts.servers import are_servers
from deploy.chart_kinds import Value
from services.roster import keeper_of

Json = dict[str, Any]

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGER: Final = "millrace"
"""The label by which an installation knows its objects, and who owns their fields."""
VERSION: Final = "millrace.dev/version"
"""The annotation of a definition: the release that it is of."""

PAGE: Final = "docs/chart-values.md"
_KEEP: Final = {"helm.sh/resource-policy": "keep"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants to have installed; `values` are by path, as the chart names them."""

    profile: str
    namespace: str
    values: Mapping[str, Any]


def wanted_of(
    profile: str, namespace: str, *, image: str, brokers: str, values: Mapping[str, Any]
) -> Wanted:
    """The options as values. Raises Misused with the value that cannot be used."""
    if profile not in PROFILES:
        raise Misused(f"--profile {profile}: say one of {', '.join(PROFILES)}")
    if not is_name(namespace):
        raise Misused(f"--namespace {namespace!r} cannot be the name of a namespace")
    chosen = dict(values)
    if image:
        chosen |= _image_values(image)
    if not chosen.get("image.repository"):
        raise Misused("--image is needed: REPOSITORY:TAG of the image of the services")
    if brokers:
        chosen["kafka.bootstrapServers"] = brokers
    _check_brokers(profile, str(chosen.get("kafka.bootstrapServers", "")))
    if profile == "secured" and not chosen.get("kafka.caSecret"):
        raise Misused(
            "--profile secured needs the value kafka.caSecret: the Secret with `ca.crt`, the "
            "authority of the brokers; say it in a file of --values"
        )
    path = f"services.{keeper_of('bundle-store')}.replicas"
    replicas = chosen.get(path, 1)
    if profile != "trial" and isinstance(replicas, int) and replicas > 1:
        raise Misused(
            f"{path} is {replicas}: its instances share a volume (ReadWriteMany), which only Helm "
            "can set up here"
        )
    return Wanted(profile, namespace, chosen)


def _check_brokers(profile: str, servers: str) -> None:
    if profile == "trial":
        if servers:
            raise Misused(
                f"--brokers {servers!r}: `--profile trial` brings a Kafka of its own; leave one of "
                "the two out"
            )
        return
    if not servers:
        raise Misused(
            "--brokers is needed: HOST:PORT[,HOST:PORT] of Kafka; `--profile trial` brings a Kafka "
            "of its own"
        )
    if not are_servers(servers):
        raise Misused(f"--brokers {servers!r} is not HOST:PORT[,HOST:PORT]")


def _image_values(image: str) -> Json:
    repository, colon, tag = image.rpartition(":")
    if not colon or "/" in tag:
        raise Misused(f"--image {image!r} has no tag: say REPOSITORY:TAG")
    return {"image.repository": repository, "image.tag": tag}


def values_of_files(profile: str, files: list[Path]) -> Json:
    """The values of `--values` files by path; a later file counts. Raises Misused."""
    found: Json = {}
    for file in files:
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
            # As Helm does: keys are text, and what JSON lacks, such as dates, is no value.
            content = {} if content is None else json.loads(json.dumps(content, allow_nan=False))
        except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as problem:
            raise Misused(f"--values {file}: {problem}") from None
        if not isinstance(content, dict):
            raise Misused(f"--values {file} is not a map of values")
        found |= _flat(content, PROFILES[profile], file) if profile in PROFILES else {}
    return found


def _flat(content: Json, profile: Profile, file: Path) -> Json:
    known = dict(leaves())
    found: Json = {}
    for path, value in _paths(content, known):
        problem = _problem_of(path, value, known)
        if problem:
            raise Misused(f"--values {file}: {problem} ({PAGE})")
        usual = profile.fixed.get(path, known[path].default)
        if value == usual and not is_env(path):
            continue
        if not (is_copied(profile, path) or is_env(path)):
            raise Misused(
                f"--values {file}: {path} is {usual!r} in the profile {profile.name}, and decides "
                "which objects there are: use Helm to set it"
            )
        if type(value) is not type(usual):
            raise Misused(f"--values {file}: {path} is {value!r}, and has to be like {usual!r}")
        found[path] = value
    return found


def _problem_of(path: str, value: Any, known: Mapping[str, Value]) -> str:
    if path in known:
        return problem_of(path, value, known[path].schema)
    if any(each.startswith(f"{path}.") for each in known):
        return f"{path} is {value!r}, and has to be a map of values"
    return f"{path} is no value of the chart"


def _paths(content: Json, known: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and path not in known:
            yield from _paths(value, known, f"{path}.")
        else:
            yield path, value


def manifest_of(wanted: Wanted) -> list[Json]:
    """The objects to apply: definitions first, then those of the profile with all filled in."""
    profile = PROFILES[wanted.profile]
    values = {
        path: _merged(each.default, wanted.values.get(path, each.default))
        for path, each in leaves()
        if is_copied(profile, path) or is_env(path)
    }
    values["image.tag"] = values["image.tag"] or application_version()
    documents = documents_of(text_for(wanted.profile, MANIFEST.read_text(encoding="utf-8")))
    filled = [_filled(each, values, wanted.namespace) for each in documents]
    return [*definitions(), *(_finished(each, values) for each in filled)]


def _merged(usual: Any, chosen: Any) -> Any:
    """Maps are merged with those of the chart, as Helm does it; null takes a key out."""
    if not (isinstance(usual, dict) and isinstance(chosen, dict)):
        return chosen
    return {
        key: _merged(usual.get(key), chosen.get(key, usual.get(key)))
        for key in (*usual, *(key for key in chosen if key not in usual))
        if chosen.get(key, usual.get(key)) is not None
    }


def application_version() -> str:
    """The version of the image that belongs to this package."""
    return str(document_in(CHART / "Chart.yaml")["appVersion"])


def definitions() -> list[Json]:
    """The CustomResourceDefinitions of the package; Helm would keep them, too."""
    found = []
    for file in sorted(CRDS.glob("*.yaml")):
        definition = document_in(file)
        marks = {**_KEEP, VERSION: application_version()}
        definition["metadata"].setdefault("annotations", {}).update(marks)
        found.append(definition)
    return found


def _filled(part: Any, values: Mapping[str, Any], namespace: str) -> Any:
    """A part of an object with every token replaced: alone by the value, in a text by its text."""
    if isinstance(part, dict):
        whole = _value_of_only(list(part), values)
        if whole is not None:
            return whole
        return {
            key: _text(each, values, namespace)
            if _is_env_value(part, key)
            else _filled(each, values, namespace)
            for key, each in part.items()
        }
    if isinstance(part, list):
        whole = _value_of_only(part, values)
        if whole is not None:
            return whole
        return [_filled(each, values, namespace) for each in part]
    if isinstance(part, str):
        whole = _value_of_only([part], values)
        return _text(part, values, namespace) if whole is None else whole
    return part


def _value_of_only(parts: list[Any], values: Mapping[str, Any]) -> Any:
    """The value of a token that is all there is; None where it is not."""
    if len(parts) != 1 or not isinstance(parts[0], str) or not parts[0].startswith("<"):
        return None
    return values.get(parts[0][1:-1]) if parts[0].endswith(">") else None


def _is_env_value(part: Json, key: str) -> bool:
    return key == "value" and part.keys() == {"name", "value"}


def _text(part: Any, values: Mapping[str, Any], namespace: str) -> Any:
    text = str(part).replace(NAMESPACE, namespace)
    if "<" in text:
        for path, value in values.items():
            text = text.replace(token(path), str(value))
    return text


def _finished(document: Json, values: Mapping[str, Any]) -> Json:
    """What is not a token: settings of services, ports of the brokers, and who manages it."""
    labels = document["metadata"].get("labels", {})
    if MANAGED_BY in labels:
        labels[MANAGED_BY] = MANAGER
    if document["kind"] == "Deployment":
        component = labels["app.kubernetes.io/component"]
        _set_env(document, values[f"services.{component}.env"])
    if document["kind"] == "NetworkPolicy":
        for rule in document["spec"].get("egress") or ():
            rule["ports"] = list(_ports(rule["ports"], str(values["kafka.bootstrapServers"])))
    return document


def _set_env(deployment: Json, settings: Mapping[str, Any]) -> None:
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    env = [each for each in container["env"] if each["name"] != ENV]
    container["env"] = env + [
        {"name": name, "value": _as_text(value)} for name, value in sorted(settings.items())
    ]


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ports(ports: list[Json], servers: str) -> Iterator[Json]:
    for each in ports:
        if each["port"] == KAFKA_PORT:
            numbers = dict.fromkeys(int(server.rpartition(":")[2]) for server in servers.split(","))
            yield from ({**each, "port": number} for number in numbers)
        else:
            yield each
