"""The profiles that `millrace install` knows, and which values of the chart each leaves open.

The manifest is the chart, rendered for all profiles. A value that the templates only copy is
rendered as `<its.path>` and filled in at installation; one that decides what is rendered is fixed
in a profile. A line that begins with `# of` names the profiles that have the lines after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from deploy.chart_kinds import Section, Tree, Value
from deploy.chart_values import VALUES

Json = dict[str, Any]

NAMESPACE: Final = "namespace-of-the-release"
KAFKA_PORT: Final = 65533
"""Stands for the ports of the brokers."""
ENV: Final = "MILLRACE_ENV_OF_VALUES"
"""Stands for the settings of a service."""

COPIED: Final = frozenset(
    {
        "image.repository",
        "image.tag",
        "image.pullPolicy",
        "image.pullSecrets",
        "podSecurity",
        "kafka.bootstrapServers",
        "kafka.partitions",
        "kafka.topicPrefix",
        "kafka.topics.podAnnotations",
        "bundles.rootUrl",
        "bundles.store.size",
        "logLevel",
        "metricsPort",
        "priorityClassName",
        "podAnnotations",
    }
)
COPIED_OF_SERVICES: Final = frozenset(
    {"replicas", "resources", "accountAnnotations", "nodeSelector", "tolerations", "affinity"}
)
ENV_OF_SERVICES: Final = "env"
MARK: Final = "# of "


@dataclass(frozen=True, slots=True)
class Profile:
    """What is rendered: `fixed` values differ from the chart's, `copied` ones are filled in."""

    name: str
    help: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    copied: frozenset[str] = frozenset()


_CLIENTS: Final = frozenset(
    f"kafka.clients.{name}.secret"
    for name in VALUES["kafka"].values["clients"].values  # type: ignore[union-attr]
)
PROFILES: Final[Mapping[str, Profile]] = {
    each.name: each
    for each in (
        Profile("cluster", "for all namespaces, with brokers that want no login"),
        Profile(
            "secured",
            "the same with TLS, a login of each service (SCRAM-SHA-512) and ACLs",
            {"kafka.protocol": "SASL_SSL", "kafka.topics.acls": True},
            _CLIENTS | {"kafka.caSecret"},
        ),
        Profile(
            "trial",
            "with Kafka in a pod and no volumes: everything is lost with the pods",
            {
                "kafka.embedded.enabled": True,
                "kafka.embedded.persistent": False,
                "bundles.store.kind": "emptyDir",
            },
            frozenset(
                f"kafka.embedded.{name}" for name in ("image", "format", "command", "resources")
            ),
        ),
    )
}


def text_for(profile: str, manifest: str) -> str:
    """The lines of the manifest that a profile has."""
    kept, is_kept = [], True
    for line in manifest.splitlines(keepends=True):
        if line.startswith(MARK):
            is_kept = profile in line.split()
        elif is_kept:
            kept.append(line)
    return "".join(kept)


def token(path: str) -> str:
    """What stands for a value in a manifest."""
    return f"<{path}>"


def _rendered_as(path: str, default: Any) -> Any:
    """The token in the shape of the value, for templates and Helm look at shapes."""
    name = token(path)
    if isinstance(default, dict):
        return {name: name, **dict.fromkeys(default)}  # Helm merges maps; null takes a key out
    return [name] if isinstance(default, list) else name


def is_copied(profile: Profile, path: str) -> bool:
    """Whether a value is filled in at installation."""
    if path in COPIED or path in profile.copied:
        return True
    parts = path.split(".")
    return parts[0] == "services" and parts[-1] in COPIED_OF_SERVICES


def is_env(path: str) -> bool:
    """Whether it is the settings of a service."""
    return path.startswith("services.") and path.endswith(f".{ENV_OF_SERVICES}")


def leaves(tree: Tree = VALUES, prefix: str = "") -> Iterator[tuple[str, Value]]:
    """Every value of the chart, by its path."""
    for name, each in tree.items():
        if isinstance(each, Section):
            yield from leaves(each.values, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", each


def values_to_render(profile: Profile) -> Json:
    """What Helm gets: tokens where a value is copied."""
    values: Json = {}
    for path, value in leaves():
        if path in profile.fixed:
            put(values, path, profile.fixed[path])
        elif is_env(path):
            put(values, path, {ENV: "x", **dict.fromkeys(value.default)})
        elif is_copied(profile, path):
            put(values, path, _rendered_as(path, value.default))
    put(values, "crds.enabled", False)  # the package has them
    put(values, "networkPolicies.kafkaPorts", [KAFKA_PORT])
    return values


def put(values: Json, path: str, value: Any) -> None:
    """Set one value by its path."""
    *sections, last = path.split(".")
    for section in sections:
        values = values.setdefault(section, {})
    values[last] = value
