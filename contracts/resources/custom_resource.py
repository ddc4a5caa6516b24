"""What a custom resource is besides its fields: names, printer columns, subresources, root rules.

`crds.py` turns one of these values into a CustomResourceDefinition; the values themselves stand at
the end of each resource's module.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    """One kind of ours: everything that its CustomResourceDefinition says."""

    kind: str
    plural: str
    singular: str
    short_name: str
    spec: type[Fields]
    status: type[Fields]
    description: str
    columns: tuple[PrinterColumn, ...]
    rules: tuple[Rule, ...] = ()
    scale: Scale | None = None

    @property
    def api_version(self) -> str:
        """Group and version as an object's `apiVersion` says them."""
        return API_VERSION

    @property
    def crd_name(self) -> str:
        """The name of the CustomResourceDefinition."""
        return f"{self.plural}.{GROUP}"


REASON_COLUMN = PrinterColumn("Reason", "string", ".status.reason", "Why, as one word.")
MESSAGE_COLUMN = PrinterColumn("Message", "string", ".status.message", "Why, as a sentence.")
AGE_COLUMN = PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation.")


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
