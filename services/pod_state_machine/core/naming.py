"""Which fields of a PE ask for Secrets, ConfigMaps and claims; optional ones hold no pod.

The ConfigMaps that millrace makes are not among them: no pod is created before they exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from services.launching.core.named_objects import NamedObject, Use
from services.pod_state_machine.core.snapshot import Job, Pe

Json = Mapping[str, Any]

SECRET: Final = "Secret"  # noqa: S105  the name of a kind
CONFIG_MAP: Final = "ConfigMap"
CLAIM: Final = "PersistentVolumeClaim"
_TEMPLATE: Final = "spec.podTemplate.spec"


def named_by(pe: Pe, job: Job | None) -> tuple[NamedObject, ...]:
    """The objects that the pod of a PE needs, by the fields of its spec and its Job."""
    template = _object(_object(pe.spec.get("podTemplate")).get("spec"))
    found = (
        *_of_spec(pe.spec),
        *_of_pulling(pe, job, template),
        *_of_volumes(template),
        *_of_containers(template),
    )
    return tuple(each for each in found if each.name)


def _of_spec(spec: Json) -> Iterator[NamedObject]:
    for field in ("appPropertiesSecret", "restrictedPropertiesSecret"):
        yield _named(SECRET, spec.get(field), f"spec.{field}")
    claim = _object(spec.get("dataVolumeClaim"))
    yield _named(CLAIM, claim.get("name"), "spec.dataVolumeClaim.name")
    for store in ("checkpointRepository", "checkpointDataStore"):
        files = _object(_object(spec.get(store)).get("fileSystem"))
        claim = _object(files.get("volumeClaim"))
        yield _named(CLAIM, claim.get("name"), f"spec.{store}.fileSystem.volumeClaim.name")


def _of_pulling(pe: Pe, job: Job | None, template: Json) -> Iterator[NamedObject]:
    own, field = pe.spec.get("imagePullSecret"), "spec.imagePullSecret"
    if not own and job is not None:
        own, field = job.image_pull_secret, f"{field} of Job {pe.job}"
    yield _named(SECRET, own, field, Use.PULL)
    for path, each in _items(template, "imagePullSecrets", _TEMPLATE):
        yield _named(SECRET, each.get("name"), f"{path}.name", Use.PULL)


def _of_volumes(template: Json) -> Iterator[NamedObject]:
    for path, volume in _items(template, "volumes", _TEMPLATE):
        yield from _needed(volume, path, (SECRET, "secret", "secretName"))
        yield from _needed(volume, path, (CONFIG_MAP, "configMap", "name"))
        yield from _needed(volume, path, (CLAIM, "persistentVolumeClaim", "claimName"))
        within = f"{path}.projected"
        for part, source in _items(_object(volume.get("projected")), "sources", within):
            yield from _needed(source, part, (SECRET, "secret", "name"))
            yield from _needed(source, part, (CONFIG_MAP, "configMap", "name"))


def _of_containers(template: Json) -> Iterator[NamedObject]:
    use = Use.ENVIRONMENT
    for list_ in ("initContainers", "containers"):
        for path, container in _items(template, list_, _TEMPLATE):
            for part, source in _items(container, "envFrom", path):
                yield from _needed(source, part, (SECRET, "secretRef", "name"), use)
                yield from _needed(source, part, (CONFIG_MAP, "configMapRef", "name"), use)
            for part, variable in _items(container, "env", path):
                source, part_ = _object(variable.get("valueFrom")), f"{part}.valueFrom"
                yield from _needed(source, part_, (SECRET, "secretKeyRef", "name"), use)
                yield from _needed(source, part_, (CONFIG_MAP, "configMapKeyRef", "name"), use)


def _needed(
    source: Json, path: str, names: tuple[str, str, str], use: Use = Use.VOLUME
) -> Iterator[NamedObject]:
    """What a source names; `names`: the kind, the field of the source, and that of the name."""
    kind, field, key = names
    found = _object(source.get(field))
    if found and not found.get("optional"):
        yield _named(kind, found.get(key), f"{path}.{field}.{key}", use)


def _named(kind: str, name: object, field: str, use: Use = Use.VOLUME) -> NamedObject:
    return NamedObject(kind, name if isinstance(name, str) else "", field, use)


def _items(parent: Json, field: str, path: str) -> Iterator[tuple[str, Json]]:
    """The elements of a list, with the path of each; a template may have any form."""
    found = parent.get(field)
    for number, each in enumerate(found if isinstance(found, list | tuple) else ()):
        yield f"{path}.{field}[{number}]", _object(each)


def _object(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}
