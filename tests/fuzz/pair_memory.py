"""What the services of a flooded pair still hold, and what their logs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.e2e.watching import System
from tests.real.faults.processes import metrics_of

_GAUGES = ("table_entries", "keys_waiting", "unreadable_objects")


async def remembered(pids: Mapping[str, Sequence[int]]) -> Mapping[str, float]:
    """What each service holds, by gauge."""
    found: dict[str, float] = {}
    for service, each in pids.items():
        for pid in each:
            metrics = await metrics_of(pid)
            found |= {
                f"{service} {name}": value
                for name, value in metrics.items()
                if name.endswith(_GAUGES)
            }
    return found


def differences(before: Mapping[str, float], now: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} {before.get(name, 0):g} became {value:g}"
        for name, value in sorted(now.items())
        if value > before.get(name, 0)
    )


def lines_with(system: System, word: str) -> list[str]:
    logs = sorted((system.state / "logs").glob("*.log"))
    return [
        f"{log.name}: {line}"
        for log in logs
        for line in log.read_text(errors="replace").splitlines()
        if f'"{word}"' in line
    ]
