"""The detailed report of an error (``lang run --explain``): position, source lines, calls, variables, suggestions.

It is made from the traceback after the error, so it costs a running program nothing.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import NamedTuple

from language.errors import FILE_MARK
from language.runtime.calls import constructor_name, is_constructor, source_name
from language.values import Module
from language.values.display import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

    from language.errors import ErrorKind, LanguageError
    from language.syntax.nodes import Program

#: How many lines of source are shown before and after the line of the error.
AROUND = 3
#: The most characters that are shown of a value.
LONGEST_VALUE = 200
MOST_CALLS = 50


class _Class(NamedTuple):
    """How one kind of error is reported: the name of its category, whether a program can continue after catching it, whether
    running it again can succeed, and suggestions.
    """

    category: str
    recoverable: bool
    retry: bool
    suggestions: tuple[str, ...]


CLASSES: dict[ErrorKind, _Class] = {
    "syntax": _Class("logic", False, False, ("Look at this line and the one before it: `lang check` reads the whole file.",)),
    "name": _Class("logic", False, False, ("Check the spelling, and that `let` runs before this line.",)),
    "key": _Class(
        "data",
        True,
        False,
        ('get(m, "key", default) reads a key that may be missing.', "Compare an index with length(...) first."),
    ),
    "type": _Class(
        "type",
        False,
        False,
        ("type_of(x) says what a value is: print it before this line.", "Convert it on purpose: text(x), int(x), number(x)."),
    ),
    "value": _Class(
        "data",
        True,
        False,
        ("Print the values that reach this line.", "Check them before, or catch the error with try and recover."),
    ),
    "arithmetic": _Class(
        "data", True, False, ("Test the divisor first: when d != 0.", "Or catch the error with try and recover.")
    ),
    "capability": _Class("capability", False, False, ("Ask the person who runs the program before widening what it may do.",)),
    "file": _Class("io", True, False, ("Paths are relative to the working directory.", "file_exists(path) asks first.")),
    "database": _Class("io", True, False, ("Run the statement in the shell of the database to see it alone.",)),
    "network": _Class("io", True, True, ("Look at the status and the body of the answer.", "Try again after a pause.")),
    "timeout": _Class("io", True, True, ("Try again, or give it more time.",)),
    "unsupported": _Class(
        "unknown", False, False, ("Another build or host has it: run the program with the native `lang`, or lend the hook.",)
    ),
    "resources": _Class("logic", False, False, ("Look for a task that calls itself without end, or work on less at a time.",)),
    "assertion": _Class(
        "logic", True, False, ("What the program says of itself no longer holds: look at what changed its values.",)
    ),
    "raised": _Class("unknown", False, False, ("The program raises this itself: look at the condition before it.",)),
}


def diagnose(
    error: LanguageError,
    source: str,
    traceback: TracebackType | None,
    intent: str | None,
    checkpoint: str | None = None,
) -> dict[str, Any]:
    """Everything known about an error of the main program, with the members of the report that the manual lists.

    ``checkpoint`` is the text of the last one, if any.
    ``source`` is the text of the entry file. ``traceback`` is that of the run, or ``None`` for a program that did not begin.
    """
    frames = _frames(traceback)
    file, line, column = error.file, error.line, error.column
    if not line and frames:
        line, file = frames[-1][1], frames[-1][0].f_globals[FILE_MARK]
    entry = frames[0][0].f_globals[FILE_MARK] if frames else file
    lines = source.replace("\r\n", "\n").split("\n") if file == entry else []
    start = max(1, line - AROUND)
    category, recoverable, retry, suggestions = classify(error)
    return {
        "error_type": type(error).category.removesuffix(" error").lower(),
        "message": error.message,
        "file": file,
        "line": line,
        "column": column,
        "source_context": lines[start - 1 : line + AROUND] if line else [],
        "source_start_line": start,
        "error_category": category,
        "recoverable": recoverable,
        "retry_makes_sense": retry,
        "call_stack": [_call(frame, at) for frame, at in reversed(frames)][:MOST_CALLS],
        "variables": _variables(frames),
        "suggestions": suggestions,
        "active_intent": intent,
        "active_trace": _trace(source, entry, frames),
        "last_checkpoint": checkpoint,
    }


def report(diagnosis: dict[str, Any]) -> str:
    """The report as text for a person."""
    lines = [f"Error: {diagnosis['message']}"]
    if diagnosis["line"]:
        lines.append(
            f"  at {diagnosis['file']}:{diagnosis['line']}" + (f":{diagnosis['column']}" if diagnosis["column"] else "")
        )
    for label, key in (("intent", "active_intent"), ("trace", "active_trace"), ("checkpoint", "last_checkpoint")):
        if diagnosis[key] is not None:
            lines.append(f"  {label}: {diagnosis[key]}")
    if diagnosis["source_context"]:
        lines.append("")
        for number, text in enumerate(diagnosis["source_context"], diagnosis["source_start_line"]):
            lines.append(f"{'>' if number == diagnosis['line'] else ' '} {number:4} | {text}".rstrip())
    if diagnosis["call_stack"]:
        lines += ["", "Calls, innermost first:", *(f"  {call}" for call in diagnosis["call_stack"])]
    if diagnosis["variables"]:
        lines += ["", "Variables:", *(f"  {name} = {value}" for name, value in diagnosis["variables"].items())]
    lines += ["", "What to do:", *(f"  - {text}" for text in diagnosis["suggestions"])]
    answers = {True: "yes", False: "no"}
    recoverable, retry = answers[diagnosis["recoverable"]], answers[diagnosis["retry_makes_sense"]]
    lines += ["", f"Category: {diagnosis['error_category']}; recoverable: {recoverable}; a retry may help: {retry}"]
    return "\n".join(lines)


def classify(error: LanguageError) -> tuple[str, bool, bool, list[str]]:
    """Category, recoverable, whether a retry can succeed, and suggestions. For an undeclared capability they include the line
    that declares it.
    """
    found = CLASSES[error.kind]
    return found.category, found.recoverable, found.retry, [*([error.cure] if error.cure else []), *found.suggestions]


def _frames(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The frames of programs with the current line of each, outermost first."""
    found = []
    while traceback is not None:
        if FILE_MARK in traceback.tb_frame.f_globals:
            found.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def is_top_level(frame: FrameType) -> bool:
    """Whether a frame is the top level of a file."""
    return frame.f_code.co_name == "main" and frame.f_code.co_varnames[:1] == ("·unit",)


