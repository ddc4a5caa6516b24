"""Keys and values by which PEs find or avoid each other on hosts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.labels import host_token_label, label_value, member_label, pe_name, pod_name

VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


@pytest.mark.parametrize(
    ("token", "digest"),
    [
        ("together", "9034ff9e2b8f00b47a44dfaf3c2a37176c101e2a"),
        ("apart", "b76ade163d874cc5bc0f408d70cfc165667eec5f"),
        ("Sink", "e53e8d5300c878019a997d4cfb7201c7ed2ee003"),
    ],
)
def test_the_key_carries_the_lower_case_sha_1_of_the_token(token: str, digest: str) -> None:
    """Expected values: the worked examples of the design documents."""
    assert host_token_label("colocation", token) == (
        f"streams.ibm.com/hostcolocation.{digest}",
        token,
    )


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("a::b.Op", "a.b.Op"),
        ("Op[0]", "Op-0"),
        ("_x", "u_x"),
        ("x_", "x_u"),
        (".x", "d.x"),
        ("two words", "two-words"),
        ("[]", "x"),
        ("é", "x"),
        ("x" * 300, "x" * 63),
    ],
)
def test_a_value_is_the_token_as_far_as_a_label_can_say_it(token: str, value: str) -> None:
    assert label_value(token) == value


def test_the_label_of_a_token_that_is_no_value_has_a_valid_one() -> None:
    _, value = host_token_label("colocation", "two words")
    assert value == "two-words"


def test_a_pe_is_named_by_its_job_and_id_and_its_pods_begin_with_its_name() -> None:
    """Ids count from 0, as in the original."""
    assert pe_name("job", 0) == "job-0"
    assert pod_name("job", 0, "uid", 1).startswith("job-0-")


@given(st.text(max_size=200))
def test_every_text_gives_a_valid_value(text: str) -> None:
    assert VALUE.fullmatch(label_value(text))


def test_each_pool_has_a_member_label_of_its_own() -> None:
    assert member_label("u-1") == "member.streams.ibm.com/u-1"
