"""Which root an object belongs to: a Job, or an object of another kind whose row is one of a root.

The root decides the partition of the log, the trace, and who launches and cleans up. Where roots
are named (the field `job` of a fact, the key of a decision), a Job has its name alone. Others are
KIND/NAME, which no Job, label or object can be called. Each kind of root has labels of its own:
what a Batch owns never belongs to the Job that has the name of the Batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from contracts import labels
from contracts.names import DOMAIN_CHARS_MAX, is_word
from contracts.resources import CUSTOM_RESOURCES, JOB, PROCESSING_ELEMENT, CustomResource
from contracts.topics import partition_of
from contracts.unreadable import ObjectUnreadable

Obj = Mapping[str, Any]
OwnerOf = Callable[[str, str, str], tuple[str, str] | None]
"""(kind, namespace, name) → (kind, name) of its controller owner."""

ROWS: Final[dict[str, CustomResource]] = {row.kind: row for row in CUSTOM_RESOURCES}
_OWNER_CHAIN_MAX = 4
"""Owner references may form a cycle."""


@dataclass(frozen=True, slots=True, order=True)
class Root:
    """A root, by kind and name: all objects that have them in time."""

    kind: str
    name: str

    @property
    def key(self) -> str:
        """What facts, decisions and people call it."""
        return self.name if self.kind == JOB.kind else f"{self.kind}/{self.name}"

    @property
    def selector(self) -> str:
        """Selects what bears its label."""
        return f"{label_of(self.kind)}={self.name}"

    def selector_of_uid(self, uid: str) -> str:
        """Selects what is of this one object: one that bears its uid and another name is not."""
        return f"{uid_label_of(self.kind)}={uid},{self.selector}"

    def partition(self, namespace: str, partitions: int) -> int:
        """The partition of everything that belongs to it."""
        return partition_of(namespace, self.key, partitions)


def roots() -> Iterator[str]:
    """The kinds of roots; a Job is the first."""
    return (row.kind for row in ROWS.values() if row.is_root)


def is_root(kind: str) -> bool:
    """Whether objects of a kind are roots."""
    return kind in ROWS and ROWS[kind].is_root


def owns_pods(kind: str) -> bool:
    """Whether objects of a kind are launched as pods."""
    return kind in ROWS and bool(ROWS[kind].container)


def kinds_of(root: str) -> tuple[str, ...]:
    """The kinds of what belongs to roots of a kind, and is no root: those with pods come first."""
    found = (row for row in ROWS.values() if row.root == root and not row.is_root)
    return tuple(row.kind for row in sorted(found, key=lambda row: not row.container))


@cache
def label_of(kind: str) -> str:
    """The label that names the root of an object, of roots of this kind."""
    return f"{labels.PREFIX}/{kind.lower()}"


def uid_label_of(kind: str) -> str:
    """The label with the uid of the root of an object."""
    return f"{label_of(kind)}-uid"


def root_named(key: str) -> Root:
    """The root of a key; raises ValueError for the name of anything else."""
    kind, slash, name = key.rpartition("/")
    found = next((each for each in roots() if each.lower() == kind.lower()), "")
    if (slash and not found) or not is_word(name, DOMAIN_CHARS_MAX):
        kinds = ", ".join(f"{each}/NAME" for each in roots())
        raise ValueError(f"{key[:80]!r} names no root: say NAME for a Job, or one of {kinds}")
    return Root(found or JOB.kind, name)


def is_root_key(key: str) -> bool:
    """Whether a text has the form of a key; the kind may be one of another release."""
    kind, slash, name = key.rpartition("/")
    return is_word(name, DOMAIN_CHARS_MAX) and (not slash or (is_word(kind) and kind[0].isupper()))


def root_of(kind: str, obj: Obj, owner_of: OwnerOf) -> Root:
    """The root that an object of the API server belongs to: this decides its partition.

    The root at the end of the chain of controller owners, else the one of its label, else the one
    that its spec names, else one of its own name.
    """
    meta = obj["metadata"]
    owners = meta.get("ownerReferences") or ()
    owner = first = controller(owners)
    for _ in range(_OWNER_CHAIN_MAX):
        if owner is None or is_root(kind):
            break
        if (root := _as_root(owner)) is not None:
            return root
        owner = owner_of(owner[0], meta.get("namespace", ""), owner[1])
    kinds = _kinds_of_roots(kind, first)
    name = str(meta["name"])
    return _root_by_name(kind, name, meta.get("labels") or {}, obj, kinds) or Root(kinds[0], name)


def root_in(kind: str, name: str, projection: Obj) -> Root | None:
    """The root that the projection of an object names; None where it names none.

    Its controller if that is a root, else its label, else its spec.
    """
    meta = projection.get("metadata") or {}
    owner = controller(meta.get("owners") or ())
    if not is_root(kind) and (root := _as_root(owner)) is not None:
        return root
    kinds = _kinds_of_roots(kind, owner)
    return _root_by_name(kind, name, meta.get("labels") or {}, projection, kinds)


def labelled(kind: str, obj: Obj) -> Root | None:
    """The root of the label of an object, or of its projection."""
    meta = obj.get("metadata") or {}
    owners = meta.get("owners") or meta.get("ownerReferences") or ()
    return _in_labels(meta.get("labels") or {}, _kinds_of_roots(kind, controller(owners)))


def uid_labelled(kind: str, projection: Obj) -> str:
    """The uid of the root in the labels of a projection; empty without one."""
    root = labelled(kind, projection)
    if root is None:
        return ""
    return str(projection["metadata"]["labels"].get(uid_label_of(root.kind), ""))


def container_of(pod: Obj) -> str:
    """The container of a pod that runs its owner; others are sidecars."""
    meta = pod.get("metadata") or {}
    owner = controller(meta.get("ownerReferences") or meta.get("owners") or ())
    row = ROWS.get(owner[0]) if owner is not None else None
    return (row.container if row is not None else "") or PROCESSING_ELEMENT.container


def controller(owners: Any) -> tuple[str, str] | None:
    """Kind and name of the controller among the owners of an object."""
    for each in owners:  # no generator: tables ask it for each index of each pod
        if each.get("controller"):
            return str(each["kind"]), str(each["name"])
    return None


def _as_root(owner: tuple[str, str] | None) -> Root | None:
    """An owner, if it is a root; people give owners any name."""
    is_one = owner is not None and is_root(owner[0]) and is_word(owner[1], DOMAIN_CHARS_MAX)
    return Root(*owner) if owner is not None and is_one else None


def _kinds_of_roots(kind: str, owner: tuple[str, str] | None) -> tuple[str, ...]:
    """The kinds of roots that an object of this kind, or with this controller, can belong to."""
    row = ROWS.get(kind) or (ROWS.get(owner[0]) if owner is not None else None)
    return (row.root,) if row is not None and row.root else tuple(roots())


def _root_by_name(
    kind: str, name: str, marks: Mapping[str, Any], obj: Obj, kinds: tuple[str, ...]
) -> Root | None:
    if is_root(kind):
        return Root(kind, name)
    return _in_labels(marks, kinds) or _in_spec(obj, kinds)


def _in_labels(marks: Mapping[str, Any], kinds: tuple[str, ...]) -> Root | None:
    for each in kinds:
        if named := marks.get(label_of(each)):
            return Root(each, str(named))
    return None


def _in_spec(obj: Obj, kinds: tuple[str, ...]) -> Root | None:
    """The root that the spec of an object of ours names; None if it names none that can be read."""
    try:
        spec = obj.get("spec")
        named = (
            ((each, spec.get(each.lower())) for each in kinds) if isinstance(spec, Mapping) else ()
        )
        return next(
            (
                Root(each, name)
                for each, name in named
                if isinstance(name, str) and is_word(name, DOMAIN_CHARS_MAX)
            ),
            None,
        )
    except ObjectUnreadable:
        return None
