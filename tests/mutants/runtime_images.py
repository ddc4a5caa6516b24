"""Mutants of the image that PEs of an application in Python run in."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_TESTS = ("tests/unit/fusion_backend/test_runtime_image.py",)
_SPEC = "services/fusion_backend/core/spec/runtime_image.py"

MUTANTS = (
    Mutant(
        "the image of the setting replaces that of the Job",
        _SPEC,
        "image_of",
        'given or (runtime_image if is_python else "")',
        '(runtime_image if is_python else "") or given',
        _TESTS,
    ),
    Mutant(
        "compiled operators get the runtime that refuses them",
        _SPEC,
        "image_of",
        'runtime_image if is_python else ""',
        "runtime_image",
        _TESTS,
    ),
    Mutant(
        "no Event names the fields that our runtime ignores",
        _SPEC,
        "without_effect",
        "if template.get(field):",
        "if False:",
        _TESTS,
    ),
    Mutant(
        "one operator in Python makes an application one in Python",
        "planner/application/model.py",
        "Application.is_python",
        "all(kind.startswith(PYTHON_KINDS) for kind in kinds)",
        "any(kind.startswith(PYTHON_KINDS) for kind in kinds)",
        _TESTS,
    ),
    Mutant(
        "a recording keeps no image of the runtime that was a default",
        "services/fusion_backend/settings.py",
        "FusionBackendSettings.recorded",
        '"runtime_image": image',
        '"runtime_image": self.runtime_image',
        _TESTS,
    ),
)
