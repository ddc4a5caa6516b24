"""Guard and sentences about launches that end as the one before did, whatever time passes.

The restart of such a PE backs off as any other one does, and nothing comes of it. The words are
those with which `millrace/runtime/endings.py` ends a PE. What is not here may pass: a store that
does not answer, a port that is in use, an error of the runtime itself, code that ends its process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from contracts.failures import ended_with
from contracts.reasons import Reason
from history.why.case import PE, Case
from history.why.phrases import about, brief, remedy, values_of
from history.why.remedies import EDIT
from history.why.things import Thing

_AGAIN: Final = "pack it, delete the job (millrace delete {job} -n {ns}), and submit it again"
_IMAGE: Final = (
    "Use the image of millrace's runtime that belongs to this release, in"
    f" spec.processingElement.image ({EDIT}), and launch it again: millrace restart {{pe}} -n"
    " {ns}"
)
LASTING: Final[Mapping[str, str]] = {
    "ImportFailed": f"Correct the application, {_AGAIN}",
    "BundleMissing": "Delete the job (millrace delete {job} -n {ns}), and submit it again with its"
    " bundle; or restore the bundle store of fusion-backend",
    "BundleRefused": f"See what is wrong with it (`millrace bundle verify FILE`), {_AGAIN}",
    "WheelRefused": "Pack the application with a wheel for the platform and the Python of the image"
    " (`millrace bundle pack --wheel FILE`), delete the job (millrace delete {job} -n {ns}), and"
    " submit it again",
    "ValueRefused": "Delete the job (millrace delete {job} -n {ns}), and submit it again with a"
    " value of the type that the message names (`millrace submit --param NAME=VALUE`)",
    "OperatorRefused": "Use an image with the runtime of the original for compiled SPL, in"
    f" spec.processingElement.image: {EDIT}",
    "EnvironmentRefused": "Correct the variable in spec.processingElement.podTemplate, or use the"
    f" image that belongs to this release ({EDIT}), and launch it again: millrace restart {{pe}} -n"
    " {ns}",
    "DescriptionMissing": _IMAGE,
    "DescriptionRefused": _IMAGE,
    "StateRefused": "Use the image that saved the state, in spec.processingElement.image"
    f" ({EDIT}), or restore the store; to begin without the state, delete the job (millrace delete"
    " {job} -n {ns}) and submit it again",
}
"""The remedies for endings that no further launch avoids, by their words."""
OUT_OF_MEMORY: Final = (
    "Give the PE more memory: limits.memory in spec.processingElement.resources, or in"
    f" spec.resources ({EDIT}), and launch it again: millrace restart {{pe}} -n {{ns}}"
)
_WORD: Final = re.compile(r"exit code \d+: ([A-Z][A-Za-z]+): ")


def fails_each_time(case: Case) -> Thing | None:
    """Guard: a PE is launched again and again, and each launch ends for the same cause."""
    return next((pe for pe in case.idle if _remedy_of(case, pe)), None)


def of_lasting(case: Case, subject: Thing) -> str:
    """How its launches end."""
    alike = [pe for pe in case.idle if _remedy_of(case, pe)]
    who = about(case, subject, alike)
    return f"{who} fails in each launch: {brief(ended_with(subject.status, case.gathered.now_s))}"


def cure_ended(case: Case, subject: Thing) -> str:
    """What ends that; for an ending that may pass, the remedy for the reason of the PE."""
    found = _remedy_of(case, subject) or (OUT_OF_MEMORY if _is_out_of_memory(case, subject) else "")
    if not found:
        return remedy(case, subject, subject.reason)
    values = values_of(case, subject)
    return f"{values['log']}. {found.format_map(values)}"


def cure_restarting(case: Case, subject: Thing) -> str:
    """The same of a PE whose restart backs off, or has just begun."""
    found = remedy(case, subject, Reason.BACKING_OFF)
    if not _is_out_of_memory(case, subject):
        return found
    return f"{found}. {OUT_OF_MEMORY.format_map(values_of(case, subject))}"


def _remedy_of(case: Case, pe: Thing) -> str:
    words = ended_with(pe.status, case.gathered.now_s) if pe.kind == PE else ""
    found = _WORD.search(words)
    return LASTING.get(found.group(1), "") if found else ""


def _is_out_of_memory(case: Case, pe: Thing) -> bool:
    words = ended_with(pe.status, case.gathered.now_s) if pe.kind == PE else ""
    return ": OOMKilled, exit code " in words
