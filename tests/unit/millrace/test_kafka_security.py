"""What a client of Kafka gets for TLS and a login, and that no message shows a secret."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from millrace.adapters.certificates import pem_of
from millrace.adapters.kafka_security import Security, connection

AUTHORITY = trustme.CA()
CA = AUTHORITY.cert_pem.bytes().decode()
ISSUED = AUTHORITY.issue_cert("client.example")
CERTIFICATE = "".join(part.bytes().decode() for part in ISSUED.cert_chain_pems)
KEY = ISSUED.private_key_pem.bytes().decode()


def test_without_security_nothing_is_added() -> None:
    assert connection(None) == {}


@pytest.mark.parametrize(
    ("security", "protocol"),
    [
        (Security(), "SSL"),
        (Security(tls=False), "PLAINTEXT"),
        (Security(username="a", password="b"), "SASL_SSL"),
        (Security(username="a", password="b", tls=False), "SASL_PLAINTEXT"),
    ],
)
def test_the_protocol_follows_from_tls_and_login(security: Security, protocol: str) -> None:
    found = connection(security)
    assert found["security_protocol"] == protocol
    assert ("ssl_context" in found) == ("SSL" in protocol)
    assert ("sasl_mechanism" in found) == ("SASL" in protocol)


def test_certificates_are_texts_or_files(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text(CA)
    for ca in (CA, str(path), CA + "\n"):
        context = connection(Security(ca=ca))["ssl_context"]
        assert len(context.get_ca_certs()) == 1
        assert context.check_hostname
        assert context.verify_mode is ssl.CERT_REQUIRED


def test_certificates_may_have_names_beside_them_and_be_in_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, Python refused the bundle of curl, whose comments are in UTF-8."""
    text = f"AC Raíz Certicámara S.A.\n========\n{CA}"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ca.pem").write_bytes(text.encode() + b"\xff\n")
    monkeypatch.setenv("MILLRACE_ROOT", str(tmp_path))
    for ca in (text, "/etc/ca.pem"):
        assert len(connection(Security(ca=ca))["ssl_context"].get_ca_certs()) == 1
    assert len(ssl.create_default_context(cadata=pem_of("/etc/ca.pem")).get_ca_certs()) == 1


def test_a_client_can_have_a_certificate_and_a_context_of_its_own() -> None:
    load_pem_private_key(KEY.encode(), None)
    connection(Security(ca=CA, certificate=CERTIFICATE, key=KEY))
    own = ssl.create_default_context()
    assert connection(Security(tls=own))["ssl_context"] is own


@pytest.mark.parametrize(
    ("security", "sentence"),
    [
        (Security(username="me"), "password of kafka.Security is empty"),
        (Security(password="hidden"), "username of kafka.Security is empty"),
        (Security(username="me", password="\n"), "password of kafka.Security is empty"),
        (Security(username="me", password="hidden", mechanism="MD5"), "mechanism of"),  # type: ignore[arg-type]
        (Security(ca="hidden"), "ca of kafka.Security is neither PEM text nor a file"),
        (Security(ca="-----BEGIN hidden"), "ca of kafka.Security has no certificate"),
        (Security(key="hidden", certificate=CERTIFICATE), "key of kafka.Security is neither PEM"),
        (Security(certificate=CERTIFICATE), "belong together: one is empty"),
        (Security(certificate=CERTIFICATE, key="-----BEGIN hidden"), "do not fit, or cannot"),
        (Security(certificate="-----BEGIN hidden", key=KEY), "do not fit, or cannot"),
    ],
)
def test_what_cannot_be_used_is_named_and_not_shown(security: Security, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        connection(security)
    assert "hidden" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert "hidden" not in repr(security)


def test_a_function_that_gives_something_else_is_named() -> None:
    with pytest.raises(TypeError, match=r"security= gives a dict, and not a kafka.Security"):
        connection(lambda: {"password": "hidden"})  # type: ignore[arg-type, return-value]
