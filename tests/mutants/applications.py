"""Planted bugs in what authors of applications import: types, plans, splitting, windows, state."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_BUILDING = ("tests/unit/millrace/test_building.py",)
_ADL = ("tests/unit/millrace/test_adl.py",)
_RUNNING = ("tests/unit/millrace/test_running.py",)
_STATE = ("tests/unit/millrace/test_state.py",)
_WINDOWS = ("tests/unit/millrace/test_windows.py",)
_BUNDLES = ("tests/unit/millrace/test_bundles.py",)

MUTANTS = (
    Mutant(
        "a stream with another type of an attribute is accepted",
        "millrace/tuple_types.py",
        "difference",
        "if found.type != attribute.type:",
        "if found.type.parts != attribute.type.parts:",
        _BUILDING,
    ),
    Mutant(
        "a keyed operator is accepted in a region that is split by another attribute",
        "millrace/building.py",
        "check_key",
        "not set(region.key) <= set(key)",
        "not region.key",
        _BUILDING,
    ),
    Mutant(
        "state in a region of turns is taken for movable",
        "millrace/graph.py",
        "Operator.follows_width",
        'region.kind == "Hash" and self.key and set(region.key) <= set(self.key)',
        "set(region.key) <= set(self.key)",
        _BUILDING,
    ),
    Mutant(
        "a composite has one output port for all of its streams",
        "millrace/adl_links.py",
        "Links._outlet",
        "list(ports).index(operator)",
        "0",
        _ADL,
    ),
    Mutant(
        "a submission-time value of an argument is not resolved by the planner",
        "millrace/adl_operators.py",
        "Written._add_primitive",
        "if index is not None:",
        "if index is not None and index < 0:",
        _ADL,
    ),
    Mutant(
        "a PE runs another graph than was planned",
        "millrace/loading.py",
        "load_module",
        "if found != digest:",
        "if not found:",
        _BUNDLES,
    ),
    Mutant(
        "a module that hides one of Python's is packed",
        "millrace/modules.py",
        "local_modules",
        "require_own_name(top, root)",
        "pass",
        _BUNDLES,
    ),
    Mutant(
        "an included module that hides one of Python's is packed",
        "millrace/bundling.py",
        "_included",
        "require_own_name(path.stem, path.parent)",
        "pass",
        _BUNDLES,
    ),
    Mutant(
        "modules that an application imports are not packed",
        "millrace/modules.py",
        "local_modules",
        "due += _imported(path)",
        "_imported(path)",
        _BUNDLES,
    ),
    Mutant(
        "channels take turns from the first again with each batch",
        "millrace/runtime/splitting.py",
        "Splitter.split",
        "(first + len(batch)) % width",
        "first",
        _STATE,
    ),
    Mutant(
        "keys that are alike come to one run of groups",
        "millrace/runtime/splitting.py",
        "group_of",
        "(crc32(key_bytes(key)) * _GOLDEN & _MASK) * groups >> 32",
        "crc32(key_bytes(key)) % groups",
        _STATE,
    ),
    Mutant(
        "keys are split by their hash and not by their group",
        "millrace/runtime/splitting.py",
        "channel_of",
        "group * width // groups",
        "group % width",
        _STATE,
    ),
    Mutant(
        "the tuple after one that raises is skipped, too",
        "millrace/runtime/tuple_functions.py",
        "PlainExecution.process",
        "failure := self.failure_at(batch[end - 1], problem)",
        "failure := self.failure_at(batch[end - 1], problem) or (next(rest, None) and None)",
        _RUNNING,
    ),
    Mutant(
        "what a function yields before it raises is submitted",
        "millrace/runtime/tuple_functions.py",
        "PlainExecution._flat_map",
        "made += list(call(item))",
        "made.extend(call(item))",
        _RUNNING,
    ),
    Mutant(
        "windows that are open at the end are forgotten",
        "millrace/runtime/windowing.py",
        "CountWindows.finish",
        "if window.since:",
        "if window.since > self._window.size:",
        _WINDOWS,
    ),
    Mutant(
        "a window that was loaded has no time at which it ends",
        "millrace/runtime/windowing.py",
        "TimeWindows.resume",
        "self.due = min(moments, default=None)",
        "self.due = None",
        _WINDOWS,
    ),
)