def _call(frame: FrameType, line: int) -> str:
    code = frame.f_code
    name = code.co_name
    place = f"{frame.f_globals[FILE_MARK]}:{line}"
    if is_top_level(frame):
        return f"top level at {place}"
    if is_constructor(name):
        return f"{constructor_name(name)} at {place}"
    params = [p for p in code.co_varnames[: code.co_argcount] if not p.startswith("·")]
    given = [f"{source_name(p)} = {shown_value(frame.f_locals[p])}" for p in params if p in frame.f_locals]
    shown = "test block" if name.startswith("·test") else source_name(name) or "default"
    return f"{shown}({', '.join(given)}) at {place}"


def _variables(frames: list[tuple[FrameType, int]]) -> dict[str, str]:
    """The variables of the innermost call, then those of the program's top level."""
    found: dict[str, str] = {}
    for frame in [frames[-1][0], frames[0][0]] if frames else []:
        for python, value in frame.f_locals.items():
            name = source_name(python)
            if not name or name in found or python.endswith("·b") or python.startswith("·"):
                continue
            if type(value) in (FunctionType, MethodType, Module) or not is_value(value):
                continue
            found[name] = shown_value(value)
    return found


_VALUE_MODULES = frozenset(
    ("builtins", *(f"language.values{name}" for name in ("", ".decimals", ".dates", ".datetimes", ".durations")))
)


def is_value(value: Any) -> bool:
    """Whether a value is data and not a task, a module or a part of the runtime."""
    return type(value).__module__ in _VALUE_MODULES and type(value) is not bool


def shown_value(value: Any) -> str:
    """A value as the language shows it: secrets by their names, long values cut. Never raises."""
    from language.errors import RuntimeFault
    from language.values.display import display

    try:
        value = _beginning(value, [LONGEST_VALUE])
        text = quote(value) if type(value) is str else display(value)
    except (RuntimeFault, RecursionError):
        text = "(nested too deeply to show)"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _beginning(value: Any, left: list[int]) -> Any:
    """A copy of the beginning of a value, enough for its first ``LONGEST_VALUE`` characters. ``left[0]`` is the number of
    values that may still be copied.
    """
    if type(value) is str:
        return value[: LONGEST_VALUE + 1]
    if type(value) is list:
        items = []
        for item in value:
            if left[0] < 0:
                break
            left[0] -= 1
            items.append(_beginning(item, left))
        return items
    if type(value) is dict:
        entries = {}
        for name, item in value.items():
            if left[0] < 0:
                break
            left[0] -= 1
            entries[name] = _beginning(item, left)
        return entries
    return value


def _trace(source: str, entry: str, frames: list[tuple[FrameType, int]]) -> str | None:
    """The label of the innermost ``trace`` block of the entry file that contains the error or a call that led to it."""
    from language.errors import LanguageError
    from language.syntax.parser import parse

    if "trace" not in source and "measure" not in source:
        return None
    try:
        program = parse(source.replace("\r\n", "\n"), entry)
    except LanguageError:
        return None
    for frame, line in reversed(frames):
        if frame.f_globals[FILE_MARK] == entry:
            label = _around(program, line)
            if label is not None:
                return label
    return None


def _around(program: Program, line: int) -> str | None:
    from language.syntax import nodes
    from language.syntax.walk import descend

    found = None
    for node in descend(program.statements):
        if type(node) is nodes.Trace and node.span[0] <= line <= node.span[2]:
            found = node.label
    return found
