"""The nodes that a PE's own constraints allow, regardless of other PEs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from placement.answers import Family
from placement.cluster import Bools, Cluster
from placement.columns import Ints
from placement.job import Job, Pe
from placement.pooling import Pooling
from placement.problem import NONE


@dataclass(slots=True)
class Masks:
    """The nodes of each PE while families are `lifted`; PEs with equal keys share one mask."""

    cluster: Cluster
    job: Job
    lifted: frozenset[Family]
    domains: Ints
    pooling: Pooling
    made: dict[Hashable, Bools] = field(default_factory=dict)
    numbered: dict[Hashable, Ints] = field(default_factory=dict)

    def key(self, pe: Pe, *, needs_domain: bool) -> Hashable:
        """What a PE asks for itself."""
        selector = pe.selector if pe.selects and Family.SELECTORS not in self.lifted else None
        host = "" if Family.HOSTS in self.lifted else pe.host
        place = self.pooling.known_place(pe)
        return host, pe.pool, place, pe.tolerations, selector, needs_domain

    def of(self, pe: Pe, *, needs_domain: bool) -> Bools:
        """The nodes; nobody writes into them."""
        key = self.key(pe, needs_domain=needs_domain)
        if key not in self.made:
            self.made[key] = self._made(pe, needs_domain=needs_domain)
        return self.made[key]

    def nodes(self, pe: Pe, *, needs_domain: bool) -> Ints:
        """Their numbers, ascending; nobody writes into them."""
        key = self.key(pe, needs_domain=needs_domain)
        if key not in self.numbered:
            self.numbered[key] = np.flatnonzero(self.of(pe, needs_domain=needs_domain))
        return self.numbered[key]

    def _made(self, pe: Pe, *, needs_domain: bool) -> Bools:
        mask = ~self.pooling.claimed
        mask &= self.cluster.open_to(
            pe.tolerations,
            cordons=Family.CLOSED not in self.lifted,
            readiness=Family.CAPACITY not in self.lifted,
        )
        if pe.host and Family.HOSTS not in self.lifted:
            mask &= np.arange(len(mask)) == self.cluster.node_of(pe.host)
        if pe.selects and Family.SELECTORS not in self.lifted:
            mask &= self.cluster.selected(pe.selector)
        at = self.pooling.at(pe)
        if at != NONE:
            mask &= self.pooling.choices[at].candidates
            if pe.in_pool_index is not None:
                mask &= self.pooling.slot(at, pe.in_pool_index)
        if needs_domain:
            mask &= self.domains != NONE
        return mask
