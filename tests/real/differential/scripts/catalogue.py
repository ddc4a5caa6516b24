"""Every script."""

from __future__ import annotations

from tests.real.differential.scripts import (
    deleting,
    describing,
    discovering,
    nodes,
    reading,
    writing,
)

SCRIPTS = (
    *reading.SCRIPTS,
    *writing.SCRIPTS,
    *describing.SCRIPTS,
    *deleting.SCRIPTS,
    *nodes.SCRIPTS,
    *discovering.SCRIPTS,
)
