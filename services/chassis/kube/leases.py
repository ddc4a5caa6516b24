"""Leader leases: coordination.k8s.io/v1 Lease objects under guarded patches.

1. Free, given back, or ours by name: take it with a patch under the version that was read.
2. Held: watch it for `duration_s` by our own clock; only a Lease that was not renewed meanwhile
   is taken (clocks of two machines are never compared).
3. The resourceVersion at which it was taken is the incarnation: later holders have higher ones.
4. Held by us: renew every `renew_s`. A conflict means that somebody wrote it: if it is not ours any
   more it is lost. So it is when no renewal succeeded for two thirds of its duration.
5. An instance that restarts under the same name takes it at once: the process before it is gone. If
   two have one name all the same, the older one finds another `acquireTime` and has lost it.

A holder who slept may believe for a moment that it still leads: what it writes is fenced by
versions, what it says by its epoch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from contracts.moments import micro_moment_of
from services.chassis.kube.port import Json, Kube, Resource
from services.chassis.process.clock import Clock
from services.chassis.process.errors import (
    AlreadyExists,
    ChassisError,
    Conflict,
    NotAllowed,
    NotFound,
    Transient,
)
from services.chassis.process.log_lines import log_of

T = TypeVar("T")
LEASE = Resource("coordination.k8s.io", "v1", "leases", "Lease")
RENEW_WITHIN = 2 / 3
RETRY_S = 1.0
RELEASE_S_MAX = 2.0
"""Giving back saves the next holder some waiting; a service that ends waits no longer for it."""


class LeaseLost(ChassisError):
    """Somebody else leads now, or the lease could not be renewed in time: stop without flushing."""


class LeaderLease:
    """A lease that one holder has at a time; `holder` names this instance."""

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
        self._kube = kube
        self._namespace = namespace
        self._name = name
        self._holder = holder
        self._clock = clock
        self._duration_s = duration_s
        self._renew_s = renew_s
        self._version = 0
        self._acquired_at = ""
        self._renewed_s = 0.0
        self._log = log_of("leases")

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it yet, by our own clock."""
        left_s = self._renewed_s + self._duration_s * RENEW_WITHIN - self._clock.monotonic()
        return bool(self._version) and left_s > 0

    async def acquire(self) -> int:
        """Wait until the lease is ours; its resourceVersion is the incarnation."""
        seen_version, seen_at_s = "", self._clock.monotonic()
        while True:
            try:
                lease = await self._read_or_create()
                if lease["metadata"]["resourceVersion"] != seen_version:
                    seen_version = lease["metadata"]["resourceVersion"]
                    seen_at_s = self._clock.monotonic()
                if self._may_take(lease, self._clock.monotonic() - seen_at_s):
                    return await self._take(lease)
            except (Transient, Conflict, AlreadyExists, NotFound, NotAllowed) as problem:
                self._log.warning("lease_not_acquired", lease=self._name, problem=str(problem))
            await self._clock.sleep(min(RETRY_S, self._renew_s))

    async def keep(self) -> None:
        """Renew for ever; raises LeaseLost."""
        renewed_s = self._clock.monotonic()
        pause_s = self._renew_s
        while True:
            await self._clock.sleep(pause_s)
            began_s = self._clock.monotonic()
            left_s = renewed_s + self._duration_s * RENEW_WITHIN - began_s
            try:
                await self._renew_within(left_s)
            except (Transient, NotAllowed) as problem:
                self._log.warning("lease_not_renewed", lease=self._name, problem=str(problem))
                pause_s = min(RETRY_S, self._renew_s)
                continue
            renewed_s, pause_s = began_s, self._renew_s
            self._renewed_s = renewed_s

    async def release(self) -> None:
        """Give the lease back, so that the next holder need not wait; a lost one is left alone."""
        if not self._version:
            return
        try:
            async with asyncio.timeout(RELEASE_S_MAX):
                await self._patch({"holderIdentity": None, "renewTime": self._now_text()})
        except (Conflict, NotFound, NotAllowed, Transient, TimeoutError) as problem:
            self._log.info("lease_not_released", lease=self._name, problem=repr(problem))
        self._version = 0

    async def while_kept(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work and keep the lease meanwhile. Raises LeaseLost, and what the work raises."""
        keeping, working = asyncio.ensure_future(self.keep()), asyncio.ensure_future(work)
        try:
            await asyncio.wait((keeping, working), return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():  # the lease first: without it nothing else counts
                keeping.result()
            return working.result()
        finally:
            keeping.cancel()
            working.cancel()
            _, ended = await asyncio.gather(keeping, working, return_exceptions=True)
            if isinstance(ended, Exception):
                self._log.info("work_ended", lease=self._name, problem=repr(ended))

    # ------------------------------------------------------------------ one request each

    async def _read_or_create(self) -> Json:
        try:
            return await self._kube.get(LEASE, self._namespace, self._name)
        except NotFound:
            body = {
                "apiVersion": LEASE.api_version,
                "kind": LEASE.kind,
                "metadata": {"name": self._name, "namespace": self._namespace},
                "spec": {},
            }
            return await self._kube.create(LEASE, self._namespace, body)

    def _may_take(self, lease: Json, unchanged_s: float) -> bool:
        spec = lease.get("spec") or {}
        if (spec.get("holderIdentity") or "") in ("", self._holder):
            return True
        return unchanged_s >= float(spec.get("leaseDurationSeconds") or self._duration_s)

    async def _take(self, lease: Json) -> int:
        self._version = int(lease["metadata"]["resourceVersion"])
        self._renewed_s = self._clock.monotonic()
        self._acquired_at = self._now_text()
        transitions = int((lease.get("spec") or {}).get("leaseTransitions") or 0)
        await self._patch(
            {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": max(1, round(self._duration_s)),
                "acquireTime": self._acquired_at,
                "renewTime": self._acquired_at,
                "leaseTransitions": transitions + 1,
            }
        )
        self._log.info("lease_acquired", lease=self._name, incarnation=self._version)
        return self._version

    async def _renew_within(self, left_s: float) -> None:
        """Renew, or know in time that it may be somebody else's from then on."""
        late = LeaseLost(f"lease {self._name} was not renewed in time")
        if left_s < 0:
            raise late
        try:
            async with asyncio.timeout(left_s):
                await self._renew()
        except TimeoutError:
            raise late from None

    async def _renew(self) -> None:
        try:
            await self._patch({"renewTime": self._now_text()})
        except NotFound as problem:
            raise LeaseLost(f"lease {self._name} was deleted") from problem
        except Conflict as problem:
            lease = await self._kube.get(LEASE, self._namespace, self._name)
            spec = lease.get("spec") or {}
            if (spec.get("holderIdentity"), spec.get("acquireTime")) != (
                self._holder,
                self._acquired_at,
            ):
                raise LeaseLost(f"{spec.get('holderIdentity')} holds {self._name}") from problem
            # A label was written, or a renewal of ours whose answer was lost.
            self._version = int(lease["metadata"]["resourceVersion"])

    async def _patch(self, spec: dict[str, Any]) -> None:
        lease = await self._kube.patch(
            LEASE, self._namespace, self._name, {"spec": spec}, resource_version=self._version
        )
        self._version = int(lease["metadata"]["resourceVersion"])

    def _now_text(self) -> str:
        return micro_moment_of(self._clock.now())
