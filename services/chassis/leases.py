"""Leader leases: coordination.k8s.io/v1 Lease objects under guarded patches."""

from __future__ import annotations

from services.chassis.clock import Clock
from services.chassis.errors import ChassisError
from services.chassis.kube import Kube


class LeaseLost(ChassisError):
    """Somebody else leads now, or the lease could not be renewed in time: stop without flushing."""


class LeaderLease:
    """A lease that one holder has at a time."""

    def __init__(
        self,
        kube: Kube,
        *,
        namespace: str,
        name: str,
        holder: str,
        clock: Clock,
        duration_s: float = 15.0,
        renew_s: float = 5.0,
    ) -> None:
        raise NotImplementedError

    async def acquire(self) -> int:
        """Wait until the lease is ours; its resourceVersion is the incarnation."""
        raise NotImplementedError

    async def keep(self) -> None:
        """Renew for ever; raises LeaseLost."""
        raise NotImplementedError

    async def release(self) -> None:
        """Give the lease back, so that the next holder need not wait."""
        raise NotImplementedError
