"""CPU that was measured in a cluster when a plan was made: a plan record keeps it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MeasuredCpu:
    """CPU that nodes used, in thousandths, out of `of_mcpu` that they have for pods.

    `own_mcpu` is the part of `used_mcpu` that pods of the job itself used. `of_mcpu` 0: the nodes
    are those that the plan counts with.
    """

    used_mcpu: int
    of_mcpu: int = 0
    own_mcpu: int = 0

    def busy_mcpu(self, allocatable_mcpu: int) -> int:
        """CPU that is not free for the job, of so much that nodes have.

        If that are other nodes than the measured ones, the same share of them counts as busy.
        """
        used = max(0, self.used_mcpu - self.own_mcpu)
        return -(-used * allocatable_mcpu // self.of_mcpu) if self.of_mcpu else used

    def sentence(self, allocatable_mcpu: int) -> str:
        """For people, as part of how a plan came about."""
        of_mcpu = self.of_mcpu or allocatable_mcpu
        own = f", {_cpus(self.own_mcpu)} of them for this job" if self.own_mcpu else ""
        return f"the cluster uses {_cpus(self.used_mcpu)} of {_cpus(of_mcpu)} CPUs{own}"


def _cpus(mcpu: int) -> str:
    return f"{mcpu / 1000:.10g}"
