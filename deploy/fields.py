"""Writes every field of the specs of Job and ProcessingElement down as the page `docs/fields.md`.

Names, types, defaults and descriptions come from the models, what is ignored or refused from
`contracts/resources/accepting.py`, where a field comes from and when it is taken up from
`contracts/resources/mutability.py`. `generating.py` writes the page, a test holds it fresh.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.resources import JobSpec, ProcessingElementSpec, ProcessingElementTemplate
from contracts.resources.accepting import EACH, IGNORED
from contracts.resources.fields import COUNT_MAX
from contracts.resources.mutability import (
    JOB_FIELDS,
    OTHER_NAMES,
    PE_FIELDS,
    FieldNote,
    Moment,
    nearest,
)
from contracts.resources.structural import structural

HEADER = """\
<!-- Generated from contracts/resources by `make generate`; edit the models, accepting.py or
mutability.py instead. -->

# Fields of Job and ProcessingElement

Every field of both specs: those of the design documents (the seed), those of the original's code,
and ours. Two names in a row mean one field; give one of them. Fields that no table has are dropped
by the API server. `status` is written by millrace alone; `kubectl explain stj.status` describes it.
"""
AFTERWARDS = """\
## Edits of a running job

* An edit is taken up or refused as a whole. One that changes a field of the first plan, or that a
  submission would be refused for, is refused: condition `Accepted` is False with reason
  `EditRefused` and names field, value, the value in force and what to do; an Event says it, too.
  Nothing of that spec is taken up, not even by a resize, until it is taken back or put right.
* An edit that is accepted and waits for the next resize is named by condition `Accepted`, reason
  `EditTakenUpLater`. PEs that a resize does not touch keep what they have.
* What runs goes by what is kept beside its plan record: bundle, fusion, values and template. A
  resize writes the whole spec of the PEs that it changes anew, so that what people wrote into one
  by hand ends there; only `launchCount` stays.
* Before the first plan is recorded, an edit is simply the spec. In phase `Failed`, any edit begins
  a new attempt, which takes everything up.
* Nothing launches a PE anew but its content (a resize), its `launchCount`, a new value of its
  annotation `streams.ibm.com/restart`, and the end of its pod.
* If every record of the plan is deleted while no fusion-backend runs, the job is planned from the
  spec of that moment with the widths in force.
"""
JOB_COLUMNS: Final = (
    "field",
    "meaning",
    "type",
    "default",
    "source",
    "taken up",
    "edited while the job runs",
)
PE_COLUMNS: Final = (
    "field",
    "meaning",
    "type",
    "default",
    "source",
    "in a Job's `processingElement`",
    "in a ProcessingElement",
)
TEMPLATE: Final = "processingElement"
OF_KUBERNETES: Final = "podTemplate.spec"
"""A group whose fields are those of the core API: it is told as one."""
NOBODY: Final = "by nobody"
NOTHING: Final = "nothing happens"

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a spec; `path` is as people write it below `spec`, such as `bundle.name`."""

    path: str
    schema: Schema
    is_required: bool

    @property
    def is_leaf(self) -> bool:
        """Whether no field of ours is below it."""
        return self.is_of_kubernetes or not _below(self.schema)[1]

    @property
    def is_of_kubernetes(self) -> bool:
        """Whether the fields below it are those of the core API."""
        return self.path.endswith(OF_KUBERNETES)


@functools.cache
def job_fields() -> tuple[Field, ...]:
    """Every field of a Job's spec, but those of its template for PEs."""
    fields = _walk(structural(JobSpec), "")
    return tuple(each for each in fields if not each.path.startswith(f"{TEMPLATE}."))


@functools.cache
def pe_fields() -> tuple[Field, ...]:
    """Every field of a ProcessingElement's spec."""
    return tuple(_walk(structural(ProcessingElementSpec), ""))


@functools.cache
def template_fields() -> tuple[Field, ...]:
    """Every field of the template for PEs in a Job."""
    return tuple(_walk(structural(ProcessingElementTemplate), ""))


def _walk(schema: Schema, prefix: str) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, child in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        field = Field(path, child, name in required)
        yield field
        suffix, below = ("", {}) if field.is_of_kubernetes else _below(child)
        if below:
            yield from _walk(below, f"{path}{suffix}.")


