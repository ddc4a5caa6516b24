"""Annotations whose values come from the submission: resolved once, before anybody reads them.

Threading models, consistent regions and everything that is forwarded then read plain text.
"""

from __future__ import annotations

from dataclasses import replace

from planner.application import model
from planner.application.submission import SubmissionValues


def resolve_annotations(
    application: model.Application, values: SubmissionValues
) -> model.Application:
    """The application with every submission-time value in its annotations replaced."""
    main = _composite(application.main, values)
    return application if main is application.main else replace(application, main=main)


def _composite(composite: model.Composite, values: SubmissionValues) -> model.Composite:
    composites = tuple(_composite(inner, values) for inner in composite.composites)
    members = tuple(_member(member, values) for member in composite.members)
    own = _annotations(composite.annotations, values)
    of_definition = _annotations(composite.definition_annotations, values)
    before = (*composite.composites, *composite.members)
    is_same = (
        own is composite.annotations
        and of_definition is composite.definition_annotations
        and all(one is other for one, other in zip((*composites, *members), before, strict=True))
    )
    if is_same:
        return composite
    return replace(
        composite,
        composites=composites,
        members=members,
        annotations=own,
        definition_annotations=of_definition,
    )


def _member(member: model.Member, values: SubmissionValues) -> model.Member:
    if not isinstance(member, model.Primitive):
        return member
    own = _annotations(member.annotations, values)
    return member if own is member.annotations else replace(member, annotations=own)


def _annotations(
    annotations: tuple[model.Annotation, ...], values: SubmissionValues
) -> tuple[model.Annotation, ...]:
    if all(entry.submission_value is None for item in annotations for entry in item.entries):
        return annotations
    return tuple(
        replace(item, entries=tuple(_entry(entry, values) for entry in item.entries))
        for item in annotations
    )


def _entry(entry: model.AnnotationEntry, values: SubmissionValues) -> model.AnnotationEntry:
    if entry.submission_value is None:
        return entry
    return replace(entry, text=values.entry(entry), submission_value=None)
