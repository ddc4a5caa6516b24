"""The image of millrace's runtime is known by its repository, in whatever registry."""

from __future__ import annotations

from contracts.runtime_image import image_of_release, is_our_runtime


def test_the_image_of_a_release_has_its_version_as_tag() -> None:
    assert image_of_release("1.2.0") == "millrace/runtime:1.2.0"
    assert image_of_release("") == "millrace/runtime"
    assert is_our_runtime(image_of_release("1.2.0"))
