"""What is answered to a PE: status codes, JSON and text as the original gives them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, NamedTuple

import orjson

JSON: Final = "application/json"
TEXT: Final = "text/plain"
XML: Final = "application/xml"


BYTES: Final = "application/octet-stream"


class Answer(NamedTuple):
    """An HTTP answer; if `file` is a path, its body is that file, which is sent piece by piece."""

    status: int
    body: bytes = b""
    content_type: str = TEXT
    file: str = ""
    etag: str = ""


class Refused(Exception):
    """A request that is not done; the message is the body of the answer, for people."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status

    def answer(self) -> Answer:
        """The answer that it is."""
        return text(str(self), self.status)


def bad_request(message: str) -> Refused:
    """400: the original's answer to an argument that cannot be used, an unknown job among them."""
    return Refused(HTTPStatus.BAD_REQUEST, message)


def not_found(message: str) -> Refused:
    """404."""
    return Refused(HTTPStatus.NOT_FOUND, message)


def unavailable(message: str) -> Refused:
    """503: the same request may be answered later."""
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE, message)


def done() -> Answer:
    """204: what was requested is done, and there is nothing more to say."""
    return Answer(HTTPStatus.NO_CONTENT)


def taken() -> Answer:
    """202: what was requested will be done, unless this process ends before."""
    return Answer(HTTPStatus.ACCEPTED)


def unchanged(etag: str = "") -> Answer:
    """304: what the sender has seen is as it was."""
    return Answer(HTTPStatus.NOT_MODIFIED, etag=etag)


def file(path: str, etag: str) -> Answer:
    """200 with a file."""
    return Answer(HTTPStatus.OK, b"", BYTES, path, etag)


def json(value: Any) -> Answer:
    """200 with JSON."""
    return Answer(HTTPStatus.OK, orjson.dumps(value), JSON)


def text(value: str, status: int = HTTPStatus.OK) -> Answer:
    """Text; 200 unless another status is given."""
    return Answer(status, value.encode(errors="replace"))


def xml(value: bytes) -> Answer:
    """200 with XML."""
    return Answer(HTTPStatus.OK, value, XML)
