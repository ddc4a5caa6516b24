"""Whose a token is: TokenReviews of the API server, remembered for a minute by the token's hash.

An account that may not create TokenReviews checks tokens by the keys that the cluster publishes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

from services.chassis.kube.port import Kube, Resource
from services.chassis.process.clock import Clock
from services.chassis.process.errors import NotAllowed, Rejected, Transient
from services.chassis.process.log_lines import log_of
from services.pe_gateway.core.answers import Refused, unavailable
from services.pe_gateway.core.token_claims import bound_by_claims
from services.pe_gateway.core.trusting import TokenOf, bound_to

if TYPE_CHECKING:
    from services.pe_gateway.adapters.published_keys import PublishedKeys

TOKEN_REVIEW: Final = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
KEPT_S: Final = 60.0
REFUSED_KEPT_S: Final = 10.0
REVIEW_AGAIN_S: Final = 60.0
"""After a review was not allowed: an API server that has just started refuses everybody."""
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
        self._review_at = float("-inf")
        self._keys: PublishedKeys | None = None
        self._log = log_of("reviewing")

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
        if self._clock.monotonic() >= self._review_at:
            try:
                return await self._review_by_server(token)
            except NotAllowed as problem:
                self._review_at = self._clock.monotonic() + REVIEW_AGAIN_S
                if self._keys is None:
                    self._log.info("tokens_by_published_keys", problem=problem.message)
        return await self._review_by_keys(token)

    async def _review_by_keys(self, token: str) -> _Verdict:
        monotonic = self._clock.monotonic
        try:
            claims, issuer = await self._published().claims_of(token)
            now = self._clock.now()
            owner, ends_s = bound_by_claims(claims, issuer=issuer, audience=self._audience, now=now)
            return _Verdict(monotonic() + min(KEPT_S, ends_s - now), owner, None)
        except Refused as refusal:
            if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            return _Verdict(monotonic() + REFUSED_KEPT_S, None, refusal)

    def _published(self) -> PublishedKeys:
        """Made where it is needed: its library costs each start 80 ms, and 9 MB."""
        if self._keys is None:
            from services.pe_gateway.adapters.published_keys import PublishedKeys

            self._keys = PublishedKeys(self._kube, self._clock)
        return self._keys

    async def _review_by_server(self, token: str) -> _Verdict:
        """The verdict of the API server. Raises NotAllowed, or Refused: 503."""
        spec = {"token": token, "audiences": [self._audience]}
        body = {
            "apiVersion": TOKEN_REVIEW.api_version,
            "kind": TOKEN_REVIEW.kind,
            "metadata": {},
            "spec": spec,
        }
        try:
            review = await self._kube.create(TOKEN_REVIEW, "", body)
        except NotAllowed:
            raise
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
