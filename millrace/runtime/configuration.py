"""Configurations that a job mounts: for functions of an application, while they run.

An application configuration is a file of INI text, a restricted property the content of one file.
Both come from Secrets that the Job names; they are read again at each call, since they may change.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from millrace.errors import MillraceError

APP_FOLDER: Final = "etc/config/app"
RESTRICTED_FOLDER: Final = "etc/config/restricted"
BYTES_MAX: Final = 1024 * 1024
"""Of one configuration or property: a Secret holds no more."""
_TOP: Final = "\0"
"""A section for the lines before the first section; no file can name it."""


class ConfigurationError(MillraceError):
    """A configuration is not there, or is no INI text."""


def configuration(name: str) -> Mapping[str, str]:
    """The application configuration of this name, as the Job mounts it.

    A key in a section has the name `section.key`. Raises ConfigurationError if the configuration is
    not there.

    >>> def fetch() -> Iterator[Order]:
    ...     shop = configuration("shop")
    ...     yield from orders(shop["url"])
    """
    path = _root() / APP_FOLDER / _checked(name)
    data = _read(path)
    if data is None:
        raise ConfigurationError(
            f"application configuration {name} is not there ({path}): the Job names the Secret "
            "with it in processingElement.appPropertiesSecret"
        )
    return MappingProxyType(_pairs(data, name))


def restricted(*keys: str) -> Mapping[str, str]:
    """The restricted properties of these names, as the Job mounts them.

    Those that are not there are left out.
    """
    found = {key: _read(_root() / RESTRICTED_FOLDER / _checked(key)) for key in keys}
    return MappingProxyType({key: text for key, text in found.items() if text is not None})


def _root() -> Path:
    return Path(os.environ.get("MILLRACE_ROOT") or "/")


def _checked(name: str) -> str:
    if not name or name.startswith(".") or "/" in name or "\0" in name or len(name) > 253:
        raise ConfigurationError(f"{name[:100]!r} is no name of a configuration")
    return name


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise ConfigurationError(f"{path} cannot be read: {problem.strerror}") from None
    if len(data) > BYTES_MAX:
        raise ConfigurationError(f"{path} has more than {BYTES_MAX} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is no text in UTF-8") from None


def _pairs(text: str, name: str) -> dict[str, str]:
    parser = configparser.ConfigParser(
        interpolation=None, default_section=_TOP + "none", delimiters=("=",), strict=False
    )
    parser.optionxform = str  # type: ignore[method-assign,assignment] # names keep their case
    try:
        parser.read_string(f"[{_TOP}]\n{text}")
    except configparser.Error as problem:
        line = getattr(problem, "lineno", None) or _first_line(problem)
        where = f" (line {line - 1})" if line else ""
        raise ConfigurationError(
            f"application configuration {name} is no INI text{where}: each line has to be "
            "`key = value`"
        ) from None
    return {
        key if section == _TOP else f"{section}.{key}": value
        for section in parser.sections()
        for key, value in parser.items(section)
    }


def _first_line(problem: configparser.Error) -> int | None:
    errors = getattr(problem, "errors", None)
    return int(errors[0][0]) if errors else None
