"""A root is a row: code asks `contracts/belonging.py`, and names no kind of root by a literal."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Final

from contracts.belonging import roots
from tests.architecture.source import PACKAGES, modules

ROWS: Final = "contracts/resources/"
LEFT: Final = {
    "cli/describing.py": 1,
    "cli/installing/objects.py": 1,  # of Kubernetes itself
    "services/fusion_backend/adapters/awaiting.py": 2,
    "services/fusion_backend/adapters/carry_out.py": 1,
    "services/fusion_backend/adapters/intake.py": 10,
    "services/fusion_backend/adapters/provisioner.py": 1,
    "services/fusion_backend/adapters/stage.py": 1,
    "services/pod_state_machine/adapters/intake.py": 2,
}
"""How many literals are left, by file: this list can only get shorter."""
LEFT_MAX: Final = 19


def found() -> Counter[str]:
    """Literals that are the kind of a root, by file."""
    kinds, counts = frozenset(roots()), Counter[str]()
    for path, tree in modules(*PACKAGES, with_words=kinds):
        name = path.as_posix()
        literals = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant))
        counts[name] += sum(value in kinds for value in literals if isinstance(value, str))
    return counts


def _is_row(file: str) -> bool:
    """A kind has a row, and the row of a service names the kinds that it decides on."""
    return ROWS in file or file.endswith("/service.py")


def test_no_literal_kind_of_a_root_stands_outside_the_rows() -> None:
    others = {name: count for name, count in found().items() if count and not _is_row(name)}
    assert sum(LEFT.values()) <= LEFT_MAX
    assert others == LEFT, "ask contracts/belonging.py; what is gone leaves the list"
