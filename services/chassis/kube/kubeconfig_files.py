"""Reads kubeconfigs as kubectl does: several files as one, and what the current context gives.

1. Files count in the order in which they are named. The first that has a cluster, a user or a
   context of a name gives the whole of it, and the first with a `current-context` that one. Those
   that do not exist are left out; an empty file adds nothing.
2. Paths in a file are relative to its folder. The command of an exec plugin is, too, if it has a
   slash; without one it is found in $PATH.
3. Every sentence about what cannot be used names the file, the entry and the field, and no value
   that may be a secret.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from services.chassis.process.errors import Misconfigured

Json = dict[str, Any]
SECTIONS: Final = {"clusters": "cluster", "contexts": "context", "users": "user"}
"""The lists of a kubeconfig, and the key of what each item of them names."""
_FILES: Final = {
    "clusters": ("certificate-authority",),
    "users": ("client-certificate", "client-key", "tokenFile"),
}
"""Fields that name files. Each but `tokenFile` may be given as base64 by FIELD-data, which wins."""
_TEXTS: Final = {
    "clusters": ("server", "tls-server-name", "proxy-url"),
    "contexts": ("cluster", "user", "namespace"),
    "users": ("token", "username", "password", "as", "as-uid"),
}
_OF_NAMES: Final = (yaml.composer.ComposerError, yaml.constructor.ConstructorError)
_NOTHING: Final = "it has no clusters, users and contexts"


@dataclass(frozen=True, slots=True)
class Entry:
    """A cluster, a user or a context, and the file that it is of."""

    value: Json
    file: Path
    place: str = ""
    """Where it is, such as users[admin].user."""

    def refused(self, name: str, problem: str) -> Misconfigured:
        """The exception for a field that cannot be used."""
        where = f"{self.place}.{name}"
        return Misconfigured(f"the kubeconfig {self.file} cannot be used: {where} {problem}")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Several kubeconfigs as one; `files` are those that exist.

    Without a file it stands for the service account of the pod that we run in.
    """

    files: tuple[Path, ...] = ()
    current: str = ""
    entries: Mapping[str, Mapping[str, Entry]] = field(
        default_factory=lambda: {section: {} for section in SECTIONS}
    )

    def found(self, section: str, name: object) -> Entry | None:
        """The entry of a name; None if no file has it."""
        return self.entries[section].get(name) if isinstance(name, str) else None

    def __str__(self) -> str:
        """The files, as $KUBECONFIG has them."""
        return os.pathsep.join(map(str, self.files)) or "the service account of this pod"


@dataclass(frozen=True, slots=True)
class Access:
    """What the current context gives. Its files have whole paths, and exist.

    `file` is the one of the user, for messages; `namespace` is empty where the context has none.
    """

    file: Path
    context: str
    namespace: str
    cluster: Json
    user: Json


def read_kubeconfig(*files: Path) -> Kubeconfig:
    """The kubeconfigs as one; raises Misconfigured if one cannot be read, or if none exists."""
    there = [each for each in files if os.path.exists(each)]
    if not there:
        raise Misconfigured(f"there is no kubeconfig at {os.pathsep.join(map(str, files))}")
    current, is_empty = "", True
    entries: dict[str, dict[str, Entry]] = {section: {} for section in SECTIONS}
    for file in there:
        content = _read(file)
        if content is None:
            continue
        if problem := problem_of(content):
            raise Misconfigured(f"{file} is not a kubeconfig: {problem}")
        is_empty = False
        current = current or content.get("current-context") or ""
        for section, key in SECTIONS.items():
            for item in content.get(section) or ():
                place = f"{section}[{item['name']}].{key}"
                entries[section].setdefault(item["name"], Entry(item.get(key) or {}, file, place))
    if is_empty:
        raise Misconfigured(f"{there[0]} is not a kubeconfig: {_NOTHING}")
    return Kubeconfig(tuple(there), current, entries)


def access_of(config: Kubeconfig) -> Access:
    """What the current context gives; raises Misconfigured if something of it cannot be used."""
    context = _current(config)
    cluster = _named(config, context, "clusters", "cluster")
    server = _checked_texts(cluster, "clusters").get("server")
    if not server:
        raise cluster.refused("server", "is missing: it is the address of the API server")
    user = Entry({}, context.file)
    if context.value.get("user"):
        user = _named(config, context, "users", "user")
    _checked_texts(user, "users")
    _check_impersonation(user)
    return Access(
        user.file,
        config.current,
        context.value.get("namespace") or "",
        _with_files(cluster, "clusters"),
        _with_files(user, "users"),
    )


def _current(config: Kubeconfig) -> Entry:
    names = ", ".join(config.entries["contexts"]) or "none"
    if not config.current:
        raise Misconfigured(
            f"the kubeconfig {config} has no current-context: choose one of its contexts ({names}) "
            "with `kubectl config use-context NAME`"
        )
    context = config.found("contexts", config.current)
    if not context:
        raise Misconfigured(
            f"the kubeconfig {config} cannot be used: current-context {config.current!r} is not "
            f"among its contexts ({names})"
        )
    _checked_texts(context, "contexts")
    return context


def _named(config: Kubeconfig, context: Entry, section: str, key: str) -> Entry:
    name = context.value.get(key)
    if not name:
        raise context.refused(key, "is missing")
    found = config.found(section, name)
    if not found:
        raise context.refused(key, f"names {name!r}, which is not in {section}")
    return found


