"""Words that name files of a container by absolute paths find them below its root."""

from __future__ import annotations

import pytest

from sandbox.containers.local_paths import localized


@pytest.mark.parametrize(
    ("word", "local"),
    [
        ("/tmp/live", "/R/tmp/live"),
        ("/tmp", "/R/tmp"),
        ("cat /tmp/live>/tmp/x", "cat /R/tmp/live>/R/tmp/x"),
        ("--file=/data/a", "--file=/R/data/a"),
        ("test -e '/data/in/a' && cat \"/data/b\"", "test -e '/R/data/in/a' && cat \"/R/data/b\""),
        ("/tmpfile", "/tmpfile"),
        ("/data.old/x", "/data.old/x"),
        ("$MILLRACE_ROOT/data", "$MILLRACE_ROOT/data"),
        ("/usr/bin/data", "/usr/bin/data"),
        ("http://host/data", "http://host/data"),
        ("/bin/cat", "/bin/cat"),
    ],
)
def test_only_whole_paths_below_a_place_of_the_container_are_led_below_its_root(
    word: str, local: str
) -> None:
    assert localized([word], ["/data", "/tmp"], "/R") == (local,)


def test_without_places_words_stay() -> None:
    assert localized(["cat", "/tmp"], ["/"], "/R") == ("cat", "/tmp")
