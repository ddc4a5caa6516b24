"""The authority by which the API server and the kubelet know each other, for `exec` and logs.

The other parts sign their own certificates. The kubelet cannot: the API server wants to know its
authority when it starts, which is before the kubelet does.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cli.private import write_private
from tools.real.node.plan import NODE_NAME, NodePlan

AUTHORITY = "node-authority"
KUBELET_SERVER = "kubelet-server"
KUBELET_CLIENT = "kubelet-client"
_MASTERS = "system:masters"
_LIFETIME = timedelta(days=365)
_CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Identity:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def write_certificates(folder: Path, node: NodePlan, now: datetime) -> None:
    """Write the authority, the kubelet's certificate, and that of the API server as its client."""
    authority = _signed(now, _name("millrace-node-authority"), None, ca=True)
    addresses = [
        x509.DNSName(NODE_NAME),
        x509.IPAddress(ipaddress.ip_address(node.node_ip)),
    ]
    server = _signed(
        now,
        _name(f"system:node:{NODE_NAME}", "system:nodes"),
        authority,
        usage=ExtendedKeyUsageOID.SERVER_AUTH,
        names=addresses,
    )
    client = _signed(
        now,
        _name("kube-apiserver-kubelet-client", _MASTERS),
        authority,
        usage=ExtendedKeyUsageOID.CLIENT_AUTH,
    )
    for name, identity in (
        (AUTHORITY, authority),
        (KUBELET_SERVER, server),
        (KUBELET_CLIENT, client),
    ):
        _write(folder / name, identity)


def now_utc() -> datetime:
    """The time that certificates begin at."""
    return datetime.now(UTC)


def _name(common: str, group: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if group:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(attributes)


def _signed(
    now: datetime,
    subject: x509.Name,
    authority: _Identity | None,
    *,
    ca: bool = False,
    usage: x509.ObjectIdentifier | None = None,
    names: Sequence[x509.GeneralName] = (),
) -> _Identity:
    """A new key with a certificate, signed by the authority or else by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    signer = authority.key if authority else key
    return _Identity(builder.sign(signer, hashes.SHA256()), key)


def _write(path: Path, identity: _Identity) -> None:
    pem = serialization.Encoding.PEM
    key = identity.key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    certificate = identity.certificate.public_bytes(pem)
    write_private(path.with_name(f"{path.name}.key"), key.decode())
    write_private(path.with_name(f"{path.name}.crt"), certificate.decode())
