"""The pods of PEs with constraints are stored whole: nothing of what was sent is lost or changed.

The exchanges of the same pods show that kube-apiserver stores what the sandbox does.
"""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.store.resources import POD
from sandbox.store.store import Store
from tests.golden_placements import PLACED
from tests.real.differential.exchanges.launching import launched


def holds(stored: Any, sent: Any) -> bool:
    """Whether everything that was sent is there; a list may have gained something at its end."""
    if isinstance(sent, dict):
        return all(key in stored and holds(stored[key], each) for key, each in sent.items())
    if isinstance(sent, list):
        return len(stored) >= len(sent) and all(map(holds, stored, sent))
    return bool(stored == sent)


@pytest.mark.parametrize("constraint", PLACED)
def test_the_pod_of_a_pe_with_a_constraint_is_stored_whole(store: Store, constraint: str) -> None:
    made = launched(PLACED[constraint])
    stored = store.create(POD, "default", launched(PLACED[constraint]))
    assert holds(stored, made)
