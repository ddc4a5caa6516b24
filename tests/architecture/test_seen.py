"""In fusion-backend's core, `seen.py` alone knows under which names children have their fields.

And `pods_seen.py` those of pods.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.architecture.source import modules

CORE: Final = "services/fusion_backend/core"
PARTS: Final = frozenset({"metadata", "spec", "status"})
OTHERS: Final = {
    "snapshot.py": "the Job is no child: JobSeen is its view",
    "recording.py": "plan records are read from the API server; no fact shows what they hold",
    "spec/pod_rules.py": "the template of a pod is no object",
}
"""What looks into other JSON by the same words, and why that is no child's."""


def looks_into_json(tree: ast.Module) -> Iterator[str]:
    """What a module takes out of an entry, or out of an object by the name of its part."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="data"):
                yield ast.unparse(node)
            case ast.Subscript(slice=ast.Constant(value=part)) if part in PARTS:
                yield ast.unparse(node)


def test_no_other_module_of_the_core_looks_into_the_json_of_children() -> None:
    found = {
        str(path.relative_to(CORE)): set(looks_into_json(tree)) for path, tree in modules(CORE)
    }
    assert found.pop("seen.py")
    assert found.pop("pods_seen.py")
    assert {name for name, places in found.items() if places} == OTHERS.keys(), found
