"""Write streaming applications for millrace in Python.

>>> from millrace import App, tumbling
>>> from millrace.adapters import files
>>> app = App("examples::WordCount")
>>> lines = app.source(files.lines("input.txt"))

The pieces: `App` and `Stream` (`help(App)`, `help(Stream)`), windows (`tumbling`, `sliding`), state
(`State`), host pools (`HostPool`), adapters (`millrace.adapters`), and errors (`millrace.errors`).

Names are loaded when they are first used: the control plane imports `millrace.sab` alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millrace.app import App as App
    from millrace.channels import Channel as Channel
    from millrace.channels import channel as channel
    from millrace.errors import GraphError as GraphError
    from millrace.errors import MillraceError as MillraceError
    from millrace.errors import OperatorFailed as OperatorFailed
    from millrace.errors import ParameterError as ParameterError
    from millrace.errors import TypeMismatch as TypeMismatch
    from millrace.parameters import Parameter as Parameter
    from millrace.paths import path as path
    from millrace.placement import HostPool as HostPool
    from millrace.runtime.clock import ManualClock as ManualClock
    from millrace.runtime.configuration import configuration as configuration
    from millrace.runtime.configuration import restricted as restricted
    from millrace.state import State as State
    from millrace.streams import KeyedStream as KeyedStream
    from millrace.streams import Sink as Sink
    from millrace.streams import Stream as Stream
    from millrace.streams import WindowedStream as WindowedStream
    from millrace.windows import Window as Window
    from millrace.windows import sliding as sliding
    from millrace.windows import tumbling as tumbling

__version__ = "0.1.0"
_HOMES = {
    "App": "millrace.app",
    "Channel": "millrace.channels",
    "GraphError": "millrace.errors",
    "HostPool": "millrace.placement",
    "KeyedStream": "millrace.streams",
    "ManualClock": "millrace.runtime.clock",
    "MillraceError": "millrace.errors",
    "OperatorFailed": "millrace.errors",
    "Parameter": "millrace.parameters",
    "ParameterError": "millrace.errors",
    "Sink": "millrace.streams",
    "State": "millrace.state",
    "Stream": "millrace.streams",
    "TypeMismatch": "millrace.errors",
    "Window": "millrace.windows",
    "WindowedStream": "millrace.streams",
    "channel": "millrace.channels",
    "configuration": "millrace.runtime.configuration",
    "path": "millrace.paths",
    "restricted": "millrace.runtime.configuration",
    "sliding": "millrace.windows",
    "tumbling": "millrace.windows",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'millrace' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
