"""Threading models: which of those that a job and its composites name applies to an operator."""

from __future__ import annotations

from dataclasses import dataclass

from planner.application import model
from planner.graph.topology import Operator


@dataclass(frozen=True, slots=True)
class Threading:
    """A threading model, as the job spec asks for it, or as an annotation writes it (in text)."""

    model: str
    threads: int | str | None = None
    elastic: bool | str | None = None


def choose_model(operator: Operator, job: Threading | None) -> Threading | None:
    """The operator's own model, else that of the innermost composite that has one, else the job's.

    The original gives a primitive's model to its siblings as well, and forgets a composite's model
    in all channels but the first; both are taken for mistakes.
    """
    scopes: list[tuple[model.Annotation, ...]] = [operator.item.annotations]
    for composite in operator.enclosing:
        scopes += [composite.annotations, composite.definition_annotations]
    for scope in scopes:
        for annotation in scope:
            chosen = annotation.get("model") if annotation.tag == "threading" else None
            if chosen:
                return Threading(
                    chosen.strip('"'), annotation.get("threads"), annotation.get("elastic")
                )
    return job
