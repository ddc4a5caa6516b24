"""The Secrets, ConfigMaps and claims that a pod waits for, and the fields that ask for them.

Whether one exists is not read: nothing here needs a right on Secrets. The kubelet and the scheduler
name a missing object in most of their messages; where they do not, all that may hold the pod are
named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from contracts.reasons import Reason

VOLUMES_LATE_S: Final = 10.0
"""How long a pod may be on its node before its status says that its volumes are not mounted."""
NAMED_MAX: Final = 5
"""How many objects a message names; more are counted."""


class Use(Enum):
    """What a pod needs an object for."""

    VOLUME = "a volume that is mounted before its containers start"
    ENVIRONMENT = "environment variables of a container"
    PULL = "the credentials with which its images are pulled"


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object in the namespace of a pod, and the path of the field that names it."""

    kind: str
    name: str
    field: str
    use: Use

    @property
    def text(self) -> str:
        """The field and the object, for people."""
        return f"{self.field}: {self.kind} {self.name}"

    def is_in(self, message: str) -> bool:
        """Whether a message of the kubelet or of the scheduler names it."""
        quoted = f'{self.kind} "{self.name}"'.lower()
        return quoted in message.lower() or f"{self.kind} {self.name} " in message


def volumes_text(pod: str, needed: Iterable[NamedObject]) -> str:
    """Which objects the volumes of a pod need, the fields that name them, and the remedy."""
    named = [each for each in needed if each.use is Use.VOLUME]
    look = f"kubectl describe pod {pod} shows the words of the kubelet"
    if not named:
        return f"Its spec names no Secret, ConfigMap or claim as a volume; {look}."
    return f"It asks for {_listed(named)}. Create what does not exist; {look}."


def fields_text(reason: Reason, problem: str, needed: Iterable[NamedObject]) -> str:
    """Which fields ask for what a pod lacks, for the problem in its status; empty if none does."""
    if reason is Reason.IMAGE_PULL_FAILED:
        named = [each for each in needed if each.use is Use.PULL]
        says = f"See that its pull secrets exist and are for that registry: {_listed(named)}."
    else:
        named = [each for each in needed if each.is_in(problem)]
        says = f"Create what is missing, or correct the field: {_listed(named)}."
    return says if named else ""


def _listed(named: list[NamedObject]) -> str:
    texts = list(dict.fromkeys(each.text for each in named))
    more = f", and {len(texts) - NAMED_MAX} more" if len(texts) > NAMED_MAX else ""
    return ", ".join(texts[:NAMED_MAX]) + more
