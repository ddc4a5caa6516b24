"""What fusion-backend learns that is no Kubernetes object, as values that a log can keep.

Each enters by `Wiring.enter` before it counts, and is taken in again by a replay
(`adapters/answers.py`). A plan record is kept whole once for each start, later by its digest; of
its AADLs the content ids are kept, for a decision asks no more of them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import zlib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import TypeAdapter

from planner.numbering.records import PlanRecord
from services.fusion_backend.core.effects import RefusalKept, WidthsUnplaced
from services.fusion_backend.core.snapshot import Trouble
from services.fusion_backend.core.spec.inputs import PlanInputs


@dataclass(frozen=True, slots=True)
class RecordKept:
    """A plan record by its SHA-256; `packed` is gzip of its JSON in base64, empty after once."""

    sha256: str
    packed: str = ""

    @staticmethod
    def of(record: PlanRecord, known: Container[str]) -> RecordKept:
        """A record that is kept whole unless it is among the known ones."""
        text = record.to_bytes()
        digest = hashlib.sha256(text).hexdigest()
        if digest in known:
            return RecordKept(digest)
        return RecordKept(digest, base64.b64encode(gzip.compress(text, mtime=0)).decode())

    def record(self, known: Mapping[str, PlanRecord]) -> PlanRecord:
        """The record; KeyError if it is not known and not here, ValueError if it is damaged."""
        if not self.packed:
            return known[self.sha256]
        try:
            return PlanRecord.from_json(gzip.decompress(base64.b64decode(self.packed)))
        except (OSError, EOFError, zlib.error) as damage:
            raise ValueError(f"plan record {self.sha256} is damaged: {damage}") from damage


@dataclass(frozen=True, slots=True)
class PlanMade:
    """The planner made a plan; `texts` are the content ids of its AADLs and port labels."""

    job_uid: str
    inputs: PlanInputs
    record: RecordKept
    texts: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanDeclined:
    """The planner refused the inputs."""

    job_uid: str
    digest: str
    refusal: RefusalKept


@dataclass(frozen=True, slots=True)
class PlanningBegan:
    """The planner works for the job."""

    job_uid: str


@dataclass(frozen=True, slots=True)
class PlanningEnded:
    """The planner does not work for the job any more."""

    job_uid: str


@dataclass(frozen=True, slots=True)
class PlanningFailed:
    """The planner failed for reasons of its own."""

    job_uid: str
    digest: str
    trouble: Trouble


@dataclass(frozen=True, slots=True)
class EffectFailed:
    """An effect failed and is tried again."""

    job_uid: str
    subject: str
    trouble: Trouble


@dataclass(frozen=True, slots=True)
class EffectSucceeded:
    """An effect that had failed did not fail."""

    job_uid: str
    subject: str


@dataclass(frozen=True, slots=True)
class PlanKnown:
    """A plan record was read, or written by us, under this uid."""

    job_uid: str
    head_uid: str
    inputs: PlanInputs
    record: RecordKept
    port_labels_id: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanDamaged:
    """A plan record cannot be read."""

    job_uid: str
    head_uid: str
    text: str
    is_lost: bool


@dataclass(frozen=True, slots=True)
class NameTaken:
    """The name of a child belongs to somebody else."""

    job_uid: str
    child: str


@dataclass(frozen=True, slots=True)
class LaunchSeen:
    """A PE had this launch."""

    job_uid: str
    pe: str
    launch: int


@dataclass(frozen=True, slots=True)
class ProvisionsSeen:
    """The certificate was seen as it should be, or the redis servers cannot be used."""

    job_uid: str
    certificate_seen_at: float | None
    refusal: RefusalKept | None


@dataclass(frozen=True, slots=True)
class BundleSeen:
    """The bundle that the last attempt lacked is in the bundle root."""

    job_uid: str


@dataclass(frozen=True, slots=True)
class ResizingFound:
    """Whether the cluster resizes pods in place, as found for the plan of this generation."""

    job_uid: str
    generation: int
    is_possible: bool


@dataclass(frozen=True, slots=True)
class Settled:
    """The newest generation is complete: plans and troubles are forgotten, refusals are not."""

    job_uid: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The attempt is over, or the Job is gone: everything is forgotten."""

    job_uid: str


@dataclass(frozen=True, slots=True)
class JobGone:
    """A GET of the Job found nothing."""

    job_uid: str


@dataclass(frozen=True, slots=True)
class ReferenceNoted:
    """An object names what does not exist, as observed first at this time; right without a text."""

    uid: str
    message: str
    since: float


Answered = (
    PlanMade
    | PlanDeclined
    | WidthsUnplaced
    | PlanningBegan
    | PlanningEnded
    | PlanningFailed
    | EffectFailed
    | EffectSucceeded
    | PlanKnown
    | PlanDamaged
    | NameTaken
    | LaunchSeen
    | ProvisionsSeen
    | BundleSeen
    | ResizingFound
    | Settled
    | Forgotten
    | JobGone
    | ReferenceNoted
)
_KINDS: Final[Mapping[str, type]] = {each.__name__: each for each in get_args(Answered)}


def answered_of(what: str, content: Mapping[str, Any]) -> Answered:
    """The answer of an observation; raises KeyError or ValueError."""
    found: Answered = TypeAdapter(_KINDS[what]).validate_python(content)
    return found
