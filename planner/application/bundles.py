"""Opening a bundle for the planner: the container format's errors become refusals of the job.

The format itself (zip, tar, limits, packing) is in contracts/bundle_format.py, which the command
line shares.
"""

from __future__ import annotations

from contracts.bundle_format import Bundle, BundleInvalid, BundleLimits, BundleTooLarge
from contracts.bundle_format import open_bundle as _open
from contracts.reasons import Reason
from planner.refusals import PlanRefused

FIELD = "spec.bundle"


def open_bundle(data: bytes, limits: BundleLimits | None = None) -> Bundle:
    """The bundle in these bytes. Raises PlanRefused (BUNDLE_INVALID, BUNDLE_TOO_LARGE)."""
    try:
        return _open(data, limits or BundleLimits())
    except BundleTooLarge as error:
        raise _refusal(Reason.BUNDLE_TOO_LARGE, error) from error
    except BundleInvalid as error:
        raise _refusal(Reason.BUNDLE_INVALID, error) from error


def _refusal(reason: Reason, error: BundleInvalid | BundleTooLarge) -> PlanRefused:
    return PlanRefused(reason, field=FIELD, value=error.part, message=str(error))
