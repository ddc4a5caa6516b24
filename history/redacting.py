"""Replaces names, values and addresses in records, each always by the same, in the order of texts.

Texts are split into words, and each word becomes another one. What stays: kinds, reasons, rules and
enumerated values; settings with their defaults; times, uids, content ids and numbers up to four
digits; and, in a text with spaces, which is a message of ours or of Kubernetes, the words of our
messages. Words that are replaced keep their order, so that lists that are sorted by name stay
sorted. Submission-time values, environment variables, arguments and annotations are replaced whole.

A redacted recording can be read. A replay of it compares rules and reasons only: digests of effects
and objects are emptied. What comes out otherwise is unknown: settings, values that rules look at
and the partition of a job do not follow from the new words.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson
from pydantic import TypeAdapter

from contracts import labels
from contracts.facts import KINDS
from contracts.reasons import Reason
from contracts.resources import CUSTOM_RESOURCES
from contracts.resources.crds import root_schema
from contracts.topics import CATALOGUE
from history.manifests import Manifest, StartKept
from history.sources import Bounds, Source
from history.stages import default_settings
from services.chassis.log.bus import Record
from services.fusion_backend.core.answered import PlanMade
from services.roster import NAMES

WORDS_MAX: Final = 1_000_000
UNPACKED_BYTES_MAX: Final = 64 * 1024 * 1024
_PARTS: Final = re.compile(
    rf"(?P<service>\b(?:{'|'.join(sorted(NAMES))})\b)"
    r"|(?P<time>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))"
    r"|(?P<uid>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)"
    r"|(?P<digest>\b[0-9a-f]{64}\b)"
    r"|(?P<address>\b\d{1,3}(?:\.\d{1,3}){3}\b|\b\d{1,3}(?:-\d{1,3}){3}\b|\b(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4})"
    r"|(?P<word>[^\W_]+)"
)
_NUMBER: Final = re.compile(r"\d{1,4}(?:[munkMGTPE]|[KMGTPE]i)?")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_OUR_WORD: Final = re.compile(r"[A-Za-z][A-Za-z-]{0,63}|[A-Z][A-Z0-9_]{0,63}")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_MORE_WORDS: Final = (
    "com ibm streams kubernetes io k8s millrace fact decision observation addition modification"
    " deletion completed sync plan pack true false JobKey NodeKey PoolKey namespace name"
    " sab TLSv1 clean up"
)
_KEYED_BY_USERS: Final = frozenset(
    (
        "labels",
        "annotations",
        "selector",
        "matchLabels",
        "nodeSelector",
        "submissionTimeValues",
        "widths",
    )
)
"""Fields whose keys people choose."""
_WHOLE: Final = frozenset(("submissionTimeValues", "annotations", "env", "args", "command"))
"""Fields whose texts are replaced whole, however deep they stand."""
_OURS: Final = frozenset(
    (
        "reason",
        "phase",
        "type",
        "status",
        "effect",
        "operator",
        "kind",
        "what",
        "outcome",
        "service",
    )
)
"""Fields whose text is one word of ours or of Kubernetes."""
_DIGESTED: Final = frozenset(("decided", "objects", "effects", "content"))
_DIGESTS: Final = frozenset(("sha256", "views"))
"""Below the fields above: one who knows the form of what was digested could try names."""
_SETTINGS_OF_WORDS: Final = frozenset(("log_level", "pod_security", "build_type"))
_PAIRS: Final = "submission_time_values"
"""The submission-time values of a plan: names and values."""
_JSON_TEXTS: Final = frozenset(("template",))
_TRACE_LEVELS: Final = frozenset(("OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"))
_DEFAULT_POOL: Final = "$default"
"""The compiler's name of the pool of operators without one; services know it."""
_PLACEHOLDER: Final = re.compile(r"(\{[a-z]+\})")
_PLAIN_HEADERS: Final = frozenset(
    ("ce_time", "ce_type", "ce_specversion", "ce_dataschemaversion", "content-type", "traceparent")
)

