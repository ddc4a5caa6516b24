"""The planner's benchmark: sizes of its applications, and the threshold of growth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.bundle_format import Bundle
from loadtest.applications import SHAPES, Shape, wide_connection
from loadtest.planner import GROWTH_MAX, Measured, exceeded, measure, render
from planner.application.adl import read_application
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion
from planner.requesting import PlanRequest


def drafted(adl: str) -> Draft:
    bundle = Bundle("digest", "build", "x.adl", "output/x.adl", adl.encode(), ".", "output")
    return draft(PlanRequest(read_application(bundle), "digest", "load", 1, Fusion.legacy()))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_both_forms_of_an_application_have_its_operators_and_connections(
    shape: Shape,
) -> None:
    application = shape.made(1_000)
    for text in (application.logical, application.expanded):
        topology = drafted(text).topology
        assert len(topology.operators) == application.operators
        assert topology.connections_count == application.connections
    assert 1_000 <= application.operators <= 1_002
    assert application.connections <= 2 * application.operators


def test_a_wide_connection_has_every_channel_feed_every_channel() -> None:
    topology = drafted(wide_connection(20, 30).logical).topology
    assert topology.connections_count == wide_connection(20, 30).connections == 20 + 600 + 30


def row(operators: int, plan_s: float, render_s: float = 0.1) -> Measured:
    return Measured(
        shape="chain",
        scheme="legacy",
        operators=operators,
        connections=operators,
        pes=operators,
        parse_s=0.01,
        read_s=0.1,
        plan_s=plan_s,
        render_s=render_s * operators,
        text_bytes=100,
        peak_bytes=2_000 * operators,
    )


def test_growth_is_relative_to_operators_and_connections_and_has_a_threshold() -> None:
    linear = [row(1_000, 0.1), row(10_000, 1.0)]
    assert not exceeded(linear)
    assert "| 1.00 |" in render(linear)
    steep = [row(1_000, 0.1), row(10_000, 1.01 * GROWTH_MAX)]
    (message,) = exceeded(steep)
    assert "chain, legacy, 10000 operators: planning grew 1.31 times" in message
    slow_rendering = [row(1_000, 0.1), replace(row(10_000, 1.0), render_s=2_000)]
    (message,) = exceeded(slow_rendering)
    assert "rendering grew 2.00 times" in message


def test_shapes_and_schemes_are_compared_with_themselves_only() -> None:
    other = replace(row(10_000, 50.0), scheme="automatic")
    assert not exceeded([row(1_000, 0.1), other])


@pytest.mark.parametrize("scheme", ["legacy", "automatic"])
def test_a_measurement_plans_and_renders(scheme: str) -> None:
    found = measure("fan", scheme, 30)
    assert found.operators == 32
    assert found.pes >= 1
    assert found.text_bytes > 32 * 500
    assert min(found.plan_s, found.render_s, found.parse_s) > 0
