"""Children as the table has them, each field under one name: no other module sees their JSON.

A view holds its entry and copies nothing: a job of 500 PEs has 2,500 children. A projection always
has metadata, with labels and owners; a field of a spec or a status may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.moments import unix_s_of
from contracts.reasons import Reason, reason_of
from contracts.resources import JOB
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.showing import shown
from services.chassis.table.entries import Entry, is_deleting
from services.fusion_backend.core.awaited import Awaited, awaited_of


@dataclass(frozen=True, slots=True)
class _Seen:
    """What every kind of child has."""

    entry: Entry

    @property
    def name(self) -> str:
        """The object's name."""
        return self.entry.name

    @property
    def is_deleting(self) -> bool:
        """Whether it is terminating."""
        return is_deleting(self.entry)

    @property
    def spec(self) -> Mapping[str, Any]:
        """Its spec, whole."""
        spec: Mapping[str, Any] = self.entry.data["spec"]
        return spec

    @property
    def status(self) -> Mapping[str, Any]:
        """Its status, whole; empty before the first."""
        status: Mapping[str, Any] = self.entry.data["status"]
        return status

    @property
    def spec_generation(self) -> int:
        """`metadata.generation`, which counts the versions of the spec."""
        return int(self.entry.data["metadata"]["generation"])


