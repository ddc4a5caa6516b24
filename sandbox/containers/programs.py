"""Which images run here as processes, and what a path of an image means on this machine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

Obj = Mapping[str, Any]
CONTAINER_FIELDS = ("initContainers", "containers")


@dataclass(frozen=True)
class Programs:
    """The patterns of images that run, and the commands that stand for paths in them.

    A pattern has as many parts (between `/`) as it wants of the end of the image's repository:
    `millrace/runtime*` means `ghcr.io/acme/millrace/runtime:1.2`. Tag and digest do not count.
    """

    images: tuple[str, ...] = ()
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def runs(self, pod: Obj) -> bool:
        """Whether the images of all containers of a pod run here."""
        containers = containers_of(pod)
        return bool(containers) and all(
            any(matches(pattern, str(container.get("image", ""))) for pattern in self.images)
            for container in containers
        )

    def command_of(self, container: Obj) -> tuple[str, ...]:
        """The words of a container's command, before variables are put in; may be empty."""
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        if not words:
            return ()
        return (*self.paths.get(words[0], (words[0],)), *words[1:])


def containers_of(pod: Obj) -> list[Obj]:
    """All containers of a pod, those that initialize it first."""
    return [each for name in CONTAINER_FIELDS for each in pod["spec"].get(name) or ()]


def matches(pattern: str, image: str) -> bool:
    """Whether the repository of an image ends in the parts of a pattern."""
    repository = image.partition("@")[0]
    head, slash, last = repository.rpartition("/")
    parts = (head + slash + last.partition(":")[0]).split("/")
    wanted = pattern.split("/")
    if len(parts) < len(wanted):
        return False
    ends = parts[len(parts) - len(wanted) :]
    return all(fnmatchcase(part, want) for part, want in zip(ends, wanted, strict=True))