def _below(schema: Schema) -> tuple[str, Schema]:
    """The schema that has a field's own fields, and what leads to it; empty where it has none."""
    if "properties" in schema:
        return "", schema
    items = schema.get("items", {})
    return ("[]", items) if "properties" in items else ("", {})


def page() -> str:
    """The whole page."""
    jobs = (_job_row(each) for each in job_fields())
    pes = (_pe_row(each) for each in pe_fields() if not _is_another_name(each.path))
    return "\n".join(
        (
            HEADER,
            _legend(),
            f"## Job\n\n{_table(JOB_COLUMNS, jobs)}\n",
            f"## ProcessingElement\n\n{_table(PE_COLUMNS, pes)}\n",
            AFTERWARDS,
        )
    )


def _legend() -> str:
    lines = "\n".join(f"| {each.when} | {each.edited} | {each.sentence} |" for each in Moment)
    return (
        "## When a field is taken up\n\n| taken up | edited later | by whom |\n|---|---|---|\n"
        f"{lines}\n| ignored | {NOTHING} | fusion-backend names it in an Event and in condition"
        " `Accepted`. |\n"
    )


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = tuple(columns)
    lines = (_line(columns), _line("---" for _ in columns), *map(_line, rows))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _job_row(field: Field) -> tuple[str, ...]:
    note = note_of(JOB_FIELDS, field)
    return (
        *_head(field, JOB_FIELDS),
        _ignored(field.path) or ", ".join(each.when for each in note.taken_up) or NOBODY,
        ", ".join(each.edited for each in note.taken_up) or NOTHING,
    )


def _pe_row(field: Field) -> tuple[str, ...]:
    note = note_of(PE_FIELDS, field)
    in_pe = ", ".join(each.edited for each in note.taken_up) or NOTHING
    return (*_head(field, PE_FIELDS), _in_template(field), in_pe)


def _in_template(field: Field) -> str:
    """What becomes of the field where a Job's template gives it."""
    if field.path not in {each.path for each in template_fields()}:
        return "no such field"
    return _ignored(f"{TEMPLATE}.{field.path}") or Moment.PE_MADE.when


def note_of(notes: Mapping[str, FieldNote], field: Field) -> FieldNote:
    """What is noted of a field; LookupError where nothing is."""
    note = nearest(notes, field.path)
    if note is None:
        raise LookupError(f"mutability.py says nothing of {field.path}")
    return note


def _is_another_name(path: str) -> bool:
    return nearest(dict.fromkeys(OTHER_NAMES, True), path) is not None


def _head(field: Field, notes: Mapping[str, FieldNote]) -> tuple[str, ...]:
    """The columns that both tables have; a note's sentence is not repeated for what is below."""
    others = [other for other, name in OTHER_NAMES.items() if name == field.path]
    origins = [note_of(notes, field), *(notes[other] for other in others)]
    own = notes.get(field.path)
    return (
        ", ".join(f"`{name}`" for name in (field.path, *others)),
        f"{field.schema.get('description', '')} {own.about if own else ''}".strip(),
        type_of(field.schema),
        default_of(field),
        ", ".join(each.origin.value for each in origins),
    )


def type_of(schema: Schema) -> str:
    """The type for people, with its values or bounds."""
    if "enum" in schema:
        return " | ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "number or string"
    if "items" in schema:
        return f"list of {type_of(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map to {type_of(schema['additionalProperties'])}"
    if "pattern" in schema:
        return f"{schema['type']} `{schema['pattern']}`"
    return f"{schema['type']}{_bounds(schema)}"


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum", -COUNT_MAX), schema.get("maximum", COUNT_MAX)
    said = f" ≥ {least}" if least > -COUNT_MAX else ""
    return f"{said} ≤ {most}" if most < COUNT_MAX else said


def default_of(field: Field) -> str:
    """What the API server fills in."""
    if field.is_required:
        return "required"
    if "default" not in field.schema:
        return ""
    value = field.schema["default"]
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


# --------------------------------------------------------------------------- what becomes of it


def _written(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(f".{EACH}", "[]")


IGNORED_WHY: Final = {_written(path): why for path, why, _ in IGNORED}


def _ignored(path: str) -> str:
    """What `accepting.py` says of a field of a Job, if anything."""
    why = nearest(IGNORED_WHY, path)
    return "" if why is None else f"ignored: {why}"
