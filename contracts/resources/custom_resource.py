"""The row of a custom resource: names, fields, columns, rules, topic, writers of its status.

The values themselves stand at the end of each resource's module; what goes over all kinds is made
from them: the CustomResourceDefinitions (`crds.py`), the watched kinds (`contracts/facts.py`), the
rights of watch-ingest, the kinds that report in a condition that they cannot be read. A new kind is
a new row and the service that owns it.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.topics import Topic

from .fields import API_VERSION, GROUP, Fields

CATEGORY = "streams"


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`; one with `wide` shows only with `-o wide`."""

    name: str
    type: str
    json_path: str
    description: str
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the `scale` subresource finds its three values."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule at the root of the object."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class CustomResource:
    """One kind of ours: what its CustomResourceDefinition says, and who writes and reads it.

    `root` is the kind of the root that its objects belong to. A root is its own: a person submits
    it, it owns pods through others, and it has a partition of the log. `container` is the name of
    the one that runs an object in its pods.
    `created_by` is the service that creates its objects for a job; empty for what people create.
    Facts of it go to `topic`. `status_writers` are the services that may patch its status: the one
    that owns it, and watch-ingest, for the condition Readable, where the owner does not report an
    object that cannot be read.
    """

    kind: str
    plural: str
    singular: str
    short_name: str
    spec: type[Fields]
    status: type[Fields]
    description: str
    columns: tuple[PrinterColumn, ...]
    topic: Topic
    status_writers: tuple[str, ...]
    root: str = ""
    container: str = ""
    created_by: str = ""
    rules: tuple[Rule, ...] = ()
    scale: Scale | None = None

    @property
    def is_root(self) -> bool:
        """Whether its objects are roots."""
        return self.root == self.kind

    @property
    def api_version(self) -> str:
        """Group and version as an object's `apiVersion` says them."""
        return API_VERSION

    @property
    def crd_name(self) -> str:
        """The name of the CustomResourceDefinition."""
        return f"{self.plural}.{GROUP}"


REASON_COLUMN = PrinterColumn("Reason", "string", ".status.reason", "Why, as one word.")
STATUS_COLUMN = PrinterColumn(
    "Status", "string", ".status.reason", "Where it stands; of a kind without a phase."
)
MESSAGE_COLUMN = PrinterColumn("Message", "string", ".status.message", "Why, as a sentence.")
AGE_COLUMN = PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation.")


def condition_column(type_: str, description: str) -> PrinterColumn:
    """A column with the status of a condition, named as its type."""
    return PrinterColumn(type_, "string", _path(type_, "status"), description)


def condition_message_column(name: str, type_: str) -> PrinterColumn:
    """A column of `-o wide` with the message of a condition."""
    words = f"What {type_} says, as a sentence."
    return PrinterColumn(name, "string", _path(type_, "message"), words, wide=True)


def _path(type_: str, field: str) -> str:
    return f'.status.conditions[?(@.type=="{type_}")].{field}'


def never_falls(*path: str) -> Rule:
    """A number that, once set, can be neither lowered nor removed.

    The rule stands at the root and asks with `has()`: a rule on the field itself is not evaluated
    when the field is null or absent, and the next write could then lower it unseen.
    """
    return _kept(path, ">=", "never falls")


def never_changes(*path: str) -> Rule:
    """A value that, once set, can be neither changed nor removed; at the root, as above."""
    return _kept(path, "==", "never changes")


def _kept(path: tuple[str, ...], comparison: str, promise: str) -> Rule:
    name = ".".join(path)
    unset_before = " || ".join(f"!{each}" for each in _has("oldSelf", path))
    still_set = " && ".join(_has("self", path))
    return Rule(
        rule=f"{unset_before} || ({still_set} && self.{name} {comparison} oldSelf.{name})",
        message=f"{name} {promise} and cannot be removed",
    )


def _has(root: str, path: tuple[str, ...]) -> list[str]:
    return [f"has({root}.{'.'.join(path[: end + 1])})" for end in range(len(path))]
