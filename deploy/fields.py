"""Makes the page `docs/fields.md`: every field of the specs of Job and ProcessingElement.

Names, types, defaults and descriptions come from the models; ignored and refused fields from
`contracts/resources/accepting.py`; the origin of a field and when it is taken up from
`contracts/resources/mutability.py`. `generating.py` writes the page; a test compares it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.resources import JOB, JobSpec, ProcessingElementSpec, ProcessingElementTemplate
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
from services.roster import OWNERS

HEADER = """\
<!-- Generated from contracts/resources by `make generate`; edit the models, accepting.py or
mutability.py instead. -->

# Fields of Job and ProcessingElement

Every field of both specs: those of the design documents (the seed), those of the original's code,
and ours. Two names in a row are one field; use one of them. The API server drops fields that are in
no table. Only millrace writes `status`; `kubectl explain stj.status` describes it.
"""
AFTERWARDS = f"""\
## Edits of a running job

* An edit is taken up or refused as a whole. It is refused if it changes a field of the first plan,
  or if a submission with this spec would be refused. Then condition `Accepted` is False with reason
  `EditRefused`. The condition and an Event name the field, the value, the value in force and what
  to do. No field of the spec is taken up, not even by a resize, until it is reverted or corrected.
* If an accepted edit waits for the next resize, condition `Accepted` names it with reason
  `EditTakenUpLater`. PEs that a resize does not change keep their spec.
* Running PEs use the bundle, fusion, values and template that are stored with their plan record. A
  resize replaces the whole spec of the PEs that it changes, with any edits made by hand; only
  `launchCount` stays.
* Before the first plan is recorded, the edited spec is used. In phase `Failed`, any edit starts a
  new attempt with all of the spec.
* A PE is launched again only if its content changes (a resize), its `launchCount` is raised, its
  annotation `streams.ibm.com/restart` gets a new value, or its pod ends.
* If every plan record is deleted while no {OWNERS[JOB.kind]} runs, the job is planned from the
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
"""A group with the fields of the core API; the page has one row for all of them."""
NOBODY: Final = "by nobody"
NOTHING: Final = "nothing happens"

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a spec; `path` is its path below `spec`, such as `bundle.name`."""

    path: str
    schema: Schema
    is_required: bool

    @property
    def is_leaf(self) -> bool:
        """Whether it has no fields of ours below it."""
        return self.is_of_kubernetes or not _below(self.schema)[1]

    @property
    def is_of_kubernetes(self) -> bool:
        """Whether the fields below it are those of the core API."""
        return self.path.endswith(OF_KUBERNETES)


@functools.cache
def job_fields() -> tuple[Field, ...]:
    """Every field of a Job's spec, except those of its template for PEs."""
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
    """The path suffix and the schema of the fields below a field; else both empty."""
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
        f"{lines}\n| ignored | {NOTHING} | {OWNERS[JOB.kind]} names it in an Event and in condition"
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
    """The effect of the field in a Job's template."""
    if field.path not in {each.path for each in template_fields()}:
        return "no such field"
    return _ignored(f"{TEMPLATE}.{field.path}") or Moment.PE_MADE.when


def note_of(notes: Mapping[str, FieldNote], field: Field) -> FieldNote:
    """The note on a field. Raises LookupError if it has no note."""
    note = nearest(notes, field.path)
    if note is None:
        raise LookupError(f"mutability.py has no note on {field.path}")
    return note


def _is_another_name(path: str) -> bool:
    return nearest(dict.fromkeys(OTHER_NAMES, True), path) is not None


def _head(field: Field, notes: Mapping[str, FieldNote]) -> tuple[str, ...]:
    """The columns that both tables have; fields below do not repeat the sentence of a note."""
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
    lower = f" ≥ {least}" if least > -COUNT_MAX else ""
    return f"{lower} ≤ {most}" if most < COUNT_MAX else lower


def default_of(field: Field) -> str:
    """The value that the API server fills in."""
    if field.is_required:
        return "required"
    if "default" not in field.schema:
        return ""
    value = field.schema["default"]
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


# --------------------------------------------------------------------------- ignored fields


def _written(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(f".{EACH}", "[]")


IGNORED_WHY: Final = {_written(path): why for path, why, _ in IGNORED}


def _ignored(path: str) -> str:
    """Why a field of a Job is ignored; empty if it is not."""
    why = nearest(IGNORED_WHY, path)
    return "" if why is None else f"ignored: {why}"
