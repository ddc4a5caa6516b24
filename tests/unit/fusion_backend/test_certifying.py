"""The certificate of a job is one that TLS accepts, for the hosts that PEs are called by."""

from __future__ import annotations

import ssl
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from services.fusion_backend.adapters.certifying import (
    Certificate,
    made_certificate,
    validity_of,
)
from services.fusion_backend.core.spec.provisions import NAMED_PES_MAX, certified_names

NOW = 1_800_000_000.0
DAY_S = 86_400.0
NAMES = certified_names(["shop-0", "shop-1"], namespace="default", cluster_domain="cluster.local")


@pytest.fixture(scope="module")
def made() -> Certificate:
    return made_certificate(NAMES, days=30, now=NOW)


def shaken_hands(made: Certificate, host: str, folder: Path) -> None:
    """A handshake in memory of two PEs that both have the certificate and trust it alone."""
    certificate, key = folder / "transport.cert", folder / "transport.key"
    certificate.write_bytes(made.certificate)
    key.write_bytes(made.key)
    contexts = (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    for context in contexts:
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(certificate)
        context.verify_mode = ssl.CERT_REQUIRED
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = contexts[0].wrap_bio(there, back, server_side=True)
    client = contexts[1].wrap_bio(back, there, server_hostname=host)
    step([client, server] * 4)


def step(ends: Sequence[ssl.SSLObject]) -> None:
    done = 0
    for end in ends:
        try:
            end.do_handshake()
            done += 1
        except ssl.SSLWantReadError:
            continue
    assert done >= 2, "both ends have shaken hands"


@pytest.mark.parametrize(
    "host", ["shop-1.default", "shop-0.default.svc", "shop-77.default.svc.cluster.local"]
)
def test_two_pes_that_share_it_shake_hands_under_the_names_of_their_services(
    host: str, tmp_path: Path
) -> None:
    """Also under that of a PE which a resize has added since."""

    shaken_hands(made_certificate(NAMES, days=1, now=time.time()), host, tmp_path)


def test_a_host_that_is_no_pe_of_the_namespace_is_not_believed(tmp_path: Path) -> None:

    fresh = made_certificate(NAMES, days=1, now=time.time())
    with pytest.raises(ssl.SSLCertVerificationError, match=r"[Hh]ostname"):
        shaken_hands(fresh, "shop-0.elsewhere.svc", tmp_path)


def test_it_is_written_as_the_original_s_was_with_the_names_that_those_lacked(
    made: Certificate,
) -> None:
    certificate = x509.load_pem_x509_certificate(made.certificate)
    assert certificate.subject.rfc4514_string() == "C=US,L=NewYork,CN=Streams"
    assert certificate.issuer == certificate.subject
    assert certificate.serial_number == int(NOW * 1000)
    key = certificate.public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    assert key.key_size == 2048
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == list(NAMES)
    valid = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert timedelta(days=30) <= valid < timedelta(days=31)
    assert made.key.startswith(b"-----BEGIN PRIVATE KEY-----")
    assert "PRIVATE" not in repr(made)


def test_it_is_renewed_when_a_third_of_its_time_is_left(made: Certificate) -> None:
    validity = validity_of(made)
    assert validity is not None
    assert validity.not_after == NOW + 30 * DAY_S
    assert validity.renewed_from == NOW + 20 * DAY_S


def test_what_is_no_certificate_of_its_key_is_none(made: Certificate) -> None:
    other = made_certificate(NAMES, days=30, now=NOW)
    assert validity_of(Certificate(made.certificate, other.key)) is None
    assert validity_of(Certificate(made.certificate, b"")) is None
    assert validity_of(Certificate(b"odd", made.key)) is None


def test_a_large_job_is_named_by_stars_so_that_a_handshake_can_carry_it() -> None:
    pes = [f"shop-{number}" for number in range(500)]
    names = certified_names(pes, namespace="default", cluster_domain="cluster.local")
    assert len(names) == 3 * NAMED_PES_MAX + 3
    assert names[-3:] == ("*.default", "*.default.svc", "*.default.svc.cluster.local")


def test_pes_in_the_service_of_their_job_are_named_there_and_nobody_beside_them() -> None:
    names = certified_names(
        ["shop-0"], namespace="default", cluster_domain="cluster.local", service="shop-pes"
    )
    assert names == (
        "shop-0.shop-pes.default",
        "shop-0.shop-pes.default.svc",
        "shop-0.shop-pes.default.svc.cluster.local",
        "*.shop-pes.default",
        "*.shop-pes.default.svc",
        "*.shop-pes.default.svc.cluster.local",
    )
