"""What the garbage collector decides about one object, given what became of its owners.

Pure. Which owners exist is found out by garbage_collector.py, which also carries out the result.
https://kubernetes.io/docs/concepts/architecture/garbage-collection/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from sandbox.store.deleting import FOREGROUND, ORPHAN

Obj = Mapping[str, Any]


class Fate(Enum):
    """What became of an owner that an object names."""

    SOLID = auto()  # exists and keeps its dependents
    ABSENT = auto()  # does not exist, or not with this uid
    WAITING = auto()  # is being deleted in the foreground: it waits for its dependents
    UNRESOLVABLE = auto()  # its kind is not served, or not allowed here: nothing is known


@dataclass(frozen=True)
class Owner:
    """One owner reference and what became of the owner."""

    reference: Obj
    fate: Fate

    @property
    def uid(self) -> str:
        return str(self.reference.get("uid", ""))


@dataclass(frozen=True)
class Keep:
    """Nothing to do."""


@dataclass(frozen=True)
class SetOwners:
    """Write these owner references; nothing else."""

    references: tuple[Obj, ...]


@dataclass(frozen=True)
class Delete:
    """Delete the object, after writing `references` if they are not None."""

    propagation: str
    references: tuple[Obj, ...] | None = None


Decision = Keep | SetOwners | Delete


def decide(item: Obj, owners: Sequence[Owner], dependents: Sequence[Obj]) -> Decision:
    """What to do with an object that is not being deleted.

    1. An owner whose fate is not known protects. 2. One solid owner is enough to stay; references
    to the others go. 3. Without a solid owner the object goes. If an owner waits for it and it has
    dependents of its own, those go first. If one of them waits, too, the two may wait for each
    other in a circle: the object stops blocking its owners.
    """
    fates = {owner.fate for owner in owners}
    if not owners or Fate.UNRESOLVABLE in fates or fates == {Fate.SOLID}:
        return Keep()
    if Fate.SOLID in fates:
        kept = tuple(owner.reference for owner in owners if owner.fate is Fate.SOLID)
        return SetOwners(kept)
    if Fate.WAITING in fates and dependents:
        circle = any(waits_for_dependents(dependent) for dependent in dependents)
        return Delete("Foreground", _unblocked(owners) if circle else None)
    return Delete(_propagation(item))


def is_deleting(item: Obj) -> bool:
    return bool(item["metadata"].get("deletionTimestamp"))


def waits_for_dependents(item: Obj) -> bool:
    return is_deleting(item) and FOREGROUND in (item["metadata"].get("finalizers") or ())


def orphans_dependents(item: Obj) -> bool:
    return is_deleting(item) and ORPHAN in (item["metadata"].get("finalizers") or ())


def blocks(dependent: Obj, uid: str) -> bool:
    """Whether the owner with this uid has to outlive `dependent`."""
    return any(
        reference.get("uid") == uid and reference.get("blockOwnerDeletion")
        for reference in references_of(dependent)
    )


def references_of(item: Obj) -> Sequence[Obj]:
    return item["metadata"].get("ownerReferences") or ()


def without_owner(item: Obj, uid: str) -> list[Obj]:
    """The owner references that remain once the owner with this uid is forgotten."""
    return [reference for reference in references_of(item) if reference.get("uid") != uid]


def without_finalizer(item: Obj, finalizer: str) -> list[str]:
    finalizers = item["metadata"].get("finalizers") or ()
    return [name for name in finalizers if name != finalizer]


def _unblocked(owners: Sequence[Owner]) -> tuple[Obj, ...] | None:
    if not any(owner.reference.get("blockOwnerDeletion") for owner in owners):
        return None
    return tuple({**owner.reference, "blockOwnerDeletion": False} for owner in owners)


def _propagation(item: Obj) -> str:
    """An object that says how it wants to be deleted is deleted so."""
    finalizers = item["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
