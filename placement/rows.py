"""Rows of an integer program as they are gathered, and the search itself (HiGHS, by scipy)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from placement.cluster import Floats
from placement.columns import Ints

_INFEASIBLE: Final = 2


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The limit was reached, the program is too large, or the solver could not say."""


@dataclass(slots=True, eq=False)
class Rows:
    """Rows of a sparse matrix with their bounds."""

    rows: list[Ints] = field(default_factory=list)
    columns: list[Ints] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    low: list[Floats] = field(default_factory=list)
    high: list[Floats] = field(default_factory=list)
    count: int = 0

    def add(
        self,
        row: Ints,
        columns: Ints,
        values: Floats | float,
        low: Floats | float,
        high: Floats,
    ) -> None:
        """Rows numbered from 0 among these; `high` has one bound for each."""
        self.rows.append(row + self.count)
        self.columns.append(columns)
        self.values.append(np.broadcast_to(np.asarray(values, float), columns.shape))
        self.low.append(np.broadcast_to(np.asarray(low, float), high.shape))
        self.high.append(high)
        self.count += len(high)

    def constraint(self, width: int) -> LinearConstraint:
        """All of them."""
        cells = (
            np.concatenate(self.values),
            (np.concatenate(self.rows), np.concatenate(self.columns)),
        )
        matrix = csr_array(cells, shape=(self.count, width))
        return LinearConstraint(matrix, np.concatenate(self.low), np.concatenate(self.high))


def searched(bounds: Bounds, rows: Rows, limit_s: float) -> Floats | Exhausted | None:
    """Whole numbers that meet all rows, None if none exist, or neither within the limit."""
    width = len(bounds.lb)
    result = milp(
        np.zeros(width),
        integrality=np.ones(width),
        bounds=bounds,
        constraints=rows.constraint(width),
        options={"time_limit": limit_s, "presolve": True},
    )
    if result.status == _INFEASIBLE:
        return None
    return Exhausted() if result.x is None else np.asarray(result.x)
