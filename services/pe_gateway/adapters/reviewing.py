"""Whose a token is: TokenReviews of the API server, remembered for a minute by the token's hash."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from typing import Final, NamedTuple

from services.chassis.kube.port import Kube, Resource
from services.chassis.process.clock import Clock
from services.chassis.process.errors import Rejected, Transient
from services.pe_gateway.core.answers import Refused, unavailable
from services.pe_gateway.core.trusting import TokenOf, bound_to

TOKEN_REVIEW: Final = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
KEPT_S: Final = 60.0
REFUSED_KEPT_S: Final = 10.0
KEPT_MAX: Final = 10_000
REVIEWS_IN_FLIGHT_MAX: Final = 4
REVIEWS_WAITING_MAX: Final = 100
"""More tokens that nobody has seen yet are put off, so that they cannot flood the API server."""


class _Verdict(NamedTuple):
    """Whose a token is, or why it is refused; it holds until a moment of the monotonic clock."""

    until: float
    owner: TokenOf | None
    refusal: Refused | None


class Tokens:
    """The verdicts on tokens."""

    def __init__(self, kube: Kube, clock: Clock, audience: str) -> None:
        self._kube = kube
        self._clock = clock
        self._audience = audience
        self._verdicts: OrderedDict[bytes, _Verdict] = OrderedDict()
        self._slots = asyncio.Semaphore(REVIEWS_IN_FLIGHT_MAX)
        self._waiting = 0

    async def owner_of(self, token: str) -> TokenOf:
        """The pod to which a token is bound. Raises Refused: 401, or 503 without an answer."""
        digest = hashlib.sha256(token.encode()).digest()
        verdict = self._known(digest) or await self._reviewed(digest, token)
        if verdict.owner is None:
            assert verdict.refusal is not None, "a verdict has one or the other"
            raise verdict.refusal
        return verdict.owner

    def _known(self, digest: bytes) -> _Verdict | None:
        verdict = self._verdicts.get(digest)
        return verdict if verdict and verdict.until > self._clock.monotonic() else None

    async def _reviewed(self, digest: bytes, token: str) -> _Verdict:
        if self._waiting >= REVIEWS_WAITING_MAX:
            raise unavailable("too many tokens wait for their review")
        self._waiting += 1
        try:
            async with self._slots:
                # The one before in the line may have been the same token.
                return self._known(digest) or self._keep(digest, await self._review(token))
        finally:
            self._waiting -= 1

    async def _review(self, token: str) -> _Verdict:
        spec = {"token": token, "audiences": [self._audience]}
        body = {
            "apiVersion": TOKEN_REVIEW.api_version,
            "kind": TOKEN_REVIEW.kind,
            "metadata": {},
            "spec": spec,
        }
        try:
            review = await self._kube.create(TOKEN_REVIEW, "", body)
        except (Transient, Rejected) as problem:
            raise unavailable(f"the token cannot be reviewed: {problem}") from problem
        now = self._clock.monotonic()
        try:
            owner = bound_to(review.get("status") or {}, self._audience)
            return _Verdict(now + KEPT_S, owner, None)
        except Refused as refusal:
            return _Verdict(now + REFUSED_KEPT_S, None, refusal)

    def _keep(self, digest: bytes, verdict: _Verdict) -> _Verdict:
        self._verdicts[digest] = verdict
        self._verdicts.move_to_end(digest)
        while len(self._verdicts) > KEPT_MAX:
            self._verdicts.popitem(last=False)
        return verdict
