"""Whether another distribution has put its files into the folder of millrace.

`millrace` on the package index of Python is another project. Former wheels of ours had that name,
too. Both install a folder `millrace`, and pip replaces files in it without a word.
"""

from __future__ import annotations

import warnings
from typing import Final

OURS: Final = "millrace-streams"
ANOTHER: Final = "millrace"


def warn_of_another() -> None:
    """Warn if the other project, or a former wheel, is installed too. A PE does not need it."""
    # It takes some milliseconds, and the launch of a PE loads it for nothing.
    from importlib.metadata import PackageNotFoundError, version

    try:
        found, _ = version(ANOTHER), version(OURS)
    except PackageNotFoundError:
        return
    warnings.warn(
        f"the distribution {ANOTHER} {found} is installed beside {OURS}, and both have the folder "
        f"millrace: pip uninstall {ANOTHER} {OURS}, and install {OURS} again",
        stacklevel=3,
    )
