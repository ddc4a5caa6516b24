"""URLs of bundles in a Job's spec: which are taken, and how they are shown without secrets.

A query may hold a signature, so no message has one. Where a URL leads is judged when its host is
resolved (`addresses.py`); here only its form is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from yarl import URL

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.fusion_backend.core.spec.addresses import is_odd_number

SCHEMES: Final = ("http", "https")
S3_SCHEME: Final = "s3://"
S3_FORM: Final = "s3://BUCKET/PREFIX"
S3_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Variables with the address of an S3 store that is not AWS'; the first that is set counts."""
_BUCKET: Final = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?")
_NOT_IN_URLS: Final = re.compile(r"[\x00-\x20\x7f\\<>\"^`{|}]")
_GITHUB: Final = re.compile(
    r"/(?:api/v3/)?repos/[^/]+/[^/]+/contents/.+\.sab",
)
GITHUB_FORM: Final = "https://api.HOST/repos/USER/REPOSITORY/contents/PATH.sab"


def shown_url(text: str) -> str:
    """The URL for messages: without user, password, query and fragment."""
    try:
        url = URL(text)
        return str(url.with_user(None).with_query(None).with_fragment(None))
    except ValueError:
        return "(no URL)"


def refusal_of_urls(bundle: Mapping[str, Any]) -> PlanRefused | None:
    """Why a URL of `spec.bundle` cannot be used, whatever is behind it."""
    for field, text, secret_field in _urls(bundle):
        why = why_no_url(text) or (_why_not_github(text) if secret_field else "")
        if why:
            return PlanRefused(
                Reason.SPEC_INVALID,
                field=field,
                value=shown_url(text),
                message=f"{field}: {shown_url(text)} {why}",
            )
    return None


def _urls(bundle: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(field, URL, the field that names a Secret if one does)."""
    http, github = bundle.get("http") or {}, bundle.get("github") or {}
    if "url" in http:
        yield "spec.bundle.http.url", str(http["url"]), ""
    if "url" in github:
        named = "spec.bundle.github.secret" if github.get("secret") else ""
        yield "spec.bundle.github.url", str(github["url"]), named
    if bundle.get("url"):
        named = "spec.bundle.secret" if bundle.get("secret") else ""
        yield "spec.bundle.url", str(bundle["url"]), named


def why_no_url(text: str) -> str:
    """Why nothing is fetched from this URL; nothing where something may be."""
    if _NOT_IN_URLS.search(text):
        return "has characters that a URL does not have; write them as %XX"
    try:
        url = URL(text)
        host, _ = url.raw_host, url.port
    except ValueError:
        return "is no URL"
    if url.scheme not in SCHEMES or not host:
        return "is no URL of the form https://HOST/PATH (or http)"
    if url.raw_user is not None or url.raw_password is not None:
        return "has a user or a password in it; everybody who sees the Job would see them"
    if is_odd_number(host):
        return "has an address in it that is not written as four decimal numbers"
    return ""


def why_no_root_url(url: str, environment: Mapping[str, str]) -> str:
    """Why no bundle root is at this URL; nothing where one may be, or where it is empty."""
    if not url.startswith(S3_SCHEME):
        why = why_no_url(url) if url else ""
        return why and f"{why}; or write {S3_FORM}"
    if _BUCKET.fullmatch(url) is None:
        return f"is no bucket of the form {S3_FORM}"
    name, endpoint = s3_endpoint(environment)
    why = why_no_url(endpoint) if endpoint else ""
    return why and f"{name} {why}"


def bucket_and_prefix(url: str) -> tuple[str, str]:
    """The two parts of an S3 URL that `why_no_root_url` takes; raises ValueError for another."""
    found = _BUCKET.fullmatch(url)
    if found is None:
        raise ValueError(f"is no bucket of the form {S3_FORM}")
    return found[1], (found[2] or "").strip("/")


def s3_endpoint(environment: Mapping[str, str]) -> tuple[str, str]:
    """The variable that gives the address of an S3 store, and the address; empty for AWS itself."""
    name = next((name for name in S3_ENDPOINTS if environment.get(name)), "")
    return name, environment.get(name, "")


def _why_not_github(text: str) -> str:
    """Why no token is sent there."""
    url = URL(text)
    host = url.raw_host or ""
    is_api = host.startswith("api.") or url.raw_path.startswith("/api/v3/")
    if url.scheme != "https" or not is_api or not _GITHUB.fullmatch(url.raw_path):
        return f"is given with a Secret, so it has to be of the form {GITHUB_FORM}"
    return ""
