"""How often the keys of a cluster are read, and which of them count."""

from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from services.chassis.kube.port import Json, KubeClient
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import NotAllowed, Transient
from services.pe_gateway.adapters.published_keys import CONFIGURATION, KEYS, PublishedKeys
from services.pe_gateway.adapters.reviewing import REVIEW_AGAIN_S, TOKEN_REVIEW, Tokens
from services.pe_gateway.core.answers import Refused
from tests.virtual_time import virtually

ISSUER = "https://issuer.test"


class Keys(KubeClient):
    """A cluster that publishes keys, and allows no review; `reads` are its requests."""

    def __init__(self, **keys: ec.EllipticCurvePrivateKey) -> None:
        self.keys: dict[str, Any] = {name: _jwk(name, key) for name, key in keys.items()}
        self.reads: list[str] = []
        self.reviews = 0
        self.trouble: Exception | None = None

    async def document(self, path: str) -> Json:
        """The issuer, or the keys."""
        self.reads.append(path)
        if self.trouble is not None:
            raise self.trouble
        found: dict[str, Json] = {
            CONFIGURATION: {"issuer": ISSUER},
            KEYS: {"keys": list(self.keys.values())},
        }
        return found[path]

    async def create(self, resource: Any, namespace: str, body: Mapping[str, Any]) -> Json:
        """No review is allowed."""
        assert resource == TOKEN_REVIEW
        self.reviews += 1
        raise NotAllowed(403, "Forbidden", "no", {})


def _jwk(name: str, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    return {"kid": name, "alg": "ES256"} | dict(ECAlgorithm.to_jwk(key.public_key(), as_dict=True))


def a_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def signed(key: Any, name: str, algorithm: str = "ES256", **claims: Any) -> str:
    return jwt.encode({"iss": ISSUER, **claims}, key, algorithm, headers={"kid": name})


def _text(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


async def status_of(keys: PublishedKeys | Tokens, token: str) -> int:
    """The status with which a token is refused."""
    with pytest.raises(Refused) as refused:
        await (keys.owner_of(token) if isinstance(keys, Tokens) else keys.claims_of(token))
    return int(refused.value.status)


@virtually
async def test_keys_are_read_once_for_many_tokens_and_again_after_a_while() -> None:
    key = a_key()
    cluster = Keys(a=key)
    keys = PublishedKeys(cluster, LoopClock())
    tokens = [signed(key, "a", jti=str(number)) for number in range(20)]
    found = await asyncio.gather(*map(keys.claims_of, tokens))
    assert {issuer for _, issuer in found} == {ISSUER}
    assert cluster.reads == [CONFIGURATION, KEYS]
    cluster.keys.clear()
    await asyncio.sleep(301.0)
    assert await status_of(keys, tokens[0]) == 401, "its key was withdrawn"


@virtually
async def test_a_new_key_is_found_and_strangers_make_no_flood() -> None:
    key, new = a_key(), a_key()
    cluster = Keys(a=key)
    keys = PublishedKeys(cluster, LoopClock())
    for number in range(50):
        assert await status_of(keys, signed(a_key(), f"unknown-{number}")) == 401
    assert cluster.reads == [CONFIGURATION, KEYS]
    cluster.keys["b"] = _jwk("b", new)
    await asyncio.sleep(10.0)
    claims, _ = await keys.claims_of(signed(new, "b", sub="s"))
    assert claims["sub"] == "s"


@virtually
async def test_a_token_that_no_key_signed_is_refused() -> None:
    key = a_key()
    cluster = Keys(a=key)
    cluster.keys |= {"broken": {"kid": "broken", "kty": "EC"}, "odd": 7}
    keys = PublishedKeys(cluster, LoopClock())
    public = ECAlgorithm.to_jwk(key.public_key())
    confused = ".".join((_text(b'{"alg":"HS256","kid":"a"}'), _text(b"{}")))
    unsigned = _text(b'{"alg":"none","kid":"a"}') + f".{_text(b'{}')}."
    deep = _text(b"[" * 11_000)
    for token in (
        signed(a_key(), "a"),
        f"{confused}.{_text(hmac.digest(public.encode(), confused.encode(), sha256))}",
        signed(a_key(), "broken"),
        unsigned,
        "no.token.here",
        f"{deep}.e30.e30",
    ):
        assert await status_of(keys, token) == 401


@virtually
async def test_without_keys_a_token_waits_and_a_review_is_tried_again() -> None:
    key = a_key()
    cluster, clock = Keys(a=key), LoopClock()
    cluster.trouble = Transient("away")
    tokens = Tokens(cluster, clock, "streams-api")
    token = signed(key, "a", exp=clock.now() + 600.0, aud="streams-api")
    assert await status_of(tokens, token) == 503
    cluster.trouble = None
    assert await status_of(tokens, token) == 401, "it is bound to no pod"
    assert cluster.reviews == 1
    await asyncio.sleep(REVIEW_AGAIN_S)
    assert await status_of(tokens, token) == 401
    assert cluster.reviews == 2


@virtually
async def test_a_verdict_ends_with_its_token() -> None:
    key, clock = a_key(), LoopClock()
    bound = {
        "namespace": "ns",
        "pod": {"name": "p", "uid": "u"},
        "serviceaccount": {"name": "default", "uid": "a"},
    }
    claims: dict[str, Any] = {"sub": "system:serviceaccount:ns:default", "kubernetes.io": bound}
    tokens = Tokens(Keys(a=key), clock, "streams-api")
    token = signed(key, "a", exp=clock.now() + 20.0, aud="streams-api", **claims)
    assert await tokens.owner_of(token) == ("ns", "p", "u")
    await asyncio.sleep(21.0)
    assert await status_of(tokens, token) == 401
