"""Settings come from the environment; a wrong one is named in a sentence."""

from __future__ import annotations

import pytest
from pydantic import Field

from services.chassis.process.settings import ServiceSettings, read_settings


class MoreSettings(ServiceSettings):
    """A service with a setting of its own."""

    image: str = Field(default="runtime")


def test_defaults_need_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLRACE_BUS", raising=False)
    settings = read_settings(MoreSettings)
    assert (settings.bus, settings.topic_prefix, settings.image) == (
        "memory:",
        "millrace",
        "runtime",
    )


def test_the_environment_is_read_with_our_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_BUS", "sqlite:///data/log.sqlite")
    monkeypatch.setenv("MILLRACE_NAMESPACES", "a, b,")
    monkeypatch.setenv("MILLRACE_IMAGE", "mine")
    settings = read_settings(MoreSettings)
    assert settings.bus == "sqlite:///data/log.sqlite"
    assert settings.namespaces == ("a", "b")
    assert settings.image == "mine"


@pytest.mark.parametrize(
    "url",
    ["kafka://a:9092", "kafka://10.0.0.1:9092,b.example:19092", "kafka://[::1]:9092,[fd00::5]:1"],
)
def test_brokers_are_named_with_their_ports(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MILLRACE_BUS", url)
    assert read_settings(MoreSettings).bus == url


@pytest.mark.parametrize(
    "url", ["kafka://", "kafka://a", "kafka://a:1,", "kafka://a:1/t", "kafka://::1:1"]
)
def test_brokers_that_cannot_be_reached_by_their_name_are_refused(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("MILLRACE_BUS", url)
    with pytest.raises(SystemExit):
        read_settings(MoreSettings)


def test_every_wrong_value_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MILLRACE_BUS", "kafka")
    monkeypatch.setenv("MILLRACE_METRICS_PORT", "99999")
    monkeypatch.setenv("MILLRACE_METRICS_HOST", "localhost")
    with pytest.raises(SystemExit) as exit_:
        read_settings(MoreSettings)
    assert exit_.value.code == 2
    said = capsys.readouterr().err
    assert "MILLRACE_BUS=kafka: " in said
    assert "neither memory:, sqlite:///PATH nor kafka://HOST:PORT[,HOST:PORT]" in said
    assert "MILLRACE_METRICS_PORT=99999: " in said
    assert "MILLRACE_METRICS_HOST=localhost: is no IP address, such as 127.0.0.1 or ::1" in said


def test_a_setting_that_is_missing_is_named_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All other settings were shown as its value."""

    class NeedyServiceSettings(MoreSettings):
        needed: int

    monkeypatch.setenv("MILLRACE_METRICS_PORT", "9090")
    with pytest.raises(SystemExit):
        read_settings(NeedyServiceSettings)
    lines = capsys.readouterr().err.splitlines()
    assert "MILLRACE_NEEDED: Field required" in lines
    assert "9090" not in "".join(lines)
