"""`millrace install|upgrade|uninstall`: the chart without Helm, by rendered manifests."""

from typing import Final

RELEASE: Final = "millrace"
"""The name of an installation, and its namespace unless people name another."""
