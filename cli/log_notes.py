"""What `millrace logs` says where a log is empty, or lacks how the last launch ended.

Pure: the view of a PE in, a sentence out; empty where the log says all.
"""

from __future__ import annotations

from cli.live import PeView
from contracts.failures import ended_with

_KEEP = (
    "its log went with its pod; to keep the next one, set"
    " spec.processingElement.deleteFailedPod: false in its Job"
)


def no_pod(pe: PeView, *, previous: bool, now_s: float) -> str:
    """Why a PE has no pod whose log can be read."""
    ended = ended_with(pe.recorded, now_s)
    if previous:
        last = f"; it ended with: {ended}" if ended else ""
        return (
            f"{pe.name} has no pod of the launch before: only failed pods are kept, and only if "
            f"deleteFailedPod is false{last}"
        )
    why = f": {pe.problem}" if pe.problem else ""
    return f"{pe.name} has no pod, it is {pe.phase}{why}{f'; {_KEEP}' if ended else ''}"


def ended_before_log(pe: PeView, lines: int, now_s: float) -> str:
    """How the last launch ended that failed, if the log of the pod that was read does not say it.

    `lines`: how many it had. `now_s`: unix seconds.
    """
    ended = ended_with(pe.recorded, now_s).rstrip(".")
    if not ended:
        return ""
    if pe.phase == "Failed":
        return f"{pe.name} logged nothing before it ended with: {ended}" if not lines else ""
    where = _KEEP
    if pe.previous_pod_name:
        where = f"its log: millrace logs {pe.name} --previous"
    return f"the launch of {pe.name} before this one ended with: {ended}; {where}"
