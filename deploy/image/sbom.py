"""Makes the list of what is in an image (an SBOM in CycloneDX's JSON) of its inventory.

Equal inventories make equal bytes: the serial number is made of the content, and there is no time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from services.chassis.process.release import DISTRIBUTION

RUNTIME: Final = "millrace-streams"
"""The distribution that an image of a PE is made of."""
_OF_US: Final = uuid.UUID("6f6d2b0e-4d07-5a3c-8d5f-4a53f1f3b6f0")
_LICENSES: Final = LicenseFactory()


def sbom(inventory: Mapping[str, Any], *, image: str, revision: str) -> str:
    """The document; `image` is its name and target, `revision` the commit that it was built of."""
    distributions = {each["name"]: each for each in inventory["distributions"]}
    own = distributions.pop(DISTRIBUTION, None) or distributions.pop(RUNTIME)
    bom = Bom(components=_components(distributions.values(), inventory))
    bom.metadata.component = Component(
        name=image, version=own["version"], type=ComponentType.CONTAINER, bom_ref=image
    )
    content = repr((image, revision, sorted(str(each.purl) for each in bom.components)))
    bom.serial_number = uuid.uuid5(_OF_US, content)
    bom.metadata.timestamp = None  # type: ignore[assignment]  # optional in the format
    bom.register_dependency(bom.metadata.component, bom.components)
    return str(JsonV1Dot6(bom).output_as_string(indent=2)) + "\n"


def _components(
    distributions: Iterable[Mapping[str, str]], inventory: Mapping[str, Any]
) -> list[Component]:
    python = Component(
        name="python",
        version=inventory["python"],
        type=ComponentType.APPLICATION,
        purl=PackageURL("generic", None, "python", inventory["python"]),
        bom_ref="python",
    )
    return [python, *map(_wheel, distributions), *map(_package, inventory["packages"])]


def _wheel(of: Mapping[str, str]) -> Component:
    purl = PackageURL("pypi", None, canonicalize_name(of["name"]), of["version"])
    licenses = [_LICENSES.make_from_string(of["license"])] if of["license"] else []
    return Component(
        name=of["name"],
        version=of["version"],
        type=ComponentType.LIBRARY,
        purl=purl,
        licenses=licenses,
        bom_ref=str(purl),
    )


def _package(of: Mapping[str, str]) -> Component:
    purl = PackageURL("deb", "debian", of["name"], of["version"], {"arch": of["arch"]})
    return Component(
        name=of["name"],
        version=of["version"],
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=str(purl),
    )
