"""Planted bugs in readers of the log: gaps, recordings, what concerns a job, redaction."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_MERGING = ("tests/unit/history/test_merging.py",)
_RECORDINGS = ("tests/unit/history/test_recordings.py",)
_CONCERNING = ("tests/unit/history/test_concerning.py",)
_SIMULATED = ("tests/simulation/test_recordings.py",)
_REDACTING = ("tests/unit/history/test_redacting.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "records that the log lost are no gap of a history",
        "history/merging.py",
        "entries_in",
        "if record.offset > expected and range_.is_whole:",
        "if record.offset < expected and range_.is_whole:",
        _MERGING,
    ),
    Mutant(
        "a value that our writer would write otherwise is recorded as JSON",
        "history/recordings.py",
        "_is_plain_json",
        "return orjson.dumps(orjson.loads(value)) == value",
        "return bool(orjson.dumps(orjson.loads(value)))",
        _RECORDINGS,
    ),
    Mutant(
        "a frame is unpacked however long its text is",
        "history/unpacking.py",
        "unpacked",
        "if not 0 <= size <= FRAME_TEXT_BYTES_MAX:",
        "if size < 0:",
        _RECORDINGS,
    ),
    Mutant(
        "a recording that is cut off behind a frame is read",
        "history/recordings.py",
        "RecordingSource.__init__",
        "if size != wanted:",
        "if size > wanted:",
        _RECORDINGS,
    ),
    Mutant(
        "facts of a recording begin behind those that an instance read",
        "history/recording.py",
        "_facts_range",
        "first = max(bounds.first, min([first, *read_from]))",
        "first = max(bounds.first, first)",
        _SIMULATED,
    ),
    Mutant(
        "facts that an instance read and the log lost are no gap of a recording",
        "history/recording.py",
        "_facts_range",
        "if lost < bounds.first:",
        "if lost > bounds.first:",
        _SIMULATED,
    ),
    Mutant(
        "a resync publishes everything again to people",
        "history/concerning.py",
        "Concerning._take_fact",
        "if not is_known or self._everything:",
        "if fact.uid:",
        _CONCERNING,
    ),
    Mutant(
        "a node that a decision names as its cause is not shown",
        "history/concerning.py",
        "Concerning._take_fact",
        'if fact.kind == "Node":',
        'if fact.kind == "HostPool":',
        _CONCERNING,
    ),
    Mutant(
        "the words of a submission-time value that are ours stay in a redacted recording",
        "history/redacting.py",
        "Redactor._scalar",
        "if is_whole and text:",
        'if is_whole and text == "":',
        _REDACTING,
    ),
    Mutant(
        "digests of effects stay in a redacted recording",
        "history/redacting.py",
        "Redactor._mapping",
        "elif field in _DIGESTED and key in _DIGESTS and isinstance(each, str):",
        "elif field in ('decided', 'objects') and key in _DIGESTS:",
        _REDACTING,
    ),
)
