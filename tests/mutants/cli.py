"""Mutants of the command: what a running `millrace up` keeps to its owner and its machine."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_PRIVATE = "tests/unit/cli/test_private.py"

MUTANTS = (
    Mutant(
        "a value in a kubeconfig that cannot be read ends up with a traceback",
        "cli/contexts.py",
        "read_checked",
        "except ValueError as error:",
        "except ZeroDivisionError as error:",
        ("tests/unit/cli/test_contexts.py",),
    ),
    Mutant(
        "what children of up write has the modes of a careless umask",
        "cli/children.py",
        "Child._run_once",
        "umask=OTHERS,",
        "",
        (_PRIVATE,),
    ),
    Mutant(
        "a state folder that somebody shares is closed to them",
        "cli/private.py",
        "private_state",
        "if others:",
        "if False:",
        (_PRIVATE,),
    ),
    Mutant(
        "metrics of up are served to the network",
        "cli/layouts.py",
        "Layout.service",
        '"MILLRACE_METRICS_HOST": LOOPBACK,',
        "",
        ("tests/unit/cli/test_instances.py",),
    ),
)
