"""What of an application's state cannot follow a changed width is refused by the planner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.bundle_format import BundleLimits, open_bundle, pack
from contracts.reasons import Reason
from millrace import App, State
from millrace.adl import adl_of
from millrace.code import Code
from planner.application.adl import read_application
from planner.application.model import Application
from planner.graph.keeping_state import Store
from planner.numbering.records import Fusion
from planner.planning import PlanResult, plan
from planner.refusals import PlanRefused
from services.fusion_backend.core.spec.inputs import store_of, template_of
from tests.places import ROOT
from tests.unit.millrace import words as w
from tests.unit.planner.adl_writing import plan_of, request_of

CODE = Code("words", "app", "1.0.0", ROOT / "words.py", ROOT)
LEGACY = Fusion("legacy")


def _application(
    *, key: str | None = None, at_resize: str = "refuse", is_param: bool = False
) -> Application:
    """Words that are counted in a region, with state of each channel or of each key."""
    app = App("demo::Words")
    found = app.source(w.lines, name="Lines").flat_map(w.words, name="Words")
    split = found.parallel(app.param("width", default=2) if is_param else 2, key=key)
    keyed = split.key_by(key) if key else split
    state = State(w.Total, at_resize=at_resize)  # type: ignore[arg-type]
    counts = keyed.map(w.counted, state=state, name="Counted").end_parallel()
    counts.sink(print, name="Report")
    text = adl_of(app.graph, app.pools, CODE)
    return read_application(open_bundle(pack(text), BundleLimits()))


def test_state_that_cannot_follow_is_refused_where_the_width_is_a_submission_time_value() -> None:
    with pytest.raises(PlanRefused) as refused:
        plan_of(_application(is_param=True), LEGACY)
    assert refused.value.reason is Reason.STATE_CANNOT_FOLLOW
    assert refused.value.field == "operator Counted"
    assert "operator Counted has state that cannot follow" in str(refused.value)


def test_where_the_application_gives_the_width_it_is_refused_at_the_resize() -> None:
    application = _application()
    first = plan_of(application, LEGACY)
    assert plan_of(application, LEGACY, previous=first.record).record.pes == first.record.pes
    with pytest.raises(PlanRefused) as refused:
        plan_of(application, LEGACY, {"Counted": 3}, previous=first.record)
    assert refused.value.reason is Reason.STATE_CANNOT_FOLLOW
    assert "the width of that changes" in str(refused.value)


@pytest.mark.parametrize(
    "application",
    [_application(key="word", is_param=True), _application(at_resize="discard", is_param=True)],
    ids=["split by its key", "discarded"],
)
def test_state_that_follows_or_may_be_lost_is_resized(application: Application) -> None:
    first = plan_of(application, LEGACY)
    resized = plan_of(application, LEGACY, {"Counted": 5}, previous=first.record)
    assert resized.record.widths == {"Counted": 5}


def _planned(store: Store, *, is_bound: bool = False) -> PlanResult:
    """A plan of a job that keeps the state of its operators there."""
    app = App("demo::Kept")
    source = app.source(w.lines, name="Lines")
    words = source.flat_map(w.words, name="Words")
    counts = words.key_by("word").map(w.counted, state=w.Total, name="Counted")
    for stream in (source, words, counts):
        if is_bound:
            stream.host("node-1")
    sink = counts.sink(print, name="Report")
    if is_bound:
        sink.host("node-1")
    text = adl_of(app.graph, app.pools, CODE)
    application = read_application(open_bundle(pack(text), BundleLimits()))
    return plan(replace(request_of(application, LEGACY), store=store))


def test_state_on_a_path_of_a_node_is_refused_where_pes_may_be_on_several() -> None:
    with pytest.raises(PlanRefused) as refused:
        _planned(Store.OF_NODE)
    assert refused.value.reason is Reason.STORE_NOT_SHARED
    assert refused.value.field == "spec.processingElement.checkpointRepository"
    assert "operators Counted have state" in str(refused.value)


def test_state_on_a_path_of_a_node_is_accepted_where_all_pes_are_bound_to_it() -> None:
    assert _planned(Store.OF_NODE, is_bound=True).warnings == ()


def test_a_job_without_a_store_learns_which_operators_lose_their_state() -> None:
    [warning] = _planned(Store.NONE).warnings
    assert warning.startswith("StateNotKept")
    assert "operators Counted is lost" in warning
    assert _planned(Store.SHARED).warnings == ()


@pytest.mark.parametrize(
    ("store", "found"),
    [
        (None, Store.NONE),
        ({"fileSystem": {}}, Store.OF_NODE),
        ({"fileSystem": {"path": "/state"}}, Store.OF_NODE),
        ({"fileSystem": {"volumeClaim": {"name": "all"}}}, Store.SHARED),
        ({"redis": {"service": "redis"}}, Store.SHARED),
    ],
)
def test_where_a_job_keeps_state_follows_from_its_template(
    store: dict[str, object] | None, found: Store
) -> None:
    template = template_of({"processingElement": {"checkpointRepository": store}})
    assert store_of(template) is found


@pytest.mark.parametrize(
    ("image", "found"),
    [("here/millrace/runtime:2", Store.NONE), ("openstreams/runtime:6", Store.OF_IMAGE)],
)
def test_what_another_image_does_with_state_is_not_ours_to_warn_of(
    image: str, found: Store
) -> None:
    assert store_of(template_of({"processingElement": {"image": image}})) is found
    assert bool(_planned(found).warnings) == (found is Store.NONE)
