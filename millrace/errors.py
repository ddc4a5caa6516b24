"""What goes wrong in an application, as exceptions; each message says where and what to do.

MillraceError
├── GraphError            the graph cannot be built
│   └── TypeMismatch      a function takes another type than its stream carries
├── ParameterError        a submission-time value is unknown, missing or of another type
├── LoadError             a module with an application cannot be imported, or has another graph
├── PackError             a bundle cannot be packed
├── OperatorFailed        a function of the application raised while it ran
├── InputRefused          a source cannot read a part of its input
├── ResultRefused         a function gave what is not of the type that it says
└── TransportError        tuples do not get from one PE to another
    ├── PortInUse         an input port of a PE cannot listen at its address
    ├── TlsError          certificate or key cannot be used, or a peer has another certificate
    ├── TupleTooLarge     one tuple is longer than a frame may be
    ├── Unencodable       a tuple has a value that no frame can hold
    ├── PeerRefused       the receiver does not take the connection, or is an older launch
    ├── ConnectionBroken  the connection ended; another one follows
    └── ProtocolError     a peer sends what is not of the protocol
        ├── FrameTooLarge a frame is announced that is longer than the limit
        └── Undecodable   tuples are of another type than the input port takes
"""

from __future__ import annotations

from collections.abc import Callable


class MillraceError(Exception):
    """The base of all errors of this package."""


class GraphError(MillraceError):
    """The graph of an application cannot be built; the message names the operator."""


class TypeMismatch(GraphError):
    """A function takes another type than its stream carries.

    The message names the operator, the attribute and both types.
    """


class ParameterError(MillraceError):
    """A submission-time value is unknown, missing or of another type."""


class LoadError(MillraceError):
    """A module with an application cannot be imported, or builds another graph than expected."""


class PackError(MillraceError):
    """A bundle cannot be packed: a file or a path that it cannot hold."""


class OperatorFailed(MillraceError):
    """A function of the application raised, and its operator has the policy `fail`.

    The exception of the function is the `__cause__`.
    """

    def __init__(
        self, operator: str, item: object, problem: BaseException, *, method: str = ""
    ) -> None:
        """The operator's name, the tuple that it worked on (None for a source), what it raised.

        `method`: of its function, where that raised in place of the function itself.
        """
        where = "" if item is None else f" on {shown(item, SHOWN_CHARS_MAX)}"
        where = f" in {method}" if method else where
        super().__init__(f"operator {operator} failed{where}: {worded(problem)}")
        self.operator = operator
        self.item = item
        self.__cause__ = problem


class InputRefused(MillraceError):
    """A part of its input that a source cannot read: it stands before it until it is passed by.

    A policy `skip` passes it by. With `fail` the source comes to it again, in the next launch, too.
    """

    def __init__(self, message: str, pass_by: Callable[[], None]) -> None:
        """`pass_by` moves the position of the source, which is its state, behind that part."""
        super().__init__(message)
        self._pass_by = pass_by
        self.is_passed = False

    def pass_by(self) -> None:
        """Go on behind that part: nothing is waited for then."""
        self._pass_by()
        self.is_passed = True


class ResultRefused(MillraceError):
    """What a function gave is not of the type that it says; the message names the attribute."""


class TransportError(MillraceError):
    """Tuples do not get from one PE to another; the message names what is wrong."""


class PortInUse(TransportError):
    """An input port of a PE cannot listen; the message names port and address."""


class TlsError(TransportError):
    """Certificate or key cannot be used, or a peer has another certificate."""


class TupleTooLarge(TransportError):
    """One tuple is longer than a frame may be; the message gives both lengths in bytes."""


class Unencodable(TransportError):
    """A tuple has a value that no frame can hold; the message names it."""


class PeerRefused(TransportError):
    """The receiver does not take the connection, or it is an older launch of the PE."""


class ConnectionBroken(TransportError):
    """The connection ended, or nothing was heard of the peer for too long; another one follows.

    `is_clean`: the peer closed it between two frames.
    """

    def __init__(self, message: str, *, is_clean: bool = False) -> None:
        """The message is a sentence about the connection."""
        super().__init__(message)
        self.is_clean = is_clean


class ProtocolError(TransportError):
    """A peer sends what is not of the protocol, or another version of it."""


class FrameTooLarge(ProtocolError):
    """A frame is announced that is longer than the limit; nothing of it was read."""


class Undecodable(ProtocolError):
    """Tuples are of another type than the input port takes."""


SHOWN_CHARS_MAX = 200
CAUSE_CHARS_MAX = 600
"""How much is shown of what an exception says; a report to pe-gateway has room for 1,024."""
MEMBERS_SHOWN_MAX = 3
"""How many of a group of exceptions are shown."""


def shortened(text: str, chars: int = SHOWN_CHARS_MAX) -> str:
    """At most so many characters of a text, for a message."""
    return text if len(text) <= chars else f"{text[:chars]}…"


def shown(value: object, chars: int) -> str:
    """A value in one line that every log and file can hold, at most so many characters of it."""
    try:
        return _in_a_line(repr(value), chars)
    except BaseException as problem:  # noqa: BLE001 - __repr__ of the author, which may even exit
        return f"a {type(value).__name__} whose repr raises {type(problem).__name__}"


def worded(problem: BaseException) -> str:
    """The type of an exception and what it says, in one line; of a group its first members, too."""
    kind = type(problem).__name__
    try:
        text = _in_a_line(str(problem), CAUSE_CHARS_MAX)
    except BaseException as raised:  # noqa: BLE001 - __str__ of the author, which may even exit
        return f"{kind}, whose text raises {type(raised).__name__}"
    if isinstance(problem, BaseExceptionGroup):
        first = problem.exceptions[:MEMBERS_SHOWN_MAX]
        more = ", …" if len(problem.exceptions) > len(first) else ""
        text = f"{text}: {', '.join(map(worded, first))}{more}"
    return shortened(f"{kind}: {text}", CAUSE_CHARS_MAX) if text else kind


def _in_a_line(text: str, chars: int) -> str:
    """Without line breaks, and without halves of characters, which UTF-8 does not have."""
    line = " ".join(text[: 4 * chars].split()) if len(text) > chars or "\n" in text else text
    return shortened(line, chars).encode("utf-8", "backslashreplace").decode()
