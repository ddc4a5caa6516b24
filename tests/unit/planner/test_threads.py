"""Section 6 of the fusion backend's specification: threading models, queues, single threads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.resources import JobSpec
from planner.graph.threading_models import Threading
from planner.numbering.records import Fusion
from planner.planning import PlanResult, plan
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.inputs import PlanInputs, first_inputs, request, resized
from tests.unit.planner.adl_writing import Adl, request_of
from tests.unit.planner.reading import NAMES, read_pe, schema_errors
from tests.unit.planner.test_texts import flags, import_of, queues

ONE = Fusion.manual(1)
LEGACY = Fusion.legacy()
Model = dict[str, str | None]


def annotation(model: str, **more: str) -> str:
    entries = {"model": f'"{model}"', **more}
    values = "".join(
        f'<value key="{key}" type="t">{value}</value>' for key, value in entries.items()
    )
    return f'<splAnnotation tag="threading">{values}</splAnnotation>'


OPENINGS = {
    "main": '<compositeOperInstance name="demo::Main"',
    "composite": '<compositeOperInstance name="P"',
    "inner": '<compositeOperInstance name="P.H"',
    "operator": '<primitiveOperInstance name="P.H.f"',
    "definition": "<compositeOperDefinition ",
}


def annotated(adl: Adl, **places: str) -> Adl:
    """The application with annotations at the places that OPENINGS names."""
    text = adl.text()
    for place, written in places.items():
        start = text.index(OPENINGS[place])
        end = text.index(">", start)
        if text[end - 1] == "/":
            name = OPENINGS[place].strip("< ")
            text = f"{text[: end - 1]}>{written}</{name}>{text[end + 1 :]}"
        else:
            text = f"{text[: end + 1]}{written}{text[end + 1 :]}"
    adl.text = lambda: text  # type: ignore[method-assign]
    return adl


def nested(kind: str = "RoundRobin", width: int = 1) -> Adl:
    """`a`, then `P.H.f` and its sibling `P.H.g` in two composites, then `z`."""
    adl = Adl().operator("a", 0, 1).operator("P.H.f").operator("P.H.g").operator("z", 1, 0)
    adl.connect("a", "P.H.f").connect("P.H.f", "P.H.g").connect("P.H.g", "z")
    return adl.region("P", width, kind) if width > 1 else adl


def planned(adl: Adl, fusion: Fusion = ONE, threading: Threading | None = None) -> PlanResult:
    result = plan(replace(request_of(adl, fusion), threading=threading))
    assert [schema_errors(text) for text in result.aadls.values()] == [""] * len(result.aadls)
    return result


def models(result: PlanResult) -> dict[str, Model]:
    """The threading annotation of each operator that has one."""
    found: dict[str, Model] = {}
    for text in result.aadls.values():
        for operator in read_pe(text).root.iterfind("a:operInstances/d:operInstance", NAMES):
            for item in operator.iter():
                if item.get("tag") == "threading":
                    entries = {str(each.get("key")): each.get("value") for each in item.iter()}
                    entries.pop("None", None)
                    found[str(operator.get("name"))] = entries
    return found


# --------------------------------------------------------------------------- which model applies

MANUAL, DEDICATED = annotation("manual"), annotation("dedicated")
AUTOMATIC, DYNAMIC = annotation("automatic"), annotation("dynamic", threads="3", elastic="true")


@pytest.mark.parametrize(
    ("places", "job", "expected"),
    [
        ({}, None, {}),
        ({}, Threading("dedicated"), dict.fromkeys(("a", "P.H.f", "P.H.g", "z"), "dedicated")),
        ({"operator": MANUAL}, None, {"P.H.f": "manual"}),
        ({"inner": MANUAL}, None, {"P.H.f": "manual", "P.H.g": "manual"}),
        ({"composite": MANUAL}, None, {"P.H.f": "manual", "P.H.g": "manual"}),
        ({"main": MANUAL}, None, dict.fromkeys(("a", "P.H.f", "P.H.g", "z"), "manual")),
        (
            {"inner": MANUAL, "composite": DEDICATED},
            None,
            {"P.H.f": "manual", "P.H.g": "manual"},
        ),
        (
            {"operator": AUTOMATIC, "inner": MANUAL},
            None,
            {"P.H.f": "automatic", "P.H.g": "manual"},
        ),
        (
            {"definition": DEDICATED, "inner": MANUAL},
            None,
            {"P.H.f": "manual", "P.H.g": "manual", "a": "dedicated", "z": "dedicated"},
        ),
        (
            {"main": MANUAL},
            Threading("dedicated"),
            dict.fromkeys(("a", "P.H.f", "P.H.g", "z"), "manual"),
        ),
        (
            {"composite": MANUAL},
            Threading("dedicated"),
            {"P.H.f": "manual", "P.H.g": "manual", "a": "dedicated", "z": "dedicated"},
        ),
    ],
)
def test_the_model_is_the_nearest_one_and_the_jobs_where_none_is(
    places: dict[str, str], job: Threading | None, expected: dict[str, str]
) -> None:
    """Operator, then composite instances and their definitions outwards, then the job.

    The original gave an operator's model to its siblings, too.
    """
    found = models(planned(annotated(nested(), **places), threading=job))
    assert {name: entries["model"] for name, entries in found.items()} == expected


def test_every_channel_has_the_model_of_its_composite() -> None:
    """In the original only the first one had that of an instance."""
    found = models(planned(annotated(nested(width=3), composite=MANUAL)))
    assert set(found) == {f"P[{channel}].H.{name}" for channel in range(3) for name in "fg"}


@pytest.mark.parametrize(
    ("written", "job", "expected"),
    [
        (DYNAMIC, None, {"model": "dynamic", "threads": "3", "elastic": "true"}),
        (annotation("dynamic"), None, {"model": "dynamic"}),
        (annotation("manual", threads="3", elastic="true"), None, {"model": "manual"}),
        (
            "",
            Threading("dynamic", 4, True),
            {"model": "dynamic", "threads": "4", "elastic": "true"},
        ),
        ("", Threading("dynamic", None, False), {"model": "dynamic", "elastic": "false"}),
        ("", Threading("automatic"), {"model": "automatic"}),
    ],
)
def test_threads_and_elastic_are_reported_of_dynamic_only(
    written: str, job: Threading | None, expected: Model
) -> None:
    adl = annotated(nested(), operator=written) if written else nested()
    assert models(planned(adl, threading=job))["P.H.f"] == expected


def test_a_model_and_its_threads_may_be_submission_time_values() -> None:
    adl = nested().value("how", '"dynamic"').value("many", '"5"')
    entry = '<value key="{}" type="t" submissionTimeValueIndex="{}">none</value>'
    values = entry.format("model", 0) + entry.format("threads", 1)
    adl = annotated(adl, composite=f'<splAnnotation tag="threading">{values}</splAnnotation>')
    assert models(planned(adl))["P.H.g"] == {"model": "dynamic", "threads": "5"}


# --------------------------------------------------------------------------- injected queues


def after(adl: Adl, job: Threading | None, fusion: Fusion = ONE) -> dict[str, str | None]:
    """Operators with a queue, and whether it was injected."""
    return {name: seen[0] for name, seen in queues(planned(adl, fusion, job)).items()}


def with_queue(adl: Adl) -> Adl:
    """A queue of the user before `P.H.f`."""
    text = adl.text()
    port = text.index('name="i0"', text.index(OPENINGS["operator"]))
    end = text.index("</port>", port)
    queue = '<threadedPort congestionPolicy="dropLast" queueSize="7"/>'
    adl.text = lambda: text[:end] + queue + text[end:]  # type: ignore[method-assign]
    return adl


@pytest.mark.parametrize(
    ("adl", "job", "fusion", "expected"),
    [
        (nested(), None, ONE, {}),
        (nested(width=2), None, ONE, {"P[0].H.f": "true", "P[1].H.f": "true"}),
        (nested("Hash", 2), None, ONE, {"P[0].H.f": "true", "P[1].H.f": "true"}),
        (nested("Broadcast", 2), None, ONE, {}),
        (nested(width=2), None, LEGACY, {}),
        (nested(), Threading("dedicated"), ONE, dict.fromkeys(("P.H.f", "P.H.g", "z"), "true")),
        (nested(), Threading("dedicated"), LEGACY, {}),
        (nested(), Threading("manual"), ONE, {}),
        (nested(), Threading("dynamic"), ONE, {}),
        (with_queue(nested()), None, ONE, {"P.H.f": "false"}),
        (with_queue(nested(width=2)), None, ONE, {"P[0].H.f": "false", "P[1].H.f": "false"}),
        (with_queue(nested()), None, LEGACY, {"P.H.f": "false"}),
    ],
)
def test_a_queue_is_injected_behind_a_distributing_splitter_and_before_dedicated_ports(
    adl: Adl, job: Threading | None, fusion: Fusion, expected: dict[str, str]
) -> None:
    """Inside a PE only, and never where the user wrote one."""
    assert after(adl, job, fusion) == expected


def test_an_injected_queue_waits_and_has_no_size() -> None:
    text = planned(nested(), threading=Threading("dedicated")).aadls[0]
    assert (
        '<threadedPort congestionPolicy="wait" singleThreadedOnInput="true" isInjected="true"/>'
        in text
    )
    text = planned(with_queue(nested())).aadls[0]
    assert '<threadedPort congestionPolicy="dropLast" queueSize="7" ' in text


# --------------------------------------------------------------------------- single threads

YES, NO = ("true", "true"), ("false", "false")


def many(adl: Adl, *names: str) -> Adl:
    """These operators submit from several threads."""
    text = adl.text()
    for name in names:
        head, tail = text.split(f'<primitiveOperInstance name="{name}"', 1)
        tail = tail.replace('singleThreadedOnOutputs="true"', 'singleThreadedOnOutputs="false"', 1)
        text = f'{head}<primitiveOperInstance name="{name}"{tail}'
    adl.text = lambda: text  # type: ignore[method-assign]
    return adl


def joined() -> Adl:
    """Two sources into the two ports of one operator."""
    adl = Adl().operator("a", 0, 1).operator("b", 0, 1).operator("z", 2, 0)
    return adl.connect("a", "z").connect("b", "z", 0, 1)


def cycle() -> Adl:
    return Adl().chain("a", "f", "z").operator("g").connect("f", "g").connect("g", "f")


def manual_ports() -> Adl:
    """One source into both ports of one operator."""
    adl = Adl().operator("a", 0, 2).operator("z", 2, 0)
    return adl.connect("a", "z").connect("a", "z", 1, 1)


@pytest.mark.parametrize(
    ("adl", "job", "fusion", "expected"),
    [
        # a source has one thread; where a scheduler may run a port, there are two
        (Adl().chain("a", "b"), None, ONE, {"a": YES, "b": NO}),
        (Adl().chain("a", "b"), Threading("automatic"), ONE, {"a": YES, "b": NO}),
        (Adl().chain("a", "b", "c"), Threading("manual"), ONE, {"a": YES, "b": YES, "c": YES}),
        # a dynamic operator's port is run by the scheduler alone
        (Adl().chain("a", "b", "c"), Threading("dynamic"), ONE, {"a": YES, "b": YES, "c": YES}),
        # behind a queue there is its thread
        (Adl().chain("a", "b", "c"), Threading("dedicated"), ONE, {"a": YES, "b": YES, "c": YES}),
        # a PE input port has a thread of its own
        (Adl().chain("a", "b"), Threading("manual"), LEGACY, {"a": YES, "b": YES}),
        (Adl().chain("a", "b"), None, LEGACY, {"a": YES, "b": NO}),
        # two threads meet
        (joined(), Threading("manual"), ONE, {"a": YES, "b": YES, "z": NO}),
        (joined(), Threading("dedicated"), ONE, {"a": YES, "b": YES, "z": NO}),
        # several ports are fine for one thread if the model is manual
        (manual_ports(), Threading("manual"), ONE, {"a": YES, "z": YES}),
        (manual_ports(), Threading("dynamic"), ONE, {"a": YES, "z": NO}),
        # what is declared not to submit from one thread does not, nor what it feeds
        (
            many(Adl().chain("a", "b", "c"), "b"),
            Threading("manual"),
            ONE,
            {"a": YES, "b": ("true", "false"), "c": NO},
        ),
        # a queue hides what comes before it
        (
            many(Adl().chain("a", "b", "c"), "a"),
            Threading("dedicated"),
            ONE,
            {"a": ("true", "false"), "b": YES, "c": YES},
        ),
        # in a circle the same thread comes around
        (cycle(), Threading("manual"), ONE, dict.fromkeys("afgz", YES)),
        (cycle(), Threading("dedicated"), ONE, dict.fromkeys("afgz", YES)),
    ],
)
def test_one_thread_is_reported_only_where_it_is_certain(
    adl: Adl, job: Threading | None, fusion: Fusion, expected: dict[str, tuple[str, str]]
) -> None:
    assert flags(planned(adl, fusion, job)) == expected


@pytest.mark.parametrize(
    ("adl", "expected"),
    [
        (Adl().chain("a", "b"), "true"),
        (many(Adl().chain("a", "b"), "a"), "false"),
        (Adl().chain("a", "b").operator("c", 0, 1).connect("c", "b"), "false"),
    ],
)
def test_a_queue_says_whether_one_thread_fills_it(adl: Adl, expected: str) -> None:
    found = queues(planned(adl, threading=Threading("dedicated")))
    assert found["b"] == ("true", expected)


@pytest.mark.parametrize(
    ("adl", "job", "expected"),
    [
        (Adl().chain("a", "b"), None, "true"),
        (many(Adl().chain("a", "b"), "a"), None, "false"),
        (many(Adl().chain("a", "b"), "a"), Threading("manual"), "false"),
    ],
)
def test_a_pe_output_port_says_whether_one_thread_submits_to_it(
    adl: Adl, job: Threading | None, expected: str
) -> None:
    text = planned(adl, LEGACY, job).aadls[0]
    assert f'singleThreadedOnOutput="{expected}"' in text


def test_an_import_is_a_thread_of_its_own() -> None:
    """As every PE input port is: with one from inside there are two."""
    adl = Adl().operator("a", 0, 1).operator("z", 1, 0).connect("a", "z")
    adl.pseudo = [import_of("I", 5, 1, '<nameBasedImport applicationName="A" streamName="s"/>')]
    assert flags(planned(adl, threading=Threading("manual")))["z"] == NO


# --------------------------------------------------------------------------- the model of the job


def inputs_of(**fields: object) -> PlanInputs:
    spec = JobSpec.model_validate({"bundle": {"name": "x"}, "fusion": {"legacy": True}, **fields})
    return first_inputs(spec, job_name="job", job_id=7, generation=0, cluster=Cluster())


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, None),
        ({}, None),
        ({"automatic": False, "manual": False}, None),
        ({"automatic": True}, Threading("automatic")),
        ({"dedicated": True, "manual": False}, Threading("dedicated")),
        ({"manual": True}, Threading("manual")),
        ({"dynamic": {}}, Threading("dynamic", None, False)),
        ({"dynamic": {"elastic": True, "threadCount": 3}}, Threading("dynamic", 3, True)),
    ],
)
def test_the_spec_asks_for_at_most_one_model(
    asked: dict[str, object] | None, expected: Threading | None
) -> None:
    assert inputs_of(threadingModel=asked).threading == expected


@pytest.mark.parametrize("asked", [None, {"dynamic": {"threadCount": 3}}, {"manual": True}])
def test_a_resize_keeps_the_model_that_was_submitted(asked: dict[str, object] | None) -> None:
    """Also when the inputs are read back from where they are stored."""
    inputs = inputs_of(threadingModel=asked)
    assert PlanInputs.from_json(inputs.to_json()) == inputs
    application = Adl().chain("a", "f", "z").region("f", 2).application()
    result = plan(request(inputs, application=application, bundle_digest="d", previous=None))
    again = resized(PlanInputs.from_json(inputs.to_json()), result.record, {"f": 3})
    wider = plan(request(again, application=application, bundle_digest="d", previous=result.record))
    model = models(result).get("f[0]")
    assert models(wider).get("f[2]") == model
    assert (model is None) == (asked is None)


def test_inputs_of_a_release_that_knew_no_model_are_read() -> None:
    document = inputs_of().to_json()
    del document["threading"]
    assert PlanInputs.from_json(document) == inputs_of()
