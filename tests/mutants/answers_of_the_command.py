"""Mutants of what the command answers: of services, of widths and of names that nobody has."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_STATUS = "tests/unit/cli/test_service_status.py"

MUTANTS = (
    Mutant(
        "an unready service ends service status with 0",
        "cli/service_status.py",
        "ServiceStatus.is_well",
        "and self.probed.is_ready",
        "",
        (_STATUS,),
    ),
    Mutant(
        "service status waits for a service that starts",
        "cli/controlling.py",
        "controlled",
        "contextlib.nullcontext() if request == STATUS else turn",
        "turn",
        (_STATUS,),
    ),
)
