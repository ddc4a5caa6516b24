"""The conversion of models into structural schemas."""

from __future__ import annotations

import pytest
from pydantic import Field

from contracts.resources.fields import NOT_NULLABLE, Fields
from contracts.resources.structural import NotStructural, structural


class Inner(Fields):
    """An inner group."""

    size_in_bytes: int = Field(gt=0, description="Size in bytes.")


class Outer(Fields):
    """An outer group."""

    inner: Inner | None = Field(default=None, description="The group.")
    asked: int | None = Field(
        default=None, description="Read by a rule.", json_schema_extra=NOT_NULLABLE
    )
    names: list[str] = Field(default=[], description="Names.")
    sizes: dict[str, Inner] | None = Field(default=None, max_length=3, description="By name.")


def test_references_are_replaced_and_the_field_s_own_description_wins() -> None:
    inner = structural(Outer)["properties"]["inner"]
    assert inner["description"] == "The group."
    assert inner["properties"].keys() == {"sizeInBytes"}
    assert inner["required"] == ["sizeInBytes"]


def test_an_optional_field_is_nullable_and_has_no_default() -> None:
    inner = structural(Outer)["properties"]["inner"]
    assert inner["nullable"] is True
    assert "default" not in inner


def test_a_field_that_rules_read_is_not_nullable() -> None:
    assert "nullable" not in structural(Outer)["properties"]["asked"]


def test_an_exclusive_bound_of_an_integer_becomes_inclusive() -> None:
    size = structural(Inner)["properties"]["sizeInBytes"]
    assert size["minimum"] == 1
    assert size["type"] == "integer"
    assert size["format"] == "int64"


def test_the_default_of_an_empty_list_is_left_out() -> None:
    assert "default" not in structural(Outer)["properties"]["names"]


def test_a_map_is_an_object_with_additional_properties() -> None:
    sizes = structural(Outer)["properties"]["sizes"]
    assert sizes["type"] == "object"
    assert sizes["maxProperties"] == 3
    assert sizes["additionalProperties"]["type"] == "object"


def test_alternatives_that_cannot_be_expressed_are_refused_by_name() -> None:
    class Either(Fields):
        """A field of two types."""

        value: int | list[str] = Field(description="One or the other.")

    with pytest.raises(NotStructural, match=r"Either\.value"):
        structural(Either)


def test_a_keyword_without_a_structural_form_is_refused_by_name() -> None:
    class Stepped(Fields):
        """A field with a keyword that has no rule."""

        value: int = Field(multiple_of=5, description="In steps.")

    with pytest.raises(NotStructural, match=r"Stepped\.value: multipleOf"):
        structural(Stepped)
