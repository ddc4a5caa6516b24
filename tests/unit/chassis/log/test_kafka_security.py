"""Settings for brokers that want to know who we are."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.chassis.log.kafka_security import PLAINTEXT, KafkaSecurity
from services.chassis.process.settings import read_settings

PREFIX = "MILLRACE_KAFKA_"


def set_all(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Set MILLRACE_KAFKA_<NAME>."""
    for name, value in variables.items():
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", value)


def test_nothing_set_means_plaintext() -> None:
    """Brokers on loopback want nothing."""
    assert KafkaSecurity().client_options() == PLAINTEXT.client_options()
    assert PLAINTEXT.client_options() == {"security_protocol": "PLAINTEXT"}


def test_a_password_is_read_again_for_each_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A mounted Secret is rotated under a running service."""
    password = tmp_path / "password"
    password.write_text("first\n")
    set_all(
        monkeypatch,
        security_protocol="SASL_PLAINTEXT",
        username="millrace",
        password_file=str(password),
    )
    security = read_settings(KafkaSecurity)
    assert security.client_options()["sasl_plain_password"] == "first"
    password.write_text("second")
    assert security.client_options() == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "millrace",
        "sasl_plain_password": "second",
    }


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"security_protocol": "TLS"}, ["MILLRACE_KAFKA_SECURITY_PROTOCOL=TLS"]),
        ({"ca_file": "/nowhere/ca.pem"}, ["MILLRACE_KAFKA_CA_FILE", "is not a file"]),
        ({"ca_file": __file__}, ["CA_FILE has no effect with", "PROTOCOL=PLAINTEXT"]),
        ({"username": "me"}, ["MILLRACE_KAFKA_USERNAME has no effect"]),
        (
            {"security_protocol": "SASL_SSL", "username": "me"},
            ["PROTOCOL=SASL_SSL needs MILLRACE_KAFKA_PASSWORD_FILE"],
        ),
        (
            {"security_protocol": "SSL", "certificate_file": __file__},
            ["both of MILLRACE_KAFKA_CERTIFICATE_FILE and MILLRACE_KAFKA_KEY_FILE"],
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_names_of_its_variables(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    named: list[str],
) -> None:
    """A setting without effect would let people believe in an encryption that is not there."""
    set_all(monkeypatch, **variables)
    with pytest.raises(SystemExit) as ended:
        read_settings(KafkaSecurity)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "Value error" not in said
    for words in named:
        assert words in said
