"""Which causes of a failed submission can pass without an edit of the Job: it is tried again.

What only an edit of the Job, another bundle or a setting changes is absent on purpose.
"""

from __future__ import annotations

from typing import Final

from contracts.reasons import UNPLACEABLE, Reason

CAN_PASS: Final = UNPLACEABLE | {
    Reason.BUNDLE_MISSING,  # somebody puts it there
    Reason.BUNDLE_FORBIDDEN,  # a Secret is corrected, or created
    Reason.BUNDLE_UNREADABLE,
    Reason.BUNDLE_UNTRUSTED,  # a server gets another certificate, a ConfigMap another root
    Reason.CHECKPOINT_STORE_INVALID,  # redis servers come and go
    Reason.JOB_IDS_USED_UP,
    Reason.NAME_TAKEN,  # somebody deletes the other object
    Reason.PLANNING_FAILED,
    Reason.POD_REFUSED,  # a quota has room again
    Reason.SUBMISSION_TIMED_OUT,
    Reason.WRITE_FAILED,
}
