"""The example application: valid where the real schema is at hand, and consistent in itself."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from lxml import etree

from contracts.resources import JobSpec, ignored_fields
from tests.places import ROOT, corpus

EXAMPLE = ROOT / "examples" / "wordcount"
ADL = EXAMPLE / "wordcount.WordCount.adl"
NAMES = {"a": "http://www.ibm.com/xmlns/prod/streams/application/v4200"}


@pytest.fixture
def adl() -> etree._ElementTree:
    return etree.parse(ADL)


def found(adl: etree._ElementTree, path: str) -> list[Any]:
    result = adl.xpath(path, namespaces=NAMES)
    assert isinstance(result, list)
    return result


@pytest.mark.corpus
def test_the_adl_is_valid_under_the_schema_of_ibm_streams(adl: etree._ElementTree) -> None:
    schema = etree.XMLSchema(etree.parse(corpus("schema/SAM/v4200/adlModel.xsd")))
    assert schema.validate(adl), schema.error_log


def test_every_connection_is_written_at_both_of_its_ends(adl: etree._ElementTree) -> None:
    def ends(ports: str) -> set[tuple[str, str]]:
        return {
            (operator.get("index"), connection.get("operIndex"))
            for operator in found(adl, "//a:primitiveOperInstance")
            for connection in operator.xpath(f"a:{ports}/a:port//a:connection", namespaces=NAMES)
        }

    assert ends("outputPorts") == {(source, sink) for sink, source in ends("inputPorts")}


def test_one_region_has_three_channels_unless_the_job_says_otherwise(
    adl: etree._ElementTree,
) -> None:
    (region,) = found(adl, "//a:parallelRegion/@name")
    (default,) = found(adl, "//a:submissionTimeValue[@name='width']/@defaultValue")
    assert (region, default) == ("Counted", '"3"')


def test_the_job_runs_the_bundle_of_this_application_and_uses_only_what_is_supported(
    adl: etree._ElementTree,
) -> None:
    manifest = yaml.safe_load((EXAMPLE / "job.yaml").read_text())
    job = JobSpec.model_validate(manifest["spec"])
    (bundle,) = found(adl, "//a:splApplication/@bundle")
    assert bundle == f"./{job.bundle.name}"
    assert ignored_fields(manifest["spec"]) == ()
