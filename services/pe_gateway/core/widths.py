"""A width that a PE requests of a parallel region."""

from __future__ import annotations

from contracts.resources.fields import WIDTH_MAX
from services.pe_gateway.core.answers import bad_request
from services.pe_gateway.core.effects import SetWidth
from services.pe_gateway.core.requests import RequestWidth
from services.pe_gateway.core.snapshot import Region


def requested(request: RequestWidth, region: Region) -> SetWidth | None:
    """The write that requests a width; None where it is requested. Raises Refused: 400."""
    if not 1 <= request.width <= WIDTH_MAX:
        raise bad_request(f"a width is from 1 to {WIDTH_MAX}, and not {request.width}")
    if region.width == request.width:
        return None
    return SetWidth(region.namespace, region.name, request.width)
