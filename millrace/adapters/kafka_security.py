"""How a client of Kafka proves who it is, and whom it trusts. Secrets are never shown."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from millrace.adapters.certificates import ascii_of, pem_of

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PEM: Final = "-----BEGIN "


@dataclass(frozen=True, kw_only=True, slots=True)
class Security:
    """TLS, and a login if there is a user name.

    >>> def login() -> kafka.Security:
    ...     found = restricted("kafka-password", "kafka-ca")
    ...     return kafka.Security(
    ...         username="orders", password=found["kafka-password"], ca=found["kafka-ca"]
    ...     )
    >>> orders = app.source(kafka.topic("orders", Order, servers="broker:9093", security=login))

    Attributes:
        username: For a login by SASL. A line break at its end is left out, as files have one; of
            the password, too.
        password: It is shown nowhere.
        mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
        tls: False for a listener without TLS, or a context of your own.
        ca: The certificates that are trusted, as PEM text or the path of a file. By default
            those of the system.
        certificate: That of the client with its chain, where the broker wants one, as `ca`.
        key: The private key that belongs to it, without a password, as `ca`.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    mechanism: Mechanism = "SCRAM-SHA-512"
    tls: bool | ssl.SSLContext = True
    ca: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


Secured = Security | Callable[[], Security] | None
"""A function is called when a client connects: there secrets of the Job can be read."""


def connection(security: Secured) -> Mapping[str, Any]:
    """The arguments of a client. Raises ValueError, TypeError, and what a function raises."""
    if security is None:
        return {}
    found = security if isinstance(security, Security) else security()
    if not isinstance(found, Security):
        raise TypeError(f"security= gives a {type(found).__name__}, and not a kafka.Security")
    has_login, has_tls = bool(found.username or found.password), found.tls is not False
    arguments: dict[str, Any] = {
        "security_protocol": ("SASL_" if has_login else "") + ("SSL" if has_tls else "PLAINTEXT"),
    }
    if has_tls:
        arguments["ssl_context"] = _context(found)
    if has_login:
        arguments |= _login(found)
    return arguments


def _login(security: Security) -> Mapping[str, Any]:
    if security.mechanism not in MECHANISMS:
        raise ValueError(f"mechanism of kafka.Security has to be one of {', '.join(MECHANISMS)}")
    texts = {"username": security.username, "password": security.password}
    for name, text in texts.items():
        if not isinstance(text, str) or not text.strip("\r\n"):
            raise ValueError(f"{name} of kafka.Security is empty, or no text")
    return {
        "sasl_mechanism": security.mechanism,
        "sasl_plain_username": security.username.rstrip("\r\n"),
        "sasl_plain_password": security.password.rstrip("\r\n"),
    }


def _context(security: Security) -> ssl.SSLContext:
    if isinstance(security.tls, ssl.SSLContext):
        return security.tls
    try:
        context = ssl.create_default_context(cadata=_pem(security.ca, "ca"))
    except ssl.SSLError:
        raise ValueError("ca of kafka.Security has no certificate that can be read") from None
    if security.certificate or security.key:
        _load_own(context, security)
    return context


def _load_own(context: ssl.SSLContext, security: Security) -> None:
    """Python loads these from files alone: one that only we can read, for this moment."""
    texts = (_pem(security.key, "key"), _pem(security.certificate, "certificate"))
    if None in texts:
        raise ValueError("certificate and key of kafka.Security belong together: one is empty")
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write("\n".join(map(str, texts)))
        file.flush()
        try:
            # Without a password of ours, OpenSSL would read one from the terminal.
            context.load_cert_chain(file.name, password=lambda: "")
        except (ssl.SSLError, ValueError):
            raise ValueError(
                "certificate and key of kafka.Security do not fit, or cannot be read"
            ) from None


def _pem(value: str, name: str) -> str | None:
    """The PEM of a text or of the file of that path; the value may be a secret: it is not shown."""
    if not value:
        return None
    if isinstance(value, str) and _PEM in value:
        return ascii_of(value)
    try:
        return pem_of(value)
    except (OSError, ValueError, TypeError):
        raise ValueError(
            f"{name} of kafka.Security is neither PEM text nor a file that can be read"
        ) from None
