"""`App`: an application, and where its streams begin."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from millrace.adapters.file_paths import check_files
from millrace.adapters.kinds import Reader
from millrace.bounds import checked_width
from millrace.building import Drafting, Inlet, Step
from millrace.cells import HINT
from millrace.code import Code, code_of
from millrace.codecs import carried_type
from millrace.errors import GraphError, ParameterError
from millrace.graph import Graph, OnError, Operator, Region, complete
from millrace.parameters import Parameter, V, check_text
from millrace.placement import HostPool
from millrace.streams import Stream

if TYPE_CHECKING:
    from millrace.runtime.clock import Clock
    from millrace.runtime.local import RunResult

T = TypeVar("T")


class App:
    """A streaming application.

    Write one at the top of a module, so that a processing element finds it by its name:

    >>> from millrace import App
    >>> app = App("examples::WordCount")

    Args:
        name: Its name, with a namespace before `::` where it has one. Jobs of a cluster import
            streams by it.
        version: A version for people; it is written into the bundle.
        checkpoint_seconds: On a cluster, operators with state save it so often. A processing
            element that is killed goes on from there; without, from where it was launched.
        keep_running: On a cluster, the job stays when all of its sources have ended; without, it is
            Completed then. `run` ends in either case.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "1.0.0",
        checkpoint_seconds: float | None = None,
        keep_running: bool = False,
    ) -> None:
        """An application without operators."""
        namespace, _, own = name.rpartition("::")
        parts = [own, *(namespace.split(".") if namespace else ())]
        if not all(part.isidentifier() and part.isascii() for part in parts):
            raise GraphError(f"{name!r} is no name of an application: use Name or namespace::Name")
        if checkpoint_seconds is not None and not checkpoint_seconds > 0:
            raise GraphError(
                f"checkpoint_seconds of {name} is {checkpoint_seconds}: use more than 0"
            )
        self.name = name
        self.version = check_text(version, f"the version of {name}")
        self.checkpoint_seconds = checkpoint_seconds
        self.keep_running = keep_running
        self._globals = sys._getframe(1).f_globals
        self._draft = Drafting(name, self._globals)

    @overload
    def source(
        self,
        function: Reader[T],
        *,
        name: str | None = None,
        on_error: OnError = "fail",
        parallel: int | Parameter[int] | None = None,
    ) -> Stream[T]: ...

    @overload
    def source(
        self,
        function: Callable[..., Iterable[T] | AsyncIterator[T]],
        *,
        name: str | None = None,
        state: Any = None,
        returns: type[T] | None = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
        parallel: int | Parameter[int] | None = None,
    ) -> Stream[T]: ...

    def source(
        self,
        function: Any,
        *,
        name: str | None = None,
        state: Any = None,
        returns: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
        parallel: int | Parameter[int] | None = None,
    ) -> Stream[T]:
        """A stream of what a function yields. The stream ends when the function returns.

        A plain generator runs in a thread of its own and may wait; an async generator runs in the
        event loop. With `state` the function takes the state, and changes it before it yields the
        tuple that the change belongs to.

        Args:
            function: A function that returns an iterable, or an adapter such as `files.lines`.
            name: The operator's name; by default that of the function.
            state: A dataclass for what the source has to remember, such as a position.
            returns: The type of the tuples, where the function has no annotation.
            on_error: `fail`, or `skip`: a tuple that does not fit into its type is counted, and a
                source that raises goes on where it can: an iterator that is no generator is read
                on, and a function with `state` is called again. Otherwise the source ends.
            fn_kwargs: Keyword arguments of the function: constants or submission-time values.
            parallel: The source is replicated so many times, and a parallel region begins.
        """
        region = None if parallel is None else self._region(parallel)
        if isinstance(function, Reader):
            step = function.step(name, on_error)
        else:
            step = Step("Source", "source", "several", function, name, state, returns, on_error)
            step = replace(step, fn_kwargs=fn_kwargs or {})
        operator = self._draft.add(step, Inlet(region=region))
        return Stream(self._draft, (operator,), operator.gives, region)

    def import_(
        self,
        type: type[T],  # noqa: A002 - what it is
        *,
        application: str | None = None,
        stream: str | None = None,
        subscription: str | None = None,
        filter: str | None = None,  # noqa: A002 - what it is
        name: str | None = None,
    ) -> Stream[T]:
        """A stream that another job exports: by name, or by properties that match a subscription.

        Args:
            type: The type of its tuples.
            application: With `stream`: the application that exports by name.
            stream: The name under which it exports the stream.
            subscription: An expression on properties, such as `kind == "trade" && level > 2`.
            filter: An expression on attributes: the exporter sends only tuples that match.
            name: The name of the import.
        """
        own = self._draft.name_for(name, "Import")
        if (subscription is None) == (application is None or stream is None):
            raise GraphError(
                f"import {own}: give application and stream, or a subscription, and not both"
            )
        options = {
            "application": application,
            "stream": stream,
            "subscription": subscription,
            "filter": filter,
        }
        for option, text in options.items():
            if text is not None:
                check_text(text, f"import {own}: its {option}")
        if name is None:
            self._draft.refuse_again("Import", (), lambda each: each.options == options)
        gives = carried_type(type, f"import {own}")
        operator = Operator(own, "Import", "import", (), None, None, gives, options=options)
        self._draft.operators.append(operator)
        return Stream(self._draft, (operator,), gives, None)

    def param(self, name: str, *, default: V, type: type[V] | None = None) -> Parameter[V]:  # noqa: A002
        """A submission-time value with a default; its type is that of the default.

        `millrace submit --param NAME=VALUE` or `app.run(params={…})` give another value. A value
        can be the width of a region or be in `fn_kwargs`.
        """
        found = type or default.__class__
        if found not in (str, int, float, bool):
            raise ParameterError(f"submission-time value {name}: use str, int, float or bool")
        return self._parameter(Parameter(name, found, default))

    def required_param(self, name: str, type: type[V]) -> Parameter[V]:  # noqa: A002 - what it is
        """A submission-time value that each submission has to give."""
        return self._parameter(Parameter(name, type, None))

    def _parameter(self, parameter: Parameter[V]) -> Parameter[V]:
        if parameter.default is not None:
            parameter.of(parameter.default)
        if any(each.name == parameter.name for each in self._draft.parameters):
            raise ParameterError(
                f"two submission-time values have the name {parameter.name}; {HINT}"
            )
        if not parameter.name.isidentifier():
            raise ParameterError(f"{parameter.name!r} is no name of a submission-time value")
        self._draft.parameters.append(parameter)
        return parameter

    def host_pool(
        self,
        name: str,
        *,
        tags: Iterable[str] = (),
        size: int | None = None,
        exclusive: bool = False,
    ) -> HostPool:
        """A set of hosts with all of these tags, for `Stream.host`."""
        if any(each.name == name for each in self._draft.pools) or name == "$default":
            raise GraphError(f"two host pools of {self.name} have the name {name}; {HINT}")
        pool = HostPool(check_text(name, "the name of a host pool"), tuple(tags), size, exclusive)
        for tag in pool.tags:
            check_text(tag, f"host pool {name}: a tag")
        self._draft.pools.append(pool)
        return pool

    def _region(self, width: int | Parameter[int]) -> Region:
        checked = checked_width(self._draft, width, "app.source")
        region = Region(checked, "RoundRobin", (), None, None)
        self._draft.regions.append(region)
        return region

    @property
    def pools(self) -> tuple[HostPool, ...]:
        """The host pools that the application declares."""
        return tuple(self._draft.pools)

    @property
    def graph(self) -> Graph:
        """The graph that was written, checked as a whole. Raises GraphError."""
        draft = self._draft
        graph = complete(self.name, draft.operators, draft.regions, draft.parameters)
        check_files(graph)
        return graph

    @property
    def code(self) -> Code:
        """Where a processing element finds the application: a module and a variable in it.

        Raises PackError if the application is no variable at the top of a module with a file.
        """
        return code_of(self, self._globals, self.version)

    def adl(self) -> bytes:
        """The application description (ADL, version 4200) that the control plane plans."""
        from millrace.adl import adl_of
        from millrace.adl_operators import Running

        running = Running(self.checkpoint_seconds, self.keep_running)
        return adl_of(self.graph, self.pools, self.code, running)

    def bundle(
        self,
        path: str | Path | None = None,
        *,
        include: Iterable[str | Path] = (),
        wheels: Iterable[str | Path] = (),
    ) -> Path:
        """Write a bundle (`.sab`) with the ADL and the code, equal bytes for equal input.

        Args:
            path: The file; by default `NAME.sab` in the current folder.
            include: Data files, folders and patterns of them, and further modules or packages of
                yours that the application imports by a computed name.
            wheels: Wheel files of libraries that the application imports.
        """
        from millrace.bundling import bundle_of, write_bundle
        from millrace.installed import warn_of_another

        warn_of_another()
        made = bundle_of(self.adl(), self.code, self.name, include=include, wheels=wheels)
        for sentence in made.lacks:
            logging.getLogger("millrace").warning("%s: %s", self.name, sentence)
        return write_bundle(made.data, path or f"{self.name.replace('::', '.')}.sab")

    def run(
        self,
        params: Mapping[str, Any] | None = None,
        *,
        imports: Mapping[str, Iterable[Any]] | None = None,
        seconds: float | None = None,
        clock: Clock | None = None,
    ) -> RunResult:
        """Run the application in this process until its sources end.

        Args:
            params: Submission-time values by name.
            imports: What the imported streams carry, by the name of the import.
            seconds: End the sources after so long; what they gave is still processed.
            clock: The clock of time windows, such as a `ManualClock` in a test.

        Returns:
            How many tuples each operator took, gave and skipped.

        Raises:
            OperatorFailed: A function raised, and its operator has the policy `fail`.
        """
        from millrace.installed import warn_of_another
        from millrace.runtime.local import run

        warn_of_another()
        return run(self.graph, params or {}, imports or {}, seconds, clock)

    async def run_async(
        self,
        params: Mapping[str, Any] | None = None,
        *,
        imports: Mapping[str, Iterable[Any]] | None = None,
        seconds: float | None = None,
        clock: Clock | None = None,
    ) -> RunResult:
        """As `run`, in the event loop of the caller, such as that of a notebook."""
        from millrace.installed import warn_of_another
        from millrace.runtime.local import run_async

        warn_of_another()
        return await run_async(self.graph, params or {}, imports or {}, seconds, clock)
