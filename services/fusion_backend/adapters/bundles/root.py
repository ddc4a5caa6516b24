"""The bundle root: the directory from which people's bundles come by name or path.

A Job's spec names no file of ours but below the root: no absolute path, no `..`, no link that leads
out. What a bundle contains is not looked at here. The root is never listed: it is shared by all
namespaces, and a refusal that named its files would show each what the others run.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import IO, Final

from contracts.reasons import Reason
from planner.refusals import PlanRefused, shown
from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable
from services.fusion_backend.core.spec.inputs import BundleSource

SUFFIX = ".sab"
WRITTEN_FOR_S: Final = 1.5
"""How long ago the last change of a file must be for it to count as whole."""
_NEVER_A_BUNDLE = frozenset({errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG})
"""What a name is answered with that no waiting makes a bundle of."""


def unreadable(what: str, problem: OSError) -> BundleUnreadable:
    """Trouble with a file that may pass."""
    return BundleUnreadable(what, problem.strerror or type(problem).__name__)


def opened(root: Path, source: BundleSource) -> IO[bytes]:
    """A bundle of the root, open for reading.

    Raises PlanRefused, and BundleUnreadable where it may be read later.
    """
    path = _resolved(root, source)
    try:
        # Without O_NONBLOCK a pipe in the root would hold us for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in _NEVER_A_BUNDLE:
            raise unreadable(_cannot_be_read(source), error) from error
        why = error.strerror or "unknown error"
        raise refused(Reason.BUNDLE_INVALID, source, f"cannot be read: {why}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise refused(Reason.BUNDLE_INVALID, source, "is not a regular file")
    return os.fdopen(descriptor, "rb")


def is_whole(root: Path, source: BundleSource, now: float) -> bool:
    """Whether a bundle of the root has content and was not written to for a moment (unix seconds).

    Of a file that is being copied only a part is there, and no attempt follows one that finds it
    invalid. A time of change that is still to come is one of another clock.
    """
    try:
        with opened(root, source) as bundle:
            found = os.fstat(bundle.fileno())
    except (PlanRefused, BundleUnreadable):
        return False
    return found.st_size > 0 and not 0.0 <= now - found.st_mtime < WRITTEN_FOR_S


def refused(reason: Reason, source: BundleSource, what: str) -> PlanRefused:
    """A refusal that names field and value."""
    return PlanRefused(
        reason,
        field=source.field,
        value=source.value,
        message=f"{source.field}: {shown(source.value)} {what}",
    )


def path_of_source(source: BundleSource) -> PurePosixPath:
    """The path below the bundle root that a source names. Raises PlanRefused."""
    path = PurePosixPath(source.value)
    is_plain_name = source.path or len(path.parts) == 1
    if path.is_absolute() or ".." in path.parts or "\0" in source.value or not is_plain_name:
        raise refused(Reason.SPEC_INVALID, source, "does not lie in the bundle root")
    return path


def _resolved(root: Path, source: BundleSource) -> Path:
    """The real path of the bundle, which lies below the real root. Raises PlanRefused."""
    path = path_of_source(source)
    root = root.resolve()
    try:
        real = (root / path).resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError, RuntimeError) as error:
        raise _missing(source) from error
    except OSError as error:
        if error.errno in _NEVER_A_BUNDLE:
            raise _missing(source) from error
        raise unreadable(_cannot_be_read(source), error) from error
    if not real.is_relative_to(root):
        raise refused(Reason.SPEC_INVALID, source, "leads out of the bundle root")
    return real


def _cannot_be_read(source: BundleSource) -> str:
    return f"{source.field}: {shown(source.value)} cannot be read"


def _missing(source: BundleSource) -> PlanRefused:
    """No other name of the root is in it: all namespaces share the root."""
    what = "is not in the bundle root; put the bundle there, or correct the name"
    return refused(Reason.BUNDLE_MISSING, source, what)
