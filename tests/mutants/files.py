"""Planted bugs in what files have: whose they are, and what is read of them."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_WRITING = "millrace/adapters/writing_files.py"
_READING = "millrace/adapters/reading_files.py"
_PATHS = "millrace/adapters/file_paths.py"
_LOCAL = "millrace/runtime/local.py"
_SINKS = ("tests/unit/millrace/test_files_of_sinks.py",)
_READ = ("tests/unit/millrace/test_files_that_are_read.py",)
_MEET = ("tests/unit/millrace/test_files_that_meet.py",)
_HOLDING = ("tests/unit/millrace/test_functions_that_hold_back.py",)

MUTANTS = (
    Mutant(
        "a file of a former job is gone on with",
        _WRITING,
        "goes_on",
        "return recorded == job",
        "return True",
        _SINKS,
    ),
    Mutant(
        "a channel that comes again replaces its file",
        _WRITING,
        "goes_on",
        "return recorded == job",
        "return launch > 1",
        (*_SINKS, "-k", "comes_again"),
    ),
    Mutant(
        "all channels of a region write one file",
        _PATHS,
        "written_path",
        "_template(path) if channels else path",
        "path",
        (*_SINKS, "-k", "file_of_its_own"),
    ),
    Mutant(
        "the channels of nested regions have the number of the inner one alone",
        "millrace/runtime/assembling.py",
        "_local",
        "operator.regions)",
        "operator.regions[-1:])",
        (*_SINKS, "-k", "nested"),
    ),
    Mutant(
        "two sinks write one file that is named in two ways",
        _PATHS,
        "_shared",
        "os.path.normpath if",
        "str if",
        ("tests/unit/millrace/test_sinks_of_one_file.py",),
    ),
    Mutant(
        "a launch that knows no job goes on with the file of a former one",
        _WRITING,
        "goes_on",
        "(not job and recorded != _BEGINS)",
        "not job",
        (*_SINKS, "-k", "knows_no_job"),
    ),
    Mutant(
        "the number of a channel has one digit where sinks are compared",
        _PATHS,
        "_steps",
        "yield here, there + 1",
        "pass",
        (*_MEET, "-k", "may_not_meet"),
    ),
    Mutant(
        "sinks of nested regions are compared by one number",
        _PATHS,
        "_path",
        "[CHANNEL] * len(operator.regions)",
        "[CHANNEL]",
        (*_MEET, "-k", "may_not_meet"),
    ),
    Mutant(
        "one file that is named by a link is written by two sinks",
        _PATHS,
        "_real",
        "os.path.realpath",
        "os.path.abspath",
        (*_MEET, "-k", "by_a_link"),
    ),
    Mutant(
        "a line is in two pieces where the buffer is full",
        _WRITING,
        "LineFile._write",
        'self._buffer += line + b"\\n"',
        'self._buffer += line; len(self._buffer) < 65_000 or self.flush(); self._buffer += b"\\n"',
        (*_SINKS, "-k", "whole_lines"),
    ),
    Mutant(
        "not a number is written as null",
        "millrace/adapters/json_text.py",
        "_not_finite",
        "if not math.isfinite(value):",
        "if False:",
        (*_SINKS, "-k", "json"),
    ),
    Mutant(
        "an encoding with a mark of its own is refused",
        "millrace/adapters/files.py",
        "_checked",
        'if name in (UTF8, "utf-8-sig"):',
        "if name == UTF8:",
        (*_READ, "-k", "where_it_is_named"),
    ),
    Mutant(
        "each channel of a source gives each line",
        _READING,
        "raw_lines",
        "takes = ONLY if CHANNEL in path else here",
        "takes = ONLY",
        (*_READ, "-k", "given_once"),
    ),
    Mutant(
        "a bad line of a file is behind the position before anybody skips it",
        _READING,
        "JsonLines.__call__",
        "number, _, end, content = line",
        "number, _, end, content = line; position.move(end, number)",
        ("tests/unit/millrace/test_adapters.py", "-k", "stays_before"),
    ),
    Mutant(
        "a sink is not flushed where its run is cancelled",
        _LOCAL,
        "_Runner._run",
        "except BaseException",
        "except Exception",
        (*_HOLDING, "-k", "cancelled or ctrl_c"),
    ),
    Mutant(
        "a function is flushed and closed twice where one behind it fails at the end",
        "millrace/runtime/operators.py",
        "Execution.let_go",
        "self.is_let_go = True",
        "pass",
        (*_HOLDING, "-k", "closed_once"),
    ),
    Mutant(
        "a line that is no tuple for a reason of its own is read again for ever",
        _READING,
        "JsonLines.__call__",
        "except Exception as problem:",
        "except ValueError as problem:",
        _READ,
    ),
    Mutant(
        "a sink cuts off a pipe, and fails",
        _WRITING,
        "LineFile._opened",
        "if self._is_no_file:",
        "if False:",
        (*_SINKS, "-k", "pipe"),
    ),
    Mutant(
        "a job has a record beside a device",
        _WRITING,
        "LineFile.__init__",
        "not self._is_no_file and",
        "",
        (*_SINKS, "-k", "pipe"),
    ),
    Mutant(
        "a full disk empties the record of a file, and the file with it",
        _WRITING,
        "LineFile._note",
        "if self._recorded != text:",
        "if True:",
        (*_SINKS, "-k", "full_disk"),
    ),
    Mutant(
        "a full disk empties the record of another job",
        _WRITING,
        "LineFile._note",
        "made.write_text(text)",
        "self._record.write_text(text)",
        (*_SINKS, "-k", "full_disk"),
    ),
)
