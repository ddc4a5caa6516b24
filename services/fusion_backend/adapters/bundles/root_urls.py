"""Bundle roots that are no directory: a store behind HTTP, or a bucket of S3.

Both answer a GET of a name or path below them. A request to S3 is signed (AWS Signature 4),
and as who is found out as S3's clients do it: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with
AWS_SESSION_TOKEN), a file (AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE), the identity of a service
account or of the machine. AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is the address of a store that is
not AWS'; AWS_REGION its region. botocore does both, and is loaded where such a root is set only.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote

from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable, Wanted
from services.fusion_backend.adapters.bundles.root import path_of_source
from services.fusion_backend.core.spec.bundle_urls import (
    S3_SCHEME,
    bucket_and_prefix,
    s3_endpoint,
    why_no_root_url,
)
from services.fusion_backend.core.spec.inputs import BundleSource

_REGION: Final = "us-east-1"
"""Where nobody says one: S3's own first region, and the name that stores without regions take."""
_NOBODY: Final = "no credentials for S3 were found (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, …)"


class RootUrl(Protocol):
    """A bundle root behind URLs."""

    def wanted(self, source: BundleSource) -> Wanted:
        """What is fetched for a name or path. Raises PlanRefused."""
        ...


def root_url_of(url: str, environment: Mapping[str, str] = os.environ) -> RootUrl | None:
    """The root of a setting; None where it is empty. Raises ValueError, which says the form."""
    if why := why_no_root_url(url, environment):
        raise ValueError(why)
    if url.startswith(S3_SCHEME):
        return S3Root(url, environment)
    return HttpRoot(url) if url else None


class HttpRoot:
    """Bundles by name behind a URL, for everybody who gets there."""

    def __init__(self, url: str) -> None:
        self._url = url

    def wanted(self, source: BundleSource) -> Wanted:
        """See RootUrl."""
        return Wanted(source, _below(self._url, source), is_ours=True)


class S3Root:
    """Bundles by name in a bucket, below a prefix."""

    def __init__(self, url: str, environment: Mapping[str, str] = os.environ) -> None:
        """Takes a URL that `why_no_root_url` takes; raises ValueError for what is no bucket."""
        self._bucket, self._prefix = bucket_and_prefix(url)
        self._region = (
            environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or _REGION
        )
        _, endpoint = s3_endpoint(environment)
        self._base = self._base_at(endpoint)
        self._session: Any = None

    def wanted(self, source: BundleSource) -> Wanted:
        """See RootUrl."""
        url = _below(self._base, source)

        async def sign(url: str) -> Mapping[str, str]:
            try:
                # Credentials may come from a file, or from another server.
                return await asyncio.to_thread(self._signature, url)
            except _NoSignature as problem:
                what = f"{source.field}: {source.value} cannot be fetched"
                raise BundleUnreadable(what, str(problem)) from problem

        return Wanted(source, url, is_ours=True, sign=sign)

    def _base_at(self, endpoint: str) -> str:
        """The URL that names are below. A dot in a bucket's name fits no certificate."""
        aws = f"s3.{self._region}.amazonaws.com"
        if endpoint or "." in self._bucket:
            base = f"{endpoint.rstrip('/') or 'https://' + aws}/{self._bucket}"
        else:
            base = f"https://{self._bucket}.{aws}"
        return "/".join((base, *(quote(part, safe="") for part in self._prefix.split("/") if part)))

    def _signature(self, url: str) -> Mapping[str, str]:
        """The headers of a signed GET. Raises _NoSignature."""
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session

        request = AWSRequest(method="GET", url=url)
        try:
            if self._session is None:
                self._session = Session()
            credentials = self._session.get_credentials()
            if credentials is None:
                raise _NoSignature(_NOBODY)
            frozen = credentials.get_frozen_credentials()
        except BotoCoreError as problem:
            why = f"the credentials for S3 cannot be had ({type(problem).__name__})"
            raise _NoSignature(why) from problem
        S3SigV4Auth(frozen, "s3", self._region).add_auth(request)
        return dict(request.headers)


class _NoSignature(Exception):
    """Nobody says who we are; the message is for people."""


def _below(base: str, source: BundleSource) -> str:
    path = "/".join(quote(part, safe="") for part in path_of_source(source).parts)
    return f"{base.rstrip('/')}/{path}"
