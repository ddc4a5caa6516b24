"""Rules in CEL: where they apply, when they are skipped, and what they say."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import (
    MERGE,
    causes,
    definition,
    refusal,
    serve,
    widget,
)

COUNT = {"launchCount": {"type": "integer"}}


def rule(text: str, **fields: str) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": text, **fields}]}


def spec_with(properties: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **fields}


def refused(store: Store, spec: dict[str, Any], value: dict[str, Any]) -> tuple[str, str]:
    """Field and message of the only cause."""
    rt = serve(store, definition(spec))
    error = refusal(lambda: store.create(rt, "default", widget(value)))
    assert error.code == 422
    (cause,) = (error.details or {})["causes"]
    return cause["field"], cause["message"]


def test_a_rule_that_fails_says_its_message(store: Store) -> None:
    spec = spec_with(COUNT, **rule("self.launchCount > 0", message="count from one"))
    assert refused(store, spec, {"launchCount": 0}) == ("spec", "count from one")


def test_without_a_message_the_rule_itself_is_shown(store: Store) -> None:
    count = {"launchCount": {"type": "integer", **rule("self > 0")}}
    assert refused(store, spec_with(count), {"launchCount": 0}) == (
        "spec.launchCount",
        "failed rule: self > 0",
    )


def test_a_message_can_be_computed(store: Store) -> None:
    expression = "'count is ' + string(self.launchCount)"
    spec = spec_with(
        COUNT, **rule("self.launchCount > 0", message="plain", messageExpression=expression)
    )
    assert refused(store, spec, {"launchCount": -4})[1] == "count is -4"


def test_a_message_that_cannot_be_computed_gives_way_to_the_plain_one(store: Store) -> None:
    spec = spec_with(
        COUNT,
        **rule("self.launchCount > 0", message="plain", messageExpression="self.none"),
    )
    assert refused(store, spec, {"launchCount": 0})[1] == "plain"


def test_reason_and_path_of_a_cause_can_be_chosen(store: Store) -> None:
    chosen = rule(
        "has(self.launchCount)",
        message="say how often",
        reason="FieldValueRequired",
        fieldPath=".launchCount",
    )
    rt = serve(store, definition(spec_with(COUNT, **chosen)))
    error = refusal(lambda: store.create(rt, "default", widget()))
    assert causes(error) == [("spec.launchCount", "FieldValueRequired")]
    assert error.message.endswith("spec.launchCount: say how often")


def test_a_rule_that_cannot_be_evaluated_has_failed(store: Store) -> None:
    spec = spec_with(COUNT, **rule("self.launchCount > 0", message="count from one"))
    assert refused(store, spec, {})[1].startswith("count from one (the rule cannot be evaluated: ")


def test_rules_apply_inside_lists_and_maps(store: Store) -> None:
    positive = {"type": "integer", **rule("self > 0")}
    spec = spec_with(
        {
            "list": {"type": "array", "items": positive},
            "map": {"type": "object", "additionalProperties": positive},
        }
    )
    rt = serve(store, definition(spec))
    body = widget({"list": [1, 0], "map": {"a": 1, "b": -1}})
    error = refusal(lambda: store.create(rt, "default", body))
    assert [field for field, _ in causes(error)] == ["spec.list[1]", "spec.map.b"]


def test_a_rule_at_the_root_sees_the_name_but_no_other_metadata(store: Store) -> None:
    named = rule("self.metadata.name.startsWith('w')")
    hidden = rule("!has(self.metadata.labels)")
    error = refusal(lambda: serve(store, definition(root=hidden)))
    assert "the schema has no field labels" in error.message
    rt = serve(store, definition(root=named))
    assert store.create(rt, "default", widget(name="w1", metadata={"labels": {"a": "b"}}))
    error = refusal(lambda: store.create(rt, "default", widget(name="one")))
    assert causes(error) == [("<nil>", "FieldValueInvalid")]


def test_a_transition_rule_is_skipped_on_create(store: Store) -> None:
    fixed = {"id": {"type": "string", **rule("self == oldSelf", message="never changes")}}
    rt = serve(store, definition(spec_with(fixed)))
    store.create(rt, "default", widget({"id": "a"}))
    error = refusal(lambda: store.patch(rt, "default", "one", {"spec": {"id": "b"}}, MERGE))
    assert error.message.endswith("spec.id: never changes")


def test_a_transition_rule_on_a_field_is_passed_by_removing_the_field(store: Store) -> None:
    never_falls = {"launchCount": {"type": "integer", **rule("self >= oldSelf")}}
    rt = serve(store, definition(spec_with(never_falls)))
    store.create(rt, "default", widget({"launchCount": 5}))
    for count in (None, 1):
        store.patch(rt, "default", "one", {"spec": {"launchCount": count}}, MERGE)
    assert store.get(rt, "default", "one")["spec"] == {"launchCount": 1}


@pytest.mark.parametrize("count", [None, 1])
def test_a_transition_rule_at_the_root_sees_the_removal(store: Store, count: int | None) -> None:
    text = (
        "!has(oldSelf.spec.launchCount) || (has(self.spec.launchCount) && "
        "self.spec.launchCount >= oldSelf.spec.launchCount)"
    )
    rt = serve(store, definition(spec_with(COUNT), root=rule(text)))
    store.create(rt, "default", widget({"launchCount": 5}))
    body = {"spec": {"launchCount": count}}
    assert refusal(lambda: store.patch(rt, "default", "one", body, MERGE)).code == 422


def test_rules_hold_for_status_as_well(store: Store) -> None:
    text = (
        "!has(oldSelf.status) || !has(oldSelf.status.launchCount) || (has(self.status) && "
        "has(self.status.launchCount) && self.status.launchCount >= oldSelf.status.launchCount)"
    )
    rt = serve(store, definition(status=spec_with(COUNT), root=rule(text)))
    store.create(rt, "default", widget())

    def counted(status: dict[str, Any] | None) -> Any:
        body = {"status": status}
        return store.patch(rt, "default", "one", body, MERGE, subresource="status")

    counted({"launchCount": 2})
    for lower in ({"launchCount": 1}, {"launchCount": None}, None):
        assert refusal(partial(counted, lower)).code == 422
    assert counted({"launchCount": 3})["status"] == {"launchCount": 3}


def test_items_with_keys_are_compared_with_their_old_selves(store: Store) -> None:
    item = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "n": {"type": "integer"}},
        **rule("self.n >= oldSelf.n"),
    }
    pools = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        "items": {**item, "required": ["id"]},
    }
    rt = serve(store, definition(spec_with({"pools": pools})))
    store.create(rt, "default", widget({"pools": [{"id": "a", "n": 5}, {"id": "b", "n": 1}]}))
    swapped = {"spec": {"pools": [{"id": "b", "n": 2}, {"id": "a", "n": 5}]}}
    store.patch(rt, "default", "one", swapped, MERGE)
    lower = {"spec": {"pools": [{"id": "b", "n": 2}, {"id": "a", "n": 4}]}}
    error = refusal(lambda: store.patch(rt, "default", "one", lower, MERGE))
    assert [field for field, _ in causes(error)] == ["spec.pools[1]"]


def test_what_did_not_change_is_not_judged_again(store: Store) -> None:
    rt = serve(store, definition(spec_with(COUNT)))
    store.create(rt, "default", widget({"launchCount": 0}))
    stricter = definition(spec_with(COUNT, **rule("self.launchCount > 0")))["spec"]["versions"]
    body = {"spec": {"versions": stricter}}
    store.patch(CUSTOM_RESOURCE_DEFINITION, None, "widgets.example.com", body, MERGE)
    assert store.patch(rt, "default", "one", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    worse = {"spec": {"launchCount": -1}}
    assert refusal(lambda: store.patch(rt, "default", "one", worse, MERGE)).code == 422


def test_rules_wait_for_an_object_that_fits_the_schema(store: Store) -> None:
    rt = serve(store, definition(spec_with(COUNT, **rule("self.launchCount > 0"))))
    error = refusal(lambda: store.create(rt, "default", widget({"launchCount": "x"})))
    assert causes(error) == [
        ("spec.launchCount", "FieldValueTypeInvalid"),
        ("<nil>", "FieldValueInvalid"),
    ]
    assert "some validation rules were not checked" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "self.text.lowerAscii() == 'abc'",
        "self.text.split('b').size() == 2",
        "self.text.indexOf('C') == 2",
        "self.text.substring(1, 2) == 'b'",
        "self.numbers.sum() == 6 && self.numbers.max() == 3 && self.numbers.min() == 1",
        "!self.numbers.isSorted()",
        "self.text.find('[a-z]+') == 'ab'",
        "[self.text, 'x'].join('-') == 'abC-x'",
        "[has(self.text), has(self.none)].filter(given, given).size() == 1",
        "self.__namespace__ == 'here'",
        "self.numbers.all(n, n > 0) && self.numbers.exists_one(n, n == 3)",
        "self.half * 2.0 == 1.0",
    ],
)
def test_the_language_has_the_functions_of_kubernetes(store: Store, text: str) -> None:
    properties = {
        "text": {"type": "string"},
        "none": {"type": "string"},
        "namespace": {"type": "string"},
        "half": {"type": "number"},
        "numbers": {"type": "array", "items": {"type": "integer"}},
    }
    rt = serve(store, definition(spec_with(properties, **rule(text))))
    body = {"text": "abC", "namespace": "here", "numbers": [1, 3, 2], "half": 0.5}
    assert store.create(rt, "default", widget(body))
    broken = {**body, "text": "zzz", "namespace": "z", "numbers": [0, 1], "half": 2, "none": "z"}
    assert refusal(lambda: store.create(rt, "default", widget(broken, name="two"))).code == 422


@pytest.mark.parametrize("text", ["self.a >", "other.a > 1"])
def test_a_rule_that_cannot_be_compiled_is_refused_with_its_place(store: Store, text: str) -> None:
    error = refusal(lambda: serve(store, definition(spec_with(COUNT, **rule(text)))))
    path = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    assert causes(error) == [(path, "FieldValueInvalid")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("self.a.b == 1", "the schema has no field b"),
        ("self.c == 'self.d'", "the schema has no field c"),
        ("oldSelf.d == 1", "the schema has no field d"),
        ("self.a + 1", "has to be true or false"),
        ("self.names[0] + 'a'", "has to be true or false"),
    ],
)
def test_a_rule_that_does_not_fit_its_schema_is_refused(store: Store, text: str, said: str) -> None:
    names = {"type": "array", "items": {"type": "string"}}
    spec = spec_with({"a": {"type": "integer"}, "names": names}, **rule(text))
    error = refusal(lambda: serve(store, definition(spec)))
    path = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    assert causes(error) == [(path, "FieldValueInvalid")]
    assert said in error.message


@pytest.mark.parametrize(
    "text",
    [
        "self.free.any.thing == 1",
        "self.map.key == 'a'",
        "self.__namespace__ == 'a'",
        "self.a.b.startsWith('self.none')",
        "self.list.all(each, each.n > 0) && self.list[0].n > 0",
        "has(self.metadata) || true",
    ],
)
def test_a_rule_may_name_what_a_schema_leaves_open(store: Store, text: str) -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}}}
    properties = {
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "namespace": {"type": "string"},
        "metadata": {"type": "string"},
        "a": {"type": "object", "properties": {"b": {"type": "string"}}},
        "list": {"type": "array", "items": item},
    }
    assert serve(store, definition(spec_with(properties, **rule(text))))


def test_a_whole_number_is_a_double_where_the_schema_says_number(store: Store) -> None:
    ratio = {"ratio": {"type": "number"}, "list": {"type": "array", "items": {"type": "number"}}}
    text = "self.ratio * 2.0 < 5.0 && self.list.all(n, n / 2.0 > 0.4)"
    rt = serve(store, definition(spec_with(ratio, **rule(text))))
    made = store.create(rt, "default", widget({"ratio": 2, "list": [1, 1.5]}))
    assert made["spec"]["ratio"] == 2
    body = widget({"ratio": 3, "list": []}, name="two")
    assert refusal(lambda: store.create(rt, "default", body)).code == 422


def test_dates_are_compared_as_times(store: Store) -> None:
    times = {name: {"type": "string", "format": "date-time"} for name in ("begin", "end")}
    rt = serve(store, definition(spec_with(times, **rule("self.begin < self.end"))))
    begin = "2026-01-01T12:00:00+02:00"
    assert store.create(rt, "default", widget({"begin": begin, "end": "2026-01-01T11:00:00Z"}))
    late = widget({"begin": begin, "end": "2026-01-01T09:00:00Z"}, name="two")
    assert refusal(lambda: store.create(rt, "default", late)).code == 422
