"""What of an application's state cannot follow a changed width is refused by the planner."""

from __future__ import annotations

import pytest

from contracts.bundle_format import BundleLimits, open_bundle, pack
from contracts.reasons import Reason
from millrace import App, State
from millrace.adl import adl_of
from millrace.code import Code
from planner.application.adl import read_application
from planner.application.model import Application
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from tests.places import ROOT
from tests.unit.millrace import words as w
from tests.unit.planner.adl_writing import plan_of

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
