"""Mutants of fusion-backend: planner, plan record, children, widths, clean-up."""

from __future__ import annotations

from tests.mutants.planting import Mutant

MUTANTS: tuple[Mutant, ...] = ()
