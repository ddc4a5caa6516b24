"""Why a PE ends: exit codes with their reasons, in one table, and the errors that carry them.

The reason and a sentence also stand in the termination message of the pod (`signs.py`), from where
the control plane shows them. Codes from 126 are left to shells and signals (137: SIGKILL); a PE
that was stopped ends with that of SIGTERM. With 0 it would count as completed where a probe failed.
Only a PE whose job has ended ends with 0.

PeFailed                  the base; `ending` is a row of the table
├── EnvironmentRefused    environment.py
├── LaunchOver            gateway.py: a newer launch of this PE exists, or the PE is deleted
├── BundleMissing, BundleRefused, WheelRefused, ImportFailed    bundle.py, gateway.py
├── PortInUse             a port that this PE has to serve
├── StateRefused          states.py
└── StoreFailed           state_stores.py
    └── StateUnfit        fitting.py: the state of an operator is not of its type
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from millrace.errors import LoadError, MillraceError, OperatorFailed, ParameterError, TlsError
from millrace.errors import PortInUse as PortTaken


class Ending(Enum):
    """How a PE ends: its exit code, and what that means in a sentence."""

    COMPLETED = (0, "The job has ended: all of its tuples are processed.")
    STOPPED = (143, "The PE was stopped, processed what it had taken in, and saved its state.")
    CRASHED = (1, "The runtime itself failed; the log has the traceback.")
    OPERATOR_FAILED = (10, "A function of the application raised, and its policy is `fail`.")
    ENVIRONMENT_REFUSED = (11, "A variable of the environment is missing or wrong.")
    DESCRIPTION_MISSING = (12, "The description of the PE, aadl.xml, is not there.")
    DESCRIPTION_REFUSED = (13, "The description of the PE, aadl.xml, cannot be used.")
    OPERATOR_REFUSED = (14, "An operator is compiled SPL, which this runtime does not execute.")
    BUNDLE_MISSING = (15, "The bundle of the job is not stored.")
    BUNDLE_REFUSED = (16, "The bundle is damaged, too large, or has a path outside its folder.")
    WHEEL_REFUSED = (17, "A wheel of the bundle is for another platform or Python.")
    IMPORT_FAILED = (18, "The application cannot be imported, or builds another graph.")
    PORT_IN_USE = (19, "A port of the PE is in use by another process.")
    TRANSPORT_REFUSED = (20, "Key or certificate of the job's TLS cannot be used.")
    STORE_FAILED = (21, "State cannot be written to its store or read from it.")
    STATE_REFUSED = (22, "A saved state is damaged, or of another version.")
    SUPERSEDED = (23, "A newer launch of this PE exists, or the PE is deleted.")
    STOPPED_LATE = (24, "The PE was stopped, and did not end in its time.")
    VALUE_REFUSED = (25, "A submission-time value is of another type than in the application.")
    EXITED = (26, "Code of the application ended the process, outside of an operator's function.")

    def __init__(self, code: int, sentence: str) -> None:
        """A row of the table."""
        self.code = code
        self.sentence = sentence

    @property
    def reason(self) -> str:
        """The reason in one word, such as `PortInUse`."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class PeFailed(MillraceError):
    """What ends a PE; the message is a sentence for people."""

    ending: ClassVar[Ending] = Ending.CRASHED


class BundleMissing(PeFailed):
    """The bundle of the job is not stored."""

    ending = Ending.BUNDLE_MISSING


class BundleRefused(PeFailed):
    """A bundle is damaged, exceeds a limit, or has a path outside its folder."""

    ending = Ending.BUNDLE_REFUSED


class LaunchOver(PeFailed):
    """A newer launch of this PE exists, or the PE is deleted: this one must not go on."""

    ending = Ending.SUPERSEDED

    def __init__(
        self, message: str, *, is_late: bool = False, is_job_deleted: bool = False
    ) -> None:
        """`is_late`: a hand-over ended before this had sealed.

        `is_job_deleted`: its job is deleted as well, so its peers end, too.
        """
        super().__init__(message)
        self.is_late = is_late
        self.is_job_deleted = is_job_deleted


class PortInUse(PeFailed):
    """A port that this PE has to serve is in use."""

    ending = Ending.PORT_IN_USE


class StateRefused(PeFailed):
    """A saved state is damaged, of another version, or does not fit with others."""

    ending = Ending.STATE_REFUSED


class StoreFailed(PeFailed):
    """The store of states does not do what it has to; the message names the path."""

    ending = Ending.STORE_FAILED


class StateUnfit(StoreFailed):
    """The state of an operator cannot be saved, or would not be loaded again; it names where.

    Nothing is written then: the state that was kept before stays.
    """


def ending_of(problem: BaseException) -> Ending:
    """How a PE ends that this ended. The first member of a group counts."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    match problem:
        case PeFailed():
            return problem.ending
        case OperatorFailed():
            return Ending.OPERATOR_FAILED
        case LoadError():
            return Ending.IMPORT_FAILED
        case ParameterError():
            return Ending.VALUE_REFUSED
        case PortTaken():
            return Ending.PORT_IN_USE
        case TlsError():
            return Ending.TRANSPORT_REFUSED
        case _:
            return Ending.CRASHED
