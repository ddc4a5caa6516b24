"""Fetching a bundle: what is sent, what is believed, and what comes of every answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.fusion_backend.adapters.bundles.fetching import (
    BundleUnreadable,
    FetchLimits,
    HttpFetcher,
    Wanted,
)
from services.fusion_backend.core.spec.addresses import networks_of
from services.fusion_backend.core.spec.inputs import BundleSource
from tests.unit.fusion_backend.serving import (
    HOST,
    Served,
    fetcher,
    serving,
    to_this_machine,
)

CONTENT = b"PK\3\4" + b"x" * 600_000
BYTES_MAX = 1_000_000


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """A server without TLS."""
    async with serving() as served:
        yield served


@pytest.fixture
def authority() -> trustme.CA:
    """Somebody who signs certificates and whom nobody trusts yet."""
    return trustme.CA()


@pytest.fixture
async def tls(authority: trustme.CA) -> AsyncIterator[Served]:
    """A server with a certificate of that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    async with serving(context) as served:
        yield served


def wanted(url: str, *, token: str = "", certificates: str = "") -> Wanted:
    field = "github.url" if token else "http.url"
    source = BundleSource("x.sab", url=url, url_field=field, ca_config_map="roots")
    return Wanted(source, url, token=token, certificates=certificates)


async def fetched(what: Wanted, by: HttpFetcher | None = None) -> bytes:
    """What came."""
    taken: list[bytes] = []

    async def sink(piece: bytes) -> None:
        taken.append(piece)

    await (by or fetcher()).fetch(what, BYTES_MAX, sink)
    return b"".join(taken)


async def refusal(what: Wanted, by: HttpFetcher | None = None) -> PlanRefused:
    with pytest.raises(PlanRefused) as caught:
        await fetched(what, by)
    assert caught.value.field == what.source.field
    return caught.value


async def trouble(what: Wanted, by: HttpFetcher | None = None) -> BundleUnreadable:
    with pytest.raises(BundleUnreadable) as caught:
        await fetched(what, by)
    return caught.value


async def test_a_bundle_is_fetched_as_it_is(server: Served) -> None:
    assert await fetched(wanted(server.at("/a/x.sab", CONTENT))) == CONTENT
    (request,) = server.requests
    assert request.headers["Host"] == f"{HOST}:{server.port}"
    assert "Authorization" not in request.headers
    assert request.headers["Accept-Encoding"] == "identity"


async def test_a_token_goes_to_github_s_api_as_it_wants_it(server: Served) -> None:
    await fetched(wanted(server.at("/x.sab", CONTENT), token="t0ken"))
    (request,) = server.requests
    assert request.headers["Authorization"] == "token t0ken"
    assert request.headers["Accept"] == "application/vnd.github.v3.raw"


async def test_a_certificate_is_checked_and_one_s_own_root_is_trusted_where_it_is_given(
    tls: Served, authority: trustme.CA, tmp_path: Path
) -> None:
    url = tls.at("/x.sab", CONTENT)
    untrusted = await refusal(wanted(url))
    assert untrusted.reason is Reason.BUNDLE_UNTRUSTED
    assert "spec.bundle.http.certificationAuthority" in untrusted.message
    pem = authority.cert_pem.bytes().decode()
    assert await fetched(wanted(url, certificates=pem)) == CONTENT
    (tmp_path / "ca.pem").write_text(pem)
    assert await fetched(wanted(url), fetcher(ca_file=str(tmp_path / "ca.pem"))) == CONTENT


async def test_a_github_server_with_a_root_of_its_own_is_trusted_where_its_job_names_it(
    tls: Served, authority: trustme.CA
) -> None:
    """The refusal names the field of the source that the Job has; the token needs the root, too."""
    url = tls.at("/x.sab", CONTENT)
    untrusted = await refusal(wanted(url, token="t0ken"))
    assert untrusted.reason is Reason.BUNDLE_UNTRUSTED
    assert "root in spec.bundle.github.certificationAuthority" in untrusted.message
    with pytest.raises(PlanRefused) as invalid:
        await fetched(wanted(url, token="t0ken", certificates="none"))
    assert invalid.value.field == "spec.bundle.github.certificationAuthority"
    assert not tls.requests
    pem = authority.cert_pem.bytes().decode()
    assert await fetched(wanted(url, token="t0ken", certificates=pem)) == CONTENT


async def test_what_people_write_beside_a_root_is_no_part_of_it(
    tls: Served, authority: trustme.CA
) -> None:
    """Lists of roots name authorities in their languages, and some editors begin with a mark."""
    pem = f"\ufeff# Főtanúsítvány\n{authority.cert_pem.bytes().decode()}"
    assert await fetched(wanted(tls.at("/x.sab", CONTENT), certificates=pem)) == CONTENT


async def test_a_certificate_of_another_name_is_not_trusted(
    tls: Served, authority: trustme.CA
) -> None:
    """The address was judged; the name is what the certificate has to be of."""
    url = tls.at("/x.sab", CONTENT).replace(HOST, "other.example")
    pem = authority.cert_pem.bytes().decode()
    assert (await refusal(wanted(url, certificates=pem))).reason is Reason.BUNDLE_UNTRUSTED


