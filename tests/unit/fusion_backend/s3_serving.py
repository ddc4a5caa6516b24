"""A small S3: objects of one bucket, for who signs with one key (AWS Signature 4, as published)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from aiohttp import web

KEY_ID = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def signature_of(
    method: str, path: str, query: str, headers: Mapping[str, str], signed: str, scope: str
) -> str:
    """The signature of a request; `scope` is DATE/REGION/s3/aws4_request."""
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in signed.split(";"))
    canonical = "\n".join(
        (
            method,
            quote(unquote(path), safe="/-_.~"),
            query,
            lines,
            signed,
            headers["x-amz-content-sha256"],
        )
    )
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashed))
    key = f"AWS4{SECRET_KEY}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


@dataclass
class S3:
    """Answers as S3 does: 403 for a signature that is not right, 404 for what is not there."""

    bucket: str
    region: str
    objects: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    session_token: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        name = unquote(request.rel_url.raw_path).removeprefix(f"/{self.bucket}/")
        status = 403 if not self._is_signed(request) else 200 if name in self.objects else 404
        self.asked.append((request.rel_url.raw_path, status))
        return web.Response(
            status=status, body=self.objects.get(name) if status == 200 else b"<E/>"
        )

    def _is_signed(self, request: web.Request) -> bool:
        headers = {name.lower(): value for name, value in request.headers.items()}
        algorithm, _, rest = headers.get("authorization", "").partition(" ")
        said = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
        key_id, _, scope = said.get("Credential", "").partition("/")
        signed = said.get("SignedHeaders", "")
        if algorithm != "AWS4-HMAC-SHA256" or key_id != KEY_ID or "host" not in signed.split(";"):
            return False
        date = headers["x-amz-date"][:8]
        if scope != f"{date}/{self.region}/s3/aws4_request":
            return False
        if headers.get("x-amz-security-token", "") != self.session_token:
            return False
        path, query = request.rel_url.raw_path, request.rel_url.raw_query_string
        return said.get("Signature") == signature_of(
            request.method, path, query, headers, signed, scope
        )
