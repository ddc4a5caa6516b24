"""Mutants of what the command answers: of services, of widths and of names that nobody has."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_FOLLOWING = "tests/unit/cli/test_following.py"
_REFUSALS = "tests/unit/placement/test_refusals.py"
_STATUS = "tests/unit/cli/test_service_status.py"

MUTANTS = (
    Mutant(
        "a recording that is not there matters only where the object is there",
        "cli/why_command.py",
        "why",
        "not recording.exists()",
        "False",
        ("tests/unit/cli/test_exit_codes.py", "-k", "is_not_there"),
    ),
    Mutant(
        "an `up` that starts is one that is nowhere",
        "cli/controlling.py",
        "_why",
        "and state.is_dir()",
        "and False",
        ("tests/unit/cli/test_controlling.py",),
    ),
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
    Mutant(
        "a scale that wrote nothing says that its request stands",
        "cli/following.py",
        "following",
        "raise late if has_written else",
        "raise late if True else",
        (_FOLLOWING,),
    ),
    Mutant(
        "names of hosts are compared with their capitals",
        "placement/contradicting.py",
        "_folded",
        "name.strip().casefold()",
        "name",
        (_REFUSALS,),
    ),
    Mutant(
        "nodes that are not alike are named as the closest",
        "placement/contradicting.py",
        "_like",
        "cutoff=LIKENESS_MIN",
        "cutoff=0.0",
        (_REFUSALS,),
    ),
)