Word = Callable[[str], str]


class TooManyNames(Exception):
    """There are more different words than fit in memory."""


def _words_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text) if len(word) > 1)


def _values_of_schemas() -> frozenset[str]:
    """Enumerated values and defaults in our objects, plans and settings: no user chose them."""
    schemas: list[Any] = [root_schema(each) for each in CUSTOM_RESOURCES]
    schemas.append(TypeAdapter(PlanMade).json_schema())
    found = {_DEFAULT_POOL, *_TRACE_LEVELS}
    while schemas:
        schema = schemas.pop()
        if isinstance(schema, Mapping):
            chosen = (*schema.get("enum", ()), schema.get("const"), schema.get("default"))
            found |= {each for each in chosen if isinstance(each, str)}
            schemas += schema.values()
        elif isinstance(schema, list):
            schemas += schema
    return frozenset(found)


class Redactor:
    """Learns the words of records, then replaces them."""

    def __init__(self) -> None:
        topics = (topic.suffix for topic in CATALOGUE)
        known = (each for name, each in vars(labels).items() if name.isupper())
        self._label_keys = {each for each in known if isinstance(each, str) and "/" in each}
        self._of_keys = _words_of((_MORE_WORDS, *KINDS, *topics))
        sentences = (f"{reason.value} {reason.sentence}" for reason in Reason)
        self._of_messages = self._of_keys | _words_of(sentences)
        self._values_of_schemas = _values_of_schemas()
        self._default_settings = default_settings()
        self._words: set[str] = set()
        self._others: dict[str, str] = {}

    async def learn(
        self,
        source: Source,
        ranges: Mapping[str, Bounds],
        progress: Callable[[str, int, int], None],
    ) -> None:
        """Learn the words of all records in these ranges. Raises TooManyNames."""
        total, done = sum(each.end - each.first for each in ranges.values()), 0
        for name, range_ in ranges.items():
            async for batch in source.read(name, range_.first, range_.end):
                for record in batch:
                    self._changed(record, self._learnt)
                progress("looking for names", done + batch[-1].offset - range_.first, total)
            done += range_.end - range_.first
        self._others = dict(_others_of(sorted(self._words)))

    def redacted(self, record: Record) -> Record:
        """The record with other words."""
        return self._changed(record, self._other)

    def of_manifest(self, manifest: Manifest) -> Manifest:
        """The manifest of the redacted records."""
        return replace(
            manifest,
            job=tuple(self._text(each, self._other) for each in manifest.job),
            starts=tuple(map(self._start, manifest.starts)),
        )

    # ------------------------------------------------------------------ words

    def _learnt(self, word: str) -> str:
        if word not in self._words:
            if len(self._words) >= WORDS_MAX:
                raise TooManyNames(f"there are more than {WORDS_MAX} different names and values")
            self._words.add(word)
        return word

    def _other(self, word: str) -> str:
        return self._others.get(word, "x")

    def _text(self, text: str, word: Word) -> str:
        kept = self._of_messages if " " in text else self._of_keys

        def part(found: re.Match[str]) -> str:
            text = found.group()
            if found.lastgroup == "address":
                return word(text)
            is_plain = text in kept or _NUMBER.fullmatch(text)
            return word(text) if found.lastgroup == "word" and not is_plain else text

        return _PARTS.sub(part, text)

    # ------------------------------------------------------------------ records

    def _changed(self, record: Record, word: Word) -> Record:
        key = self._text(record.key.decode(errors="replace"), word)
        headers = tuple(
            (name, value if name in _PLAIN_HEADERS else self._header(value, word))
            for name, value in record.headers
        )
        try:
            value = orjson.dumps(self._value(orjson.loads(record.value), word))
        except (ValueError, TypeError, RecursionError):
            value = b""  # nobody can read it, and nobody knows what is in it
        return replace(record, key=key.encode(), headers=headers, value=value)

    def _header(self, value: bytes, word: Word) -> bytes:
        return self._text(value.decode(errors="replace"), word).encode()

    def _start(self, start: StartKept) -> StartKept:
        settings = self._value(dict(start.settings), self._other, "settings")
        return replace(start, instance=self._text(start.instance, self._other), settings=settings)

    def _value(self, value: Any, word: Word, field: str = "", *, is_whole: bool = False) -> Any:
        match value:
            case dict():
                return self._mapping(value, word, field, is_whole=is_whole)
            case list() if field == _PAIRS:
                return [
                    [self._text(name, word), self._value(each, word, is_whole=True)]
                    for name, each in value
                ]
            case list():
                return [self._value(each, word, field, is_whole=is_whole) for each in value]
            case str():
                return self._scalar(value, word, field, is_whole=is_whole)
            case _:
                return value

    def _mapping(
        self, value: Mapping[str, Any], word: Word, field: str, *, is_whole: bool
    ) -> dict[str, Any]:
        found = {}
        for key, each in value.items():
            is_user_key = field in _KEYED_BY_USERS or not _PLAIN_KEY.fullmatch(key)
            is_replaced = is_user_key and key not in self._label_keys
            name = self._text(key, word) if is_replaced else key
            is_rule = field == "rules" and isinstance(each, str) and _OUR_WORD.fullmatch(each)
            is_setting = field == "settings" and isinstance(each, str)
            if is_rule or (field == "effects" and key == "name"):
                found[name] = each
            elif is_setting:
                found[name] = self._setting(name, each, word)
            elif field in _DIGESTED and key in _DIGESTS and isinstance(each, str):
                found[name] = ""
            else:
                whole = is_whole or key in _WHOLE
                # A label that people call `service` holds no word of ours.
                below = "" if field in _KEYED_BY_USERS and isinstance(each, str) else key
                found[name] = self._value(each, word, below, is_whole=whole)
        return found

    def _scalar(self, text: str, word: Word, field: str, *, is_whole: bool) -> str:
        if field == "packed" and text:
            return self._packed(text, word)
        if field in _JSON_TEXTS and text:
            return orjson.dumps(self._value(orjson.loads(text), word)).decode()
        if is_whole and text:
            return word(text)
        if field in _OURS and _OUR_WORD.fullmatch(text):
            return text
        if text in self._values_of_schemas:
            return text
        return self._text(text, word)

    def _setting(self, name: str, text: str, word: Word) -> str:
        """A value that the service takes: without its settings it decides nothing."""
        if name in _SETTINGS_OF_WORDS or (name, text) in self._default_settings:
            return text
        parts = _PLACEHOLDER.split(text)
        return "".join(
            each if _PLACEHOLDER.fullmatch(each) else self._text(each, word) for each in parts
        )

    def _packed(self, text: str, word: Word) -> str:
        """A plan record: gzip of JSON in base64; empty where it cannot be read."""
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(base64.b64decode(text))) as file:
                unpacked = file.read(UNPACKED_BYTES_MAX + 1)
            value = orjson.dumps(self._value(orjson.loads(unpacked), word))
        except (OSError, EOFError, zlib.error, binascii.Error, ValueError, TypeError):
            return ""
        return base64.b64encode(gzip.compress(value, mtime=0)).decode()


def _others_of(words: list[str]) -> Iterator[tuple[str, str]]:
    """Another word for each, in the same order; addresses become addresses."""
    width = max(1, len(f"{len(words):x}"))
    for number, word in enumerate(words):
        if _PARTS.fullmatch(word) and (":" in word or word.count(".") == 3):
            parts = [(number >> shift) & 0xFF for shift in (16, 8, 0)]
            yield word, ".".join(map(str, (10, *parts)))
        else:
            yield word, "x" + f"{number:0{width}x}".translate(_LETTERS)


_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