def _checked_texts(entry: Entry, section: str) -> Json:
    names = (*_TEXTS[section], *_FILES.get(section, ()))
    for name in (*names, *(f"{each}-data" for each in _FILES.get(section, ()))):
        if not isinstance(entry.value.get(name), str | None):
            raise entry.refused(name, f"must be text, and is {_type(entry.value[name])}")
    for name in _TEXTS[section]:
        if not is_line(entry.value.get(name) or ""):
            raise entry.refused(name, "must be one line")
    return entry.value


def is_line(text: str) -> bool:
    """Whether a text may be in a header, in which no line may end."""
    return not any(each in text for each in "\r\n\0")


def _check_impersonation(user: Entry) -> None:
    groups, extra = user.value.get("as-groups"), user.value.get("as-user-extra")
    if groups is not None and not _are_lines(groups):
        raise user.refused("as-groups", "must be a list of texts in one line")
    if extra is not None and not (isinstance(extra, dict) and all(map(_are_lines, extra.values()))):
        raise user.refused("as-user-extra", "must be a mapping with lists of texts in one line")


def _are_lines(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) and is_line(each) for each in value
    )


def _with_files(entry: Entry, section: str) -> Json:
    """The values with whole paths, and without those that are empty."""
    values = {name: value for name, value in entry.value.items() if value not in (None, "")}
    folder = entry.file.absolute().parent
    for name in _FILES[section]:
        if f"{name}-data" in values:
            values.pop(name, None)
            _check_base64(entry, f"{name}-data")
        elif name in values:
            path = folder / values[name]
            if not path.is_file():
                raise entry.refused(name, f"names {path}, and there is no such file")
            values[name] = str(path)
    plugin = values.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command") or ""):
        values["exec"] = plugin | {"command": str(folder / plugin["command"])}
    return values


def _check_base64(entry: Entry, name: str) -> None:
    try:
        base64.b64decode("".join(entry.value[name].split()), validate=True)
    except (binascii.Error, ValueError):
        raise entry.refused(name, "is not base64") from None


# --------------------------------------------------------------------------- one file


def problem_of(config: object) -> str:
    """The first field that is not that of a kubeconfig, and why; "" if every field is."""
    if config is None:
        return ""
    if not isinstance(config, dict):
        return _NOTHING if isinstance(config, list) else "it is not a mapping"
    for section, key in SECTIONS.items():
        items = config.get(section)
        if items is not None and not isinstance(items, list):
            return f"{section}: it must be a list, and is {_type(items)}"
        for number, item in enumerate(items or ()):
            if problem := _problem_of_item(item, key):
                return f"{section}[{number}]{problem}"
    current = config.get("current-context")
    if not isinstance(current, str | None):
        return f"current-context: it must be text, and is {_type(current)}"
    return ""


def _problem_of_item(item: object, key: str) -> str:
    if not isinstance(item, dict):
        return f": it must be a mapping, and is {_type(item)}"
    if not isinstance(item.get("name"), str):
        return f".name: it must be text, and is {_type(item.get('name'))}"
    value = item.get(key)
    if not isinstance(value, dict | None):
        return f".{key}: it must be a mapping, and is {_type(value)}"
    return next(_problems_of_value(value or {}, key), "")


def _problems_of_value(value: Json, key: str) -> Iterator[str]:
    cluster = value.get("cluster") if key == "context" else None
    if not isinstance(cluster, str | None):
        yield f".context.cluster: it must be text, and is {_type(cluster)}"
    extensions = value.get("extensions")
    if not isinstance(extensions, list | None):
        yield f".{key}.extensions: it must be a list, and is {_type(extensions)}"
        return
    for number, each in enumerate(extensions or ()):
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            yield f".{key}.extensions[{number}]: it must be a mapping with a name"


def _type(value: object) -> str:
    """The type of a value that may be a secret."""
    match value:
        case None:
            return "missing"
        case str():
            return "text"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool():
            return "true or false"
        case _:
            return "a number or a date"


def _read(file: Path) -> Any:
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except IsADirectoryError:
        raise Misconfigured(f"{file} is a folder, and has to be a kubeconfig") from None
    except OSError as problem:
        user = os.geteuid()
        raise Misconfigured(
            f"the kubeconfig {file} cannot be read by user {user}: {problem.strerror}"
        ) from None
    except RecursionError:
        raise Misconfigured(f"{file} is not a kubeconfig: it nests too deep") from None
    except yaml.YAMLError as problem:
        raise Misconfigured(f"{file} is not a kubeconfig: {place_of(problem)}") from None
    except ValueError as problem:
        raise Misconfigured(f"{file} is not a kubeconfig: {problem}") from None


def place_of(problem: yaml.YAMLError) -> str:
    """Where a file is not YAML, and why, without the line: there may be a secret in it.

    Names of aliases and tags are left out as well: a password may begin with `*` or `!`.
    """
    if not isinstance(problem, yaml.MarkedYAMLError) or problem.problem_mark is None:
        return " ".join(str(problem).split())
    mark, is_of_names = problem.problem_mark, isinstance(problem, _OF_NAMES)
    why = "an alias, an anchor or a tag that means nothing" if is_of_names else problem.problem
    return f"line {mark.line + 1}, column {mark.column + 1}: {why}"
