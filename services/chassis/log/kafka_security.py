"""How Kafka's brokers and we prove to each other who we are: settings, and what clients need.

Plaintext is the default. Passwords and keys are files, as mounted Secrets are, and are read
again with each connection, so that a rotated one is used without a restart.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ENV_PREFIX = "MILLRACE_KAFKA_"


class KafkaSecurity(BaseSettings):
    """Each field is MILLRACE_KAFKA_<FIELD>; what is set in vain is refused, not ignored."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        default="PLAINTEXT", description="how brokers are talked to"
    )
    ca_file: str = Field(default="", description="PEM; empty: the system's authorities")
    certificate_file: str = Field(default="", description="PEM, for brokers that want one of us")
    key_file: str = Field(default="", description="PEM, the certificate's key")
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="SCRAM-SHA-512", description="how a login is proved"
    )
    username: str = Field(default="", description="the name of the login")
    password_file: str = Field(default="", description="the password, and nothing else")

    @field_validator("ca_file", "certificate_file", "key_file", "password_file")
    @classmethod
    def is_a_file(cls, value: str) -> str:
        """Refuse early what would only look like brokers that are away."""
        if value and not Path(value).is_file():
            raise ValueError("is not a file")
        return value

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        """TLS settings want TLS, SASL settings want SASL, and pairs come in pairs."""
        protocol = f"{ENV_PREFIX}SECURITY_PROTOCOL={self.security_protocol}"
        for field in ("ca_file", "certificate_file", "key_file"):
            if getattr(self, field) and not self.is_encrypted:
                raise ValueError(f"{_variable(field)} has no effect with {protocol}")
        if bool(self.certificate_file) != bool(self.key_file):
            pair = f"{_variable('certificate_file')} and {_variable('key_file')}"
            raise ValueError(f"set both of {pair}, or neither")
        for field in ("username", "password_file"):
            if self.has_login and not getattr(self, field):
                raise ValueError(f"{protocol} needs {_variable(field)}")
            if getattr(self, field) and not self.has_login:
                raise ValueError(f"{_variable(field)} has no effect with {protocol}")
        return self

    @property
    def is_encrypted(self) -> bool:
        """Whether connections are TLS."""
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        """Whether brokers want a name and a password."""
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @property
    def principal(self) -> str:
        """Who brokers take us for, as in their ACLs unless they map names."""
        if self.has_login:
            return f"User:{self.username}"
        if self.certificate_file:
            return f"the subject of {self.certificate_file}"
        return "User:ANONYMOUS"

    def client_options(self) -> dict[str, Any]:
        """What a client of aiokafka is made with; raises OSError for a file that is unreadable."""
        options: dict[str, Any] = {"security_protocol": self.security_protocol}
        if self.is_encrypted:
            options["ssl_context"] = self._ssl_context()
        if self.has_login:
            options["sasl_mechanism"] = self.sasl_mechanism
            options["sasl_plain_username"] = self.username
            # Editors and `echo` end a file with a newline that is no part of the password.
            password = Path(self.password_file).read_text(encoding="utf-8").rstrip("\r\n")
            options["sasl_plain_password"] = password
        return options

    def _ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file or None)
        if self.certificate_file:
            context.load_cert_chain(self.certificate_file, self.key_file)
        return context


PLAINTEXT = KafkaSecurity.model_construct()
"""No proof at all: brokers on loopback, and tests."""


def _variable(field: str) -> str:
    return ENV_PREFIX + field.upper()
