"""Values are checked as Helm checks them: with the schema of the chart."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.installing.allowing import problem_of
from cli.installing.profiles import leaves

LEAVES = dict(leaves())
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70000),
    st.floats(0.1, 0.9),
    st.sampled_from(["", "a", "A", "1Gi", "k:1", "DEBUG", "lots"]),
)
ANY = st.recursive(
    PLAIN,
    lambda below: st.one_of(
        st.lists(below, max_size=2),
        st.dictionaries(
            st.sampled_from(["limits", "requests", "memory", "name"]), below, max_size=2
        ),
    ),
    max_leaves=4,
)


@pytest.mark.parametrize("path", LEAVES)
def test_the_default_of_each_value_is_allowed(path: str) -> None:
    assert problem_of(path, LEAVES[path].default, LEAVES[path].schema) == ""


@given(st.sampled_from(sorted(LEAVES)), ANY)
def test_what_is_refused_is_what_the_schema_refuses(path: str, value: Any) -> None:
    schema = LEAVES[path].schema
    assert (problem_of(path, value, schema) == "") == jsonschema_rs.is_valid(schema, value)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("logLevel", "LOUD", "is 'LOUD', and has to be one of DEBUG, INFO, WARNING, ERROR"),
        ("metricsPort", 99999, "is 99999, and has to be at most 65535"),
        ("services.watch-ingest.replicas", -3, "is -3, and has to be at least 0"),
        ("services.watch-ingest.replicas", True, "is True, and has to be integer"),
        (
            "services.watch-ingest.resources",
            {"limits": {"memory": "lots"}},
            ".limits.memory is 'lots', and has to match",
        ),
        ("services.watch-ingest.resources", {"limit": {}}, ".limit is no value of the chart"),
        ("services.watch-ingest.env", {"MILLRACE_TYPO": 1}, ".MILLRACE_TYPO is no value"),
        ("services.watch-ingest.env", {"MILLRACE_RESYNC_S": 0}, "S is 0, and has to be more than"),
        ("namespaces", ["a", "a"], "has 'a' twice"),
        ("image.pullSecrets", ["a"], "[0] is 'a', and has to be object"),
    ],
)
def test_a_value_that_is_refused_is_named_with_what_is_allowed(
    path: str, value: Any, problem: str
) -> None:
    found = problem_of(path, value, LEAVES[path].schema)
    assert found.startswith(path)
    assert problem in found
