"""`Reader` and `Writer`: an adapter's function with its arguments, state and type of tuples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.building import Step
from millrace.graph import OnError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reader(Generic[T]):
    """What `App.source` takes beside a function. `kind` names the operator in a bundle."""

    kind: str
    function: Callable[..., Any]
    returns: type[T]
    fn_kwargs: Mapping[str, Any] = field(default_factory=dict)
    state: Any = None

    def step(self, name: str | None, on_error: OnError) -> Step:
        """The operator that it becomes."""
        return Step(
            self.kind,
            "source",
            "several",
            self.function,
            name,
            stem=self.kind,
            state=self.state,
            returns=self.returns,
            on_error=on_error,
            fn_kwargs=self.fn_kwargs,
        )


@dataclass(frozen=True, slots=True)
class Writer(Generic[T]):
    """What `Stream.sink` takes beside a function. `kind` names the operator in a bundle."""

    kind: str
    function: Callable[..., Any]
    fn_kwargs: Mapping[str, Any] = field(default_factory=dict)
    state: Any = None

    def step(self, name: str | None, on_error: OnError) -> Step:
        """The operator that it becomes."""
        return Step(
            self.kind,
            "sink",
            "nothing",
            self.function,
            name,
            stem=self.kind,
            state=self.state,
            on_error=on_error,
            fn_kwargs=self.fn_kwargs,
        )
