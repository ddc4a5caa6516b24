"""Reads measured CPU for a plan without a cluster: of operators, and of nodes.

cluster: 12                # CPU that all nodes use already
operators:
  Words: 250m              # each replica of Words, or
  Counted[0]: 1.5          # the replica in channel 0
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.failing import Misused
from contracts.scheduling.quantities import quantity_of, rounded_up
from planner.drafting import Draft
from planner.fusion.reckoning import CpuUsage
from planner.numbering.measured import MeasuredCpu
from planner.refusals import shown

FILE_BYTES_MAX = 16 * 1024 * 1024
MCPU_MAX = 10**9
_KEYS = frozenset({"cluster", "operators"})


def read_cpu_usage(path: Path) -> CpuUsage:
    """The CPU in a file. Raises Misused, with file, field and value."""
    import yaml  # slow: other plans start faster

    try:
        content = _content(path, yaml)
    except OSError as problem:
        raise Misused(f"--cpu-usage {path}: {problem.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise Misused(f"--cpu-usage {path}: it is no YAML") from None
    if not isinstance(content, dict) or not content or content.keys() - _KEYS:
        raise Misused(
            f"--cpu-usage {path}: write `cluster: CPU`, `operators: {{NAME: CPU}}` or both"
        )
    operators = content.get("operators") or {}
    if not isinstance(operators, dict) or not all(isinstance(each, str) for each in operators):
        raise Misused(f"--cpu-usage {path}: operators has to be a map of names to CPU")
    cluster = content.get("cluster")
    return CpuUsage(
        cluster=None
        if cluster is None
        else MeasuredCpu(_mcpu(f"--cpu-usage {path}: cluster", cluster)),
        operators={
            name: _mcpu(f"--cpu-usage {path}: operators.{shown(name)}", cpu)
            for name, cpu in operators.items()
        },
    )


def mcpu_of_option(option: str, text: str) -> int:
    """The CPU of an option, in thousandths, above 0. Raises Misused."""
    found = _mcpu(option, text)
    if not found:
        raise Misused(f"{option} {shown(text)}: a pod needs some CPU, such as 500m or 2")
    return found


def unknown_operators(draft: Draft) -> list[str]:
    """A sentence on names in --cpu-usage that no operator has."""
    unknown = draft.request.usage.unknown(draft.topology)
    if not unknown:
        return []
    named = ", ".join(map(shown, unknown[:5])) + (", …" if len(unknown) > 5 else "")
    return [f"--cpu-usage names no operator of the application with {named}: it is ignored"]


def _content(path: Path, yaml: Any) -> Any:
    if path.stat().st_size > FILE_BYTES_MAX:
        raise Misused(f"--cpu-usage {path}: it has more than {FILE_BYTES_MAX} bytes")
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content = yaml.load(path.read_text(encoding="utf-8"), loader)
    return dict(content) if isinstance(content, Mapping) else content


def _mcpu(field: str, value: object) -> int:
    """A quantity of CPU in thousandths, rounded up."""
    is_number = isinstance(value, int | float | str) and not isinstance(value, bool)
    quantity = quantity_of(str(value)) if is_number else None
    if quantity is None or not 0 <= (mcpu := rounded_up(str(value), 1000)) <= MCPU_MAX:
        raise Misused(f"{field} is {shown(value)!r}, which is no CPU such as 250m, 0.5 or 2")
    return mcpu
