"""The keys with which the cluster signs tokens, as the API server publishes them.

They are read when a token names one that is not known, and again after `READ_AGAIN_S`, so that a
withdrawn key counts no longer. Every account may read them, unless somebody took the role
`system:service-account-issuer-discovery` from the group of service accounts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import jwt
from jwt.types import Options

from services.chassis.kube.port import Kube
from services.chassis.process.clock import Clock
from services.chassis.process.errors import Rejected, Transient
from services.pe_gateway.core.answers import unavailable
from services.pe_gateway.core.trusting import unauthorized

CONFIGURATION: Final = "/.well-known/openid-configuration"
KEYS: Final = "/openid/v1/jwks"
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")
"""Those of API servers: a token cannot choose one by which a public key is a shared secret."""
READ_AGAIN_S: Final = 300.0
READ_MIN_S: Final = 10.0
"""Between two readings for unknown keys: tokens of strangers must not flood the server."""
KEYS_MAX: Final = 100


class PublishedKeys:
    """The keys of one cluster, and the issuer that its tokens name."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._issuer = ""
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def claims_of(self, token: str) -> tuple[Mapping[str, Any], str]:
        """The claims of a token that the cluster signed, and the issuer of the cluster.

        Times and audiences are not looked at. Raises Refused: 401, or 503 without keys.
        """
        try:
            head = jwt.get_unverified_header(token)
            key = await self._key(str(head.get("kid") or ""))
            if key is None or key.algorithm_name != head.get("alg"):
                raise unauthorized("the token is signed by no key of this cluster")
            claims = jwt.decode(token, key, algorithms=ALGORITHMS, options=_SIGNATURE_ONLY)
        except (jwt.PyJWTError, RecursionError) as problem:
            raise unauthorized(f"the token is not valid: {problem}") from problem
        return claims, self._issuer

    async def _key(self, name: str) -> jwt.PyJWK | None:
        async with self._reading:
            age_s = self._clock.monotonic() - self._read_at
            if age_s >= READ_AGAIN_S or (name not in self._keys and age_s >= READ_MIN_S):
                await self._read()
        return self._keys.get(name)

    async def _read(self) -> None:
        try:
            configuration = await self._kube.document(CONFIGURATION)
            published = await self._kube.document(KEYS)
        except (Transient, Rejected) as problem:
            raise unavailable(f"the keys of the cluster cannot be read: {problem}") from problem
        self._issuer = str(configuration.get("issuer") or "")
        self._keys = dict(_usable(published.get("keys")))
        self._read_at = self._clock.monotonic()


_SIGNATURE_ONLY: Final[Options] = {
    "verify_signature": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


def _usable(keys: Any) -> list[tuple[str, jwt.PyJWK]]:
    """The keys of a set that can verify tokens, by their ids; others are passed over."""
    found = []
    for each in keys[:KEYS_MAX] if isinstance(keys, list) else ():
        try:
            key = jwt.PyJWK(each)
        except (jwt.PyJWTError, AttributeError, TypeError, ValueError):
            continue
        if key.key_id and key.algorithm_name in ALGORITHMS:
            found.append((key.key_id, key))
    return found
