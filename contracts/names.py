"""What Kubernetes takes as a key or a value of a label, as a key of an annotation, as a name.

The API server says so only when the pod is made; a job that is planned already waits for it then.
"""

from __future__ import annotations

import re
from typing import Final

WORD_CHARS_MAX: Final = 63
DOMAIN_CHARS_MAX: Final = 253
WORD_RULE: Final = (
    f"at most {WORD_CHARS_MAX} letters, digits, '-', '_' and '.', "
    "with a letter or digit at each end"
)
NAME_RULE: Final = (
    f"at most {WORD_CHARS_MAX} small letters, digits and '-', with a letter or digit at each end"
)
DOMAIN_RULE: Final = (
    f"at most {DOMAIN_CHARS_MAX} small letters, digits, '-' and '.', "
    "with a letter or digit at each end and beside each '.'"
)
KEY_RULE: Final = f"a key is {WORD_RULE}, and may have a domain and '/' before it"

_WORD: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def is_key(text: str) -> bool:
    """Whether a label or an annotation may have this key."""
    domain, slash, word = text.rpartition("/")
    if slash and not is_domain(domain):
        return False
    return is_word(word)


def is_label_value(text: str) -> bool:
    """Whether a label may have this value; none at all is one."""
    return not text or is_word(text)


def is_name(text: str) -> bool:
    """Whether a container or a volume may have this name (a label of the DNS)."""
    return len(text) <= WORD_CHARS_MAX and _NAME.fullmatch(text) is not None


def is_word(text: str, chars_max: int = WORD_CHARS_MAX) -> bool:
    """Whether it is letters, digits, `-`, `_` and `.`, with a letter or digit at each end."""
    return len(text) <= chars_max and _WORD.fullmatch(text) is not None


def is_domain(text: str) -> bool:
    """Whether most objects may have this name (a subdomain of the DNS), or a key this domain."""
    return len(text) <= DOMAIN_CHARS_MAX and all(map(_NAME.fullmatch, text.split(".")))
