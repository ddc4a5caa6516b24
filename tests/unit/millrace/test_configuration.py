"""What functions of an application read of the Secrets that the Job mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

import millrace
from millrace.runtime.configuration import ConfigurationError
from millrace.runtime.environment import Paths


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root folder of a pod with a configuration and a restricted property."""
    monkeypatch.setenv("MILLRACE_ROOT", str(tmp_path))
    for folder in (Paths(tmp_path).app_configuration, Paths(tmp_path).restricted):
        folder.mkdir(parents=True)
    return tmp_path


def write(root: Path, text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    (Paths(root).app_configuration / "shop").write_bytes(data)


def test_a_configuration_is_its_keys_and_values(root: Path) -> None:
    write(root, "# a comment\nurl = https://example.com/?a=1%20\nUser=me\n\n[retry]\ntimes = 3\n")
    assert millrace.configuration("shop") == {
        "url": "https://example.com/?a=1%20",
        "User": "me",
        "retry.times": "3",
    }


def test_a_configuration_is_read_again_each_time_and_cannot_be_changed(root: Path) -> None:
    write(root, "a=1")
    first = millrace.configuration("shop")
    write(root, "a=2")
    assert (first["a"], millrace.configuration("shop")["a"]) == ("1", "2")
    with pytest.raises(TypeError):
        first["a"] = "3"  # type: ignore[index]


def test_an_empty_configuration_has_nothing(root: Path) -> None:
    write(root, "")
    assert millrace.configuration("shop") == {}


def test_a_configuration_that_is_not_there_names_the_path_and_the_field(root: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"app/shop\).*appPropertiesSecret"):
        millrace.configuration("shop")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a=1\nwords without a value\n", r"no INI text \(line 2\)"),
        ("[open\na=1", r"no INI text \(line 1\)"),
        (b"\xff\xfe=1", "no text in UTF-8"),
        (b"a=" + b"x" * 2_000_000, "more than 1048576 bytes"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_why(
    text: str | bytes, sentence: str, root: Path
) -> None:
    write(root, text)
    with pytest.raises(ConfigurationError, match=sentence):
        millrace.configuration("shop")


@pytest.mark.parametrize("name", ["", ".", "../restricted/password", "a/b", "..data", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(name: str, root: Path) -> None:
    with pytest.raises(ConfigurationError, match="no name of a configuration"):
        millrace.configuration(name)
    with pytest.raises(ConfigurationError, match="no name of a configuration"):
        millrace.restricted(name)


def test_restricted_properties_that_are_there_are_given(root: Path) -> None:
    (Paths(root).restricted / "password").write_text("secret\n")
    assert millrace.restricted("password", "other") == {"password": "secret\n"}


def test_without_mounts_there_are_no_restricted_properties(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ROOT", str(tmp_path))
    assert millrace.restricted("password") == {}
