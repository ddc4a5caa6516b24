"""Mutants of the command: what a running `millrace up` keeps to its owner and its machine."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_PRIVATE = "tests/unit/cli/test_private.py"

MUTANTS = (
    Mutant(
        "the log of a PE beside a sidecar is not read",
        "cli/pod_logs.py",
        "LogOptions.query",
        "dict(OF_PE)",
        "{}",
        ("tests/unit/cli/test_restarting.py", "-k", "options_of_a_log"),
    ),
    Mutant(
        "why has no last line of a PE beside a sidecar",
        "cli/pod_logs.py",
        "last_lines",
        "OF_PE | {",
        "{",
        ("tests/unit/cli/test_service_logs.py", "-k", "last_line"),
    ),
    Mutant(
        "a value in a kubeconfig that cannot be read ends up with a traceback",
        "cli/contexts.py",
        "read_checked",
        "except ValueError as error:",
        "except ZeroDivisionError as error:",
        ("tests/unit/cli/test_contexts.py",),
    ),
    Mutant(
        "what is called tools beside a wheel is taken for the workshop",
        "cli/workshop.py",
        "load",
        "if not (CHECKOUT / _PINNED).is_dir():",
        "if not CHECKOUT.is_dir():",
        ("tests/unit/cli/test_options.py", "-k", "without_a_checkout"),
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