async def test_roots_that_are_invalid_are_refused_by_the_field_that_names_them(
    server: Served,
) -> None:
    what = wanted(server.at("/x.sab", CONTENT), certificates="no certificate")
    with pytest.raises(PlanRefused) as caught:
        await fetched(what)
    assert caught.value.reason is Reason.SPEC_INVALID
    assert caught.value.field == "spec.bundle.http.certificationAuthority"
    assert "roots" in caught.value.message


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (404, {}, Reason.BUNDLE_MISSING),
        (410, {}, Reason.BUNDLE_MISSING),
        (400, {}, Reason.BUNDLE_MISSING),
        (204, {}, Reason.BUNDLE_MISSING),
        (401, {}, Reason.BUNDLE_FORBIDDEN),
        (403, {}, Reason.BUNDLE_FORBIDDEN),
        (302, {}, Reason.BUNDLE_MISSING),
        (302, {"Location": "ftp://bundles.example/x"}, Reason.BUNDLE_MISSING),
        (302, {"Location": "file:///etc/passwd"}, Reason.BUNDLE_MISSING),
        (302, {"Location": "http://user:secret@bundles.example/"}, Reason.BUNDLE_MISSING),
        (302, {"Location": "http://0x7f000001/x"}, Reason.BUNDLE_MISSING),
        (302, {"Location": "http://10.0.0.7/x?key=secret"}, Reason.ADDRESS_REFUSED),
        (302, {"Location": "http://[::ffff:169.254.169.254]/"}, Reason.ADDRESS_REFUSED),
        (200, {"Content-Encoding": "gzip"}, Reason.BUNDLE_INVALID),
    ],
)
async def test_what_does_not_pass_is_refused(
    server: Served, status: int, headers: dict[str, str], reason: Reason
) -> None:
    url = server.at("/x.sab", b"", status=status, headers=headers)
    refused = await refusal(wanted(f"{url}?key=hidden"))
    assert refused.reason is reason
    assert f"{HOST}:{server.port}/x.sab" in refused.message
    assert "hidden" not in f"{refused.message}{refused.value}"
    assert "secret" not in refused.message


@pytest.mark.parametrize(
    ("status", "headers", "wish"),
    [
        (500, {}, None),
        (503, {"Retry-After": "7"}, 7.0),
        (429, {"Retry-After": "99999"}, 300.0),
        (408, {}, None),
        (403, {"X-RateLimit-Remaining": "0"}, None),
        (403, {"Retry-After": "60"}, 60.0),
    ],
)
async def test_what_may_pass_is_trouble(
    server: Served, status: int, headers: dict[str, str], wish: float | None
) -> None:
    problem = await trouble(wanted(server.at("/x.sab", status=status, headers=headers)))
    assert str(status) in str(problem)
    assert problem.retry_after_s == wish


async def test_nobody_there_is_trouble(server: Served) -> None:
    url = server.at("/x.sab").replace(f":{server.port}", ":1")
    assert "cannot be fetched" in str(await trouble(wanted(url)))


async def _hang_up(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Length": "1000"})
    await answer.prepare(request)
    await answer.write(b"PK")
    assert request.transport is not None
    request.transport.abort()
    return answer


async def _stay_silent(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("nobody wakes it")


@pytest.mark.parametrize("answer", [_hang_up, _stay_silent])
async def test_an_answer_that_does_not_end_is_trouble(
    server: Served, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> None:
    server.answers["/x.sab"] = answer
    await trouble(wanted(server.url("/x.sab")), fetcher(FetchLimits(total_s=0.3)))


async def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(
    server: Served,
) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        answer.enable_chunked_encoding()
        await answer.prepare(request)
        while True:
            await answer.write(bytes(100_000))

    server.answers["/endless"] = endless
    said = server.at("/said", bytes(BYTES_MAX + 1))
    for url in (said, server.url("/endless")):
        assert (await refusal(wanted(url))).reason is Reason.BUNDLE_TOO_LARGE


async def test_redirects_are_followed_and_another_origin_sees_no_token(server: Served) -> None:
    async with serving() as other:
        last = other.at("/last", CONTENT)
        second = server.at("/second", status=302, headers={"Location": last})
        server.at("/first", status=307, headers={"Location": "/second?more=1"})
        assert second != last
        assert await fetched(wanted(server.url("/first"), token="t0ken")) == CONTENT
        asked = [request.headers.get("Authorization") for request in server.requests]
        assert asked == ["token t0ken", "token t0ken"]
        assert [request.headers.get("Authorization") for request in other.requests] == [None]


async def test_redirects_in_a_circle_end(server: Served) -> None:
    url = server.at("/x", status=302, headers={"Location": "/x"})
    assert "more than 5 times" in (await refusal(wanted(url))).message
    assert len(server.requests) == 6


async def test_no_redirect_leads_from_https_to_http(
    tls: Served, server: Served, authority: trustme.CA
) -> None:
    url = tls.at("/x", status=302, headers={"Location": server.at("/y", CONTENT)})
    pem = authority.cert_pem.bytes().decode()
    assert (await refusal(wanted(url, certificates=pem))).reason is Reason.BUNDLE_UNTRUSTED
    assert server.requests == []


async def test_a_name_that_changes_after_it_was_judged_is_not_requested_again(
    server: Served,
) -> None:
    """The second answer would be the one that is connected to."""
    asked: list[str] = []

    async def rebound(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    by = HttpFetcher(allowed=networks_of(["127.0.0.1"]), resolve=rebound)
    assert await fetched(wanted(server.at("/x.sab", CONTENT)), by) == CONTENT
    assert asked == [HOST]


async def test_a_store_that_an_administrator_names_may_be_anywhere_but_not_lead_anywhere(
    server: Served,
) -> None:
    """Its own address is not judged; that of a redirect is."""
    by = HttpFetcher(resolve=to_this_machine)
    source = BundleSource("x.sab")
    url = server.at("/x.sab", CONTENT)
    assert await fetched(Wanted(source, url, is_ours=True), by) == CONTENT
    away = server.at("/away", status=302, headers={"Location": url})
    assert (await refusal(Wanted(source, away, is_ours=True), by)).reason is Reason.ADDRESS_REFUSED
