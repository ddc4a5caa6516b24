"""Planted bugs in how requests of HTTP are tried again, and in what errors show of them."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_REQUESTS = "millrace/adapters/http_requests.py"
_TESTS = ("tests/unit/millrace/test_http.py",)

MUTANTS = (
    Mutant(
        "a server that limits its requests is not tried again",
        _REQUESTS,
        "is_tried_again",
        "status in AGAIN or",
        "",
        _TESTS,
    ),
    Mutant(
        "a server may let a sink wait for a month",
        _REQUESTS,
        "waits_s",
        "min(max(found, 0.0), WAIT_S_MAX)",
        "max(found, 0.0)",
        (*_TESTS, "-k", "too_long"),
    ),
    Mutant(
        "a Retry-After with a year that no calendar has ends the source",
        _REQUESTS,
        "waits_s",
        "(ValueError, OverflowError)",
        "ValueError",
        (*_TESTS, "-k", "too_long"),
    ),
    Mutant(
        "networks and ports of $NO_PROXY are not known",
        _REQUESTS,
        "way_to",
        'return {"trust_env": False}',
        'return {"trust_env": True}',
        (*_TESTS, "-k", "networks_and_ports"),
    ),
    Mutant(
        "a proxy without its scheme ends the source",
        _REQUESTS,
        "way_to",
        'if "://" in proxy',
        "if True",
        (*_TESTS, "-k", "without_its_scheme"),
    ),
    Mutant(
        "a redirect makes a GET of a post, and counts as success",
        _REQUESTS,
        "_lost_body",
        'if method == "GET" or not dropped:',
        "if True:",
        (*_TESTS, "-k", "drops_the_tuple"),
    ),
    Mutant(
        "requests do not go by the proxy of the environment",
        _REQUESTS,
        "Client._session",
        ", **way_to(url)",
        "",
        (*_TESTS, "-k", "proxy"),
    ),
    Mutant(
        "an error shows the query of a URL",
        _REQUESTS,
        "shown",
        '"…" if parts.query else ""',
        "parts.query",
        (*_TESTS, "-k", "shown"),
    ),
    Mutant(
        "an error shows what is not a URL, with its login",
        _REQUESTS,
        "_unusable",
        "return InvalidURL, NonHttpUrlClientError, UnicodeError",
        "return ()",
        (*_TESTS, "-k", "is_not_one"),
    ),
    Mutant(
        "without an answer a pause may last for days",
        _REQUESTS,
        "Client.body_of",
        "min(self._options.retry_s * 2 ** min(attempt, 30), WAIT_S_MAX)",
        "self._options.retry_s * 2 ** min(attempt, 30)",
        (*_TESTS, "-k", "never_too_long"),
    ),
)
