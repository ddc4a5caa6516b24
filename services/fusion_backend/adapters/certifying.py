"""Makes and reads the certificate that the PEs of a job share; pure computation, 0.1 s of it.

RSA 2048, self-signed with SHA-256 (X.509 v3) under the subject of the original, whose certificates
named no host: here its subject alternative names are those of the PEs in the DNS. It is its own
authority: every PE of the job trusts exactly it. A key is only ever returned, never shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

KEY_BITS: Final = 2048
EXPONENT: Final = 65537
CLOCKS_DIFFER_S: Final = 300
"""A certificate is valid this long before it is made: clocks of nodes differ."""
LEFT_AT_RENEWAL: Final = 1 / 3
"""The share of its validity that is left when a certificate is renewed."""
_SUBJECT: Final = x509.Name(
    [
        x509.NameAttribute(NameOID.COMMON_NAME, "Streams"),
        x509.NameAttribute(NameOID.LOCALITY_NAME, "NewYork"),
        x509.NameAttribute(NameOID.COUNTRY_NAME, "US"),
    ]
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Validity:
    """When a certificate expires, and from when it is to be renewed (unix seconds)."""

    not_after: float
    renewed_from: float


def made_certificate(names: Sequence[str], *, days: int, now: float) -> Certificate:
    """A new key and its certificate, valid for `days` from `now` (unix seconds)."""
    key = rsa.generate_private_key(public_exponent=EXPONENT, key_size=KEY_BITS)
    at = datetime.fromtimestamp(now, UTC).replace(microsecond=0)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=True,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        x509.CertificateBuilder()
        .subject_name(_SUBJECT)
        .issuer_name(_SUBJECT)
        .public_key(key.public_key())
        .serial_number(int(now * 1000))
        .not_valid_before(at - timedelta(seconds=CLOCKS_DIFFER_S))
        .not_valid_after(at + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Certificate(
        certificate=builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def validity_of(found: Certificate) -> Validity | None:
    """How long a certificate is valid; None where it is no certificate of its key."""
    try:
        certificate = x509.load_pem_x509_certificate(found.certificate)
        key = serialization.load_pem_private_key(
            found.key, password=None, unsafe_skip_rsa_key_validation=True
        )
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, InvalidSignature):
        return None
    if key.public_key() != certificate.public_key():
        return None
    begin = certificate.not_valid_before_utc.timestamp() + CLOCKS_DIFFER_S
    end = certificate.not_valid_after_utc.timestamp()
    return Validity(not_after=end, renewed_from=end - (end - begin) * LEFT_AT_RENEWAL)
