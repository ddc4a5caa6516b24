"""The parts of a pod template, as JSON of any shape, and where each stands.

What is no list has no elements and what is no object has no fields: nothing here raises, and the
shape itself is judged elsewhere (`contracts/resources/pod_shapes.py`). What a part may say is
`pod_security.py`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Json = Mapping[str, Any]


class Group(NamedTuple):
    """A part of a template and where it stands."""

    place: str
    fields: Json

    def at(self, path: str) -> Any:
        """The value that a path of names leads to; None where it leads nowhere."""
        value: Any = self.fields
        for step in path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        return value

    def inner(self, path: str) -> Group:
        """A group in this one; empty if it does not exist."""
        return Group(f"{self.place}.{path}", fields_of(self.at(path)))

    def elements(self, path: str) -> Iterator[Group]:
        """The groups of a list in this one."""
        value = self.at(path)
        for at, each in enumerate(value if isinstance(value, list) else ()):
            yield Group(f"{self.place}.{path}[{at}]", fields_of(each))


def fields_of(value: Any) -> Json:
    """The fields of an object; nothing for any other value."""
    return value if isinstance(value, Mapping) else {}


CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


def containers_of(template: Group) -> Iterator[Group]:
    """The containers of every kind."""
    for name in CONTAINER_LISTS:
        yield from template.inner("spec").elements(name)


def spec_of(template: Group) -> Iterator[Group]:
    """The spec of the pod."""
    yield template.inner("spec")


def contexts(template: Group) -> Iterator[Group]:
    """The security contexts of the pod and of its containers."""
    yield template.inner("spec.securityContext")
    yield from container_contexts(template)


def container_contexts(template: Group) -> Iterator[Group]:
    """The security context of each container; empty where it has none."""
    for container in containers_of(template):
        yield container.inner("securityContext")


def volumes(template: Group) -> Iterator[Group]:
    """The volumes of the pod."""
    yield from template.inner("spec").elements("volumes")


def ports(template: Group) -> Iterator[Group]:
    """The ports of every container."""
    for container in containers_of(template):
        yield from container.elements("ports")


_HANDLERS: Final = (
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle.postStart",
    "lifecycle.preStop",
)


def handlers(template: Group) -> Iterator[Group]:
    """What a kubelet does to a container: it sends requests from the network of the host."""
    for container in containers_of(template):
        for path in _HANDLERS:
            yield container.inner(path)


def sysctls(template: Group) -> Iterator[Group]:
    """The kernel settings of the pod."""
    yield from template.inner("spec.securityContext").elements("sysctls")


def projections(template: Group) -> Iterator[Group]:
    """What the projected volumes of the pod are put together from."""
    for volume in volumes(template):
        yield from volume.elements("projected.sources")