@dataclass(frozen=True, slots=True)
class PeSeen(_Seen):
    """A ProcessingElement."""

    @property
    def content_id(self) -> str | None:
        """The content that it is to run."""
        return self.spec.get("contentId")

    @property
    def pack(self) -> Mapping[str, Any]:
        """Name of its pack and key in it; empty where it names none."""
        return self.spec.get("pack") or {}

    @property
    def demand(self) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Resources and pod template of its pods."""
        return self.spec.get("resources"), self.spec.get("podTemplate")

    @property
    def resources(self) -> Mapping[str, Any]:
        """Resources of its pods; empty where it has none."""
        return self.spec.get("resources") or {}

    @property
    def resizes_in_place(self) -> bool:
        """Whether the pod that runs takes other resources."""
        return bool(self.spec.get("resizesInPlace"))

    @property
    def starts_last(self) -> bool:
        """Whether its first pod waits until the other PEs of the job are on nodes."""
        return bool(self.spec.get("startsLast"))

    @property
    def service_name(self) -> str:
        """The Service in which its pods have host names; empty where it has one of its own."""
        return str(self.spec.get("serviceName") or "")

    @property
    def phase(self) -> str | None:
        """Its phase; None before the first status."""
        return self.status.get("phase")

    @property
    def node(self) -> str:
        """The node of its pod; empty where it has none."""
        return str(self.status.get("node") or "")

    @property
    def unschedulable_since(self) -> float | None:
        """Since when (unix seconds) no node takes its pod; None where that is not so."""
        if self.reason != Reason.UNSCHEDULABLE:
            return None
        return _true_since(self.status, "reason", Reason.UNSCHEDULABLE)

    @property
    def launched_content_id(self) -> str | None:
        """The content of the launch that its phase is about."""
        return self.status.get("contentId")

    @property
    def reason(self) -> str | None:
        """Why it is in its phase."""
        return self.status.get("reason")

    @property
    def id(self) -> int:
        """Its number in the job."""
        return int(self.spec["id"])

    @property
    def launch_count(self) -> int:
        """The number of its newest launch; 0 before the first status."""
        return int(self.status.get("launchCount") or 0)

    @property
    def launch_that_hands_over(self) -> int:
        """The launch whose runtime reports that it seals its state before a resize; 0: none."""
        runtime = self.status.get("runtime") or {}
        return int(runtime.get("launch") or 0) if runtime.get("handsOver") else 0

    @property
    def sealed(self) -> tuple[int, int]:
        """(launch, generation of the plan) for which its runtime has sealed; -1: for none."""
        runtime = self.status.get("runtime") or {}
        return int(runtime.get("launch") or 0), int(runtime.get("sealed", -1))

    @property
    def restarts_completed(self) -> bool:
        """Whether a pod of it that completes is followed by another one."""
        return bool(self.spec.get("restartCompletedPod"))

    @property
    def message(self) -> str:
        """The same for people."""
        return str(self.status.get("message"))


@dataclass(frozen=True, slots=True)
class RefusedWidth:
    """The refused width of a ParallelRegion, as its `status.refused` says.

    `inputs_digest` is that of the refused plan, which would have followed the plan of `generation`;
    empty for a width that no plan is made for. `text` is the status' message, with `message` in it.
    `attempts`: how often no placement was found, from `since` to `tried_at` (moments; empty until
    they are written). While it `waits`, it is tried again, at once when `awaited` nodes appear.
    """

    width: int
    reason: Reason
    message: str
    inputs_digest: str
    generation: int
    text: str
    attempts: int = 0
    since: str = ""
    tried_at: str = ""
    waits: bool = False
    awaited: tuple[Awaited, ...] = ()

    def __post_init__(self) -> None:
        """Texts as any reader may see them, and as long as a status takes them."""
        object.__setattr__(self, "message", shown(self.message, MESSAGE_CHARS_MAX))
        object.__setattr__(self, "text", shown(self.text, MESSAGE_CHARS_MAX))

    def to_json(self) -> dict[str, Any]:
        """The field `status.refused`; `text` stands beside it."""
        return {
            "width": self.width,
            "reason": self.reason.value,
            "message": self.message,
            "inputsDigest": self.inputs_digest,
            "generation": self.generation,
            "attempts": self.attempts or None,
            "since": self.since or None,
            "triedAt": self.tried_at or None,
            "awaitedNodes": [each.to_json() for each in self.awaited] or None,
        }


@dataclass(frozen=True, slots=True)
class RegionSeen(_Seen):
    """A ParallelRegion."""

    def width(self, default: int) -> int:
        """The requested width."""
        return int(self.spec.get("width", default))

    @property
    def reported(self) -> tuple[int | None, int | None, int | None]:
        """What its status speaks of: (generation of the spec, generation of the plan, width)."""
        status = self.status
        return status.get("observedGeneration"), status.get("generation"), status.get("width")

    @property
    def reason(self) -> str | None:
        """The reason in its status."""
        return self.status.get("reason")

    @property
    def message(self) -> str:
        """The same for people."""
        return str(self.status.get("message") or "")

    def says(self, fields: Mapping[str, Any]) -> bool:
        """Whether its status has these fields, each with this value."""
        return all(self.status.get(name) == value for name, value in fields.items())

    def says_refused(self, refused: RefusedWidth | None) -> bool:
        """Whether its status says this refusal; a field without a value is absent there."""
        wanted = refused.to_json() if refused is not None else {}
        present = {name: value for name, value in wanted.items() if value is not None}
        return (self.status.get("refused") or {}) == present

    @property
    def attempts(self) -> int:
        """How many attempts to place the requested width have failed since it was set."""
        refused, (observed, _, _) = self.refused, self.reported
        if refused is None or observed != self.spec_generation:
            return 0
        return refused.attempts if refused.width == self.width(-1) else 0

    @property
    def has_refused(self) -> bool:
        """Whether its status has the field `refused`; one of an older release has not."""
        return self.status.get("refused") is not None

    @property
    def refused(self) -> RefusedWidth | None:
        """The refusal in its status; None without one that we can read."""
        field = self.status.get("refused") or {}
        reason = reason_of(field.get("reason"))
        if reason is None:
            return None
        return RefusedWidth(
            width=field.get("width", -1),
            reason=reason,
            message=str(field.get("message") or ""),
            inputs_digest=str(field.get("inputsDigest")),
            generation=field.get("generation", -1),
            text=self.message,
            attempts=field.get("attempts") or 0,
            since=field.get("since") or "",
            tried_at=field.get("triedAt") or "",
            waits=self.reason == Reason.WIDTH_WAITS,
            awaited=awaited_of(field),
        )


@dataclass(frozen=True, slots=True)
class PlacementSeen(_Seen):
    """A Placement: the request in its spec, the answer in its status."""

    @property
    def requested_generation(self) -> int:
        """The plan generation that it asks for; -1 where it names none."""
        generation = self.spec.get("generation")
        return generation if isinstance(generation, int) else -1

    @property
    def is_answered(self) -> bool:
        """Whether the status answers the spec that is there now."""
        return self.status.get("observedGeneration") == self.spec_generation

    @property
    def answered_generation(self) -> int | None:
        """The plan generation whose assignments the status has."""
        return self.status.get("generation")

    @property
    def phase(self) -> str | None:
        """The answer; None before the first."""
        return self.status.get("phase")

    @property
    def placed_since(self) -> float | None:
        """Since when (unix seconds) the spec that is there now is answered with a placement."""
        return _true_since(self.status, "type", "Placed") if self.is_answered else None

    @property
    def waits(self) -> bool:
        """Whether a refusal is only for as long as the cluster is as it is."""
        return bool(self.status.get("waits"))

    @property
    def reason(self) -> str | None:
        """Why there is no placement."""
        return self.status.get("reason")

    @property
    def message(self) -> str:
        """The same for people; may be empty."""
        return str(self.status.get("message") or "")


@dataclass(frozen=True, slots=True)
class PoolSeen(_Seen):
    """A HostPool."""

    @property
    def declared(self) -> Mapping[str, Any]:
        """What the application declares of it."""
        return self.spec.get("hostpool") or {}


@dataclass(frozen=True, slots=True)
class ReferrerSeen(_Seen):
    """A ParallelRegion or a HostPool, and what it names."""

    @property
    def is_region(self) -> bool:
        """Whether it is a ParallelRegion."""
        return self.entry.kind == "ParallelRegion"

    @property
    def job(self) -> str:
        """The Job in its spec; empty if it names none."""
        return str(self.spec.get("job") or "")

    @property
    def alias(self) -> str:
        """The region or host pool of the application."""
        return str(self._declared.get("alias" if self.is_region else "name") or "")

    @property
    def index(self) -> int | None:
        """Its index in the application, if it names one."""
        return self._declared.get("index")

    @property
    def alias_field(self) -> str:
        """The path of the alias."""
        return "spec.alias" if self.is_region else "spec.hostpool.name"

    @property
    def index_field(self) -> str:
        """The path of the index."""
        return "spec.index" if self.is_region else "spec.hostpool.index"

    @property
    def _declared(self) -> Mapping[str, Any]:
        return self.spec if self.is_region else self.spec.get("hostpool") or {}


@dataclass(frozen=True, slots=True)
class ServiceSeen(_Seen):
    """A Service; a fact of an older release has its metadata only."""

    @property
    def spec_if_seen(self) -> Mapping[str, Any] | None:
        """Its spec, if the fact has one."""
        return self.entry.data.get("spec")


def _true_since(status: Mapping[str, Any], key: str, value: str) -> float | None:
    """Since when (unix seconds) the condition with this type or reason is True; None: it is not."""
    return next(
        (
            unix_s_of(each["lastTransitionTime"])
            for each in status.get("conditions") or ()
            if each[key] == value and each["status"] == "True"
        ),
        None,
    )


def labels_of(child: Entry) -> Mapping[str, str]:
    """The labels of a child of any kind."""
    found: Mapping[str, str] = child.data["metadata"]["labels"]
    return found


def owner_uids_of(child: Entry) -> tuple[str, ...]:
    """The uids of the owners of a child of any kind."""
    return tuple(owner["uid"] for owner in child.data["metadata"]["owners"])


def controlling_job(child: Entry) -> tuple[str, str] | None:
    """(name, uid) of the Job that controls a child of any kind, or a pod."""
    for owner in (child.data.get("metadata") or {}).get("owners") or ():
        if owner["controller"] and owner["kind"] == JOB.kind:
            return str(owner["name"]), str(owner["uid"])
    return None
