"""The effects of this service: frozen values, carried out by one `match` in adapters/carry_out.py.

The first two follow from reports of PEs; the others are writes that a request is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.resources import Connectivity
from services.pe_gateway.core.snapshot import Endpoint


@dataclass(frozen=True, slots=True)
class SetConnectivity:
    """Write the connectivity that a PE reported into its status."""

    name: str
    pe_uid: str
    connectivity: Connectivity


@dataclass(frozen=True, slots=True)
class DropReport:
    """Forget a report: it is in the status, or it does not count any more."""

    name: str
    pe_uid: str


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


Effect = SetConnectivity | DropReport | SetWidth | SetEndpoints
