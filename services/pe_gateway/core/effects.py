"""The effects of this service: frozen values, carried out by one `match` in adapters/carry_out.py.

SetReported, SetLosses and the two that forget follow from reports of PEs; the others are writes
that a request is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.losses import LaunchLoss, Losses
from contracts.resources import Connectivity
from services.launching.core.owners import LaunchStatus
from services.pe_gateway.core.snapshot import Endpoint, Values


@dataclass(frozen=True, slots=True)
class SetReported:
    """Write what a PE reported into its status; None and no values leave it as it is.

    `loss` is the message of an Event on `lost` tuples; empty: no Event. `running` is the status
    that says that the PE runs, made of the object's `version`; None: it says so, or does not run.
    `again` is the message of an Event on sources that may give tuples again; empty: no Event.
    """

    name: str
    pe_uid: str
    connectivity: Connectivity | None
    runtime: Values = ()
    loss: str = ""
    lost: int = 0
    running: LaunchStatus | None = None
    version: int = 0
    again: str = ""


@dataclass(frozen=True, slots=True)
class DropReport:
    """Forget a report: it is in the status, or it does not count any more."""

    name: str
    pe_uid: str


@dataclass(frozen=True, slots=True)
class AnnounceLoss:
    """An Event on tuples that a launch of a PE lost; the PE has a newer launch, or is deleted."""

    name: str
    pe_uid: str
    launch: int
    lost: int
    message: str


@dataclass(frozen=True, slots=True)
class SetLosses:
    """Write `losses` into the status of a Job, which had those that are `known`.

    `reported` is what they were made of, at `decided_at` (unix seconds).
    """

    name: str
    job_uid: str
    known: Losses
    losses: Losses
    reported: tuple[LaunchLoss, ...]
    decided_at: float


@dataclass(frozen=True, slots=True)
class DropLosses:
    """Forget what was `reported` as lost: the Job's status has it, or the Job is gone.

    What is reported after `decided_at` (unix seconds) stays.
    """

    name: str
    job_uid: str
    reported: tuple[LaunchLoss, ...]
    decided_at: float


@dataclass(frozen=True, slots=True)
class SetWidth:
    """Request another width of a parallel region, as people do."""

    namespace: str
    name: str
    width: int


@dataclass(frozen=True, slots=True)
class SetEndpoints:
    """Write the endpoints of PEs to the annotation of the Service in which they are found."""

    namespace: str
    name: str
    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True)
class AnnounceNoBundle:
    """An Event on a launch of a PE that did not get the bundle which it requested."""

    name: str
    pe_uid: str
    launch: int
    message: str


Effect = (
    SetReported
    | DropReport
    | AnnounceLoss
    | SetLosses
    | DropLosses
    | SetWidth
    | SetEndpoints
    | AnnounceNoBundle
)
