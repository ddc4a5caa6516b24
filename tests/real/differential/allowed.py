"""Where the sandbox may differ from kube-apiserver, and why. docs/limits.md says the same in prose.

An entry names the exchange and the reason. A test fails when an exchange of this list shows no
difference any more: then its entry has to go.
"""

from __future__ import annotations

from collections.abc import Mapping

ALLOWED: Mapping[str, str] = {}
