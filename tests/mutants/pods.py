"""Mutants of what a pod of a PE contains, and of what becomes of it."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/pod_state_machine/core"
_POD_SPEC = "tests/unit/pod_state_machine/test_pod_spec.py"

MUTANTS = (
    Mutant(
        "checkpoints are mounted at /checkpoint beside a claim",
        f"{_CORE}/pod_volumes.py",
        "_checkpoints",
        "source._replace(at=files.mount_path)",
        "source",
        (_POD_SPEC,),
    ),
    Mutant(
        "a path of checkpoints that is left out is never that of the settings",
        f"{_CORE}/pod_volumes.py",
        "_checkpoints",
        "files.path or launch.runtime.checkpoint_path",
        "files.mount_path",
        (_POD_SPEC,),
    ),
    Mutant(
        "a debugger gets more than SYS_PTRACE",
        f"{_CORE}/pod_spec.py",
        "_privileges",
        '{"add": [DEBUGGERS_NEED]}',
        '{"add": [DEBUGGERS_NEED, "SYS_ADMIN"]}',
        (_POD_SPEC,),
    ),
)
