"""Translates Python's exceptions in compiled programs into errors of the language, located by the traceback.

Nothing is tracked while a program runs. The code objects hold the place of every instruction (PEP 657), and Python's own
messages name the types of the operands that an operation refused.
"""

from __future__ import annotations

from itertools import pairwise

from language.errors import FILE_MARK, MOST_CALLS, InternalError, RuntimeFault
from language.registry import Family
from language.runtime.calls import (
    called_as,
    cannot_call,
    constructor_name,
    is_constructor,
    missing_argument,
    source_name,
    too_few_for_builtin,
    too_many,
    too_many_for_builtin,
)
from language.runtime.intrinsics import undefined_fault
from language.values import MissingExport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType
    from typing import Any

    from language.errors import Call, LimitExceeded

_PYTHON_TYPES = {
    "int": "number",
    "float": "number",
    "complex": "complex",
    "Array": "array",
    "Dec": "decimal",
    "Date": "date",
    "DateTime": "datetime",
    "Duration": "duration",
    "str": "text",
    "Bool": "bool",
    "NoneType": "nothing",
    "list": "list",
    "dict": "map",
    "Module": "map",
    "ResponseValue": "map",
    "ContentValue": "map",
    "ContentNode": "map",
    "bytes": "bytes",
    "function": "task",
    "method": "task",
    "Secret": "secret",
    "DatabaseConnection": "connection",
    "ToolConnection": "connection",
}
_LOOPS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
_positions: dict[CodeType, list[tuple[int | None, int | None, int | None, int | None]]] = {}


def translate(error: Exception) -> RuntimeFault:
    """The language's error for any exception that left a program. Raises ``InternalError`` for a fault of the runtime
    itself.
    """
    if isinstance(error, RuntimeFault):
        fault = error
    elif isinstance(error, RecursionError):
        fault = RuntimeFault("maximum recursion depth exceeded", kind="resources", code="E0902")
    elif isinstance(error, MemoryError):
        fault = RuntimeFault("out of memory", kind="resources")
    else:
        found = _translated(error)
        if found is None:
            raise InternalError(f"{type(error).__name__}: {error}") from error
        fault = found
    return fault


def located(error: Exception) -> RuntimeFault:
    """As :func:`translate`, with the position, the calls that led there, and a suggestion for a misspelt name."""
    fault = translate(error)
    frames = _in_program(error.__traceback__)
    if fault.code == "E0902" and len(frames) > 1:
        # With counted steps, the depth is checked after the task was entered. The position is that of its call, as without
        # counting.
        code, instruction = frames[-1][0].f_code, frames[-1][1]
        if _place(code, instruction)[0] <= code.co_firstlineno:
            frames.pop()
    locate(fault, frames)
    if fault.code == "E0303" or (fault.code == "E0301" and not fault.help):
        fault.help = _form_of_the_builtin(error.__traceback__) or fault.help
    if fault.sought and not fault.help:
        from language.runtime.suggestions import suggest

        suggest(fault, frames)
    return fault


def _form_of_the_builtin(traceback: TracebackType | None) -> str:
    """How the builtin is called that the program called last; empty where the error arose in the program itself."""
    inside: FrameType | None = None
    while traceback is not None:
        frame = traceback.tb_frame
        if FILE_MARK in frame.f_globals:
            inside = None
        elif inside is None:
            inside = frame
        traceback = traceback.tb_next
    if inside is None:
        return ""
    family = inside.f_globals.get("family")
    builtin = family.builtins.get(inside.f_code.co_name) if isinstance(family, Family) else None
    if builtin is None or getattr(builtin.function, "__code__", None) is not inside.f_code:
        return ""
    return called_as(builtin.signature)


def locate_limit(limit: LimitExceeded, traceback: TracebackType | None) -> None:
    """Fills in the position of the program when it exceeded a limit, if the traceback contains it and it is not known yet."""
    began = None if limit.line else _last_in_program(traceback)
    if began is not None:
        frame, instruction = began
        limit.line, limit.column, _ = _place(frame.f_code, instruction)
        limit.file = frame.f_globals[FILE_MARK]


def locate(fault: RuntimeFault, frames: list[tuple[FrameType, int]]) -> None:
    """Fills in the position and the calls of an error that was raised through these frames, unless they are known."""
    if not frames:
        return
    if not fault.line:
        frame, instruction = frames[-1]
        fault.line, fault.column, _ = _place(frame.f_code, instruction)
        fault.file = frame.f_globals[FILE_MARK]
    if len(frames) > 1 and not fault.calls:
        # Loops that the compiler makes from callbacks have their own frames, but are not calls of the program.
        called = [(frame, caller) for caller, (frame, _) in pairwise(frames) if frame.f_code.co_name not in _LOOPS]
        fault.calls = tuple([_called(frame, *caller) for frame, caller in called[: -1 - MOST_CALLS : -1]])
        fault.more_calls = len(called) - len(fault.calls)


def _called(frame: FrameType, caller: FrameType, instruction: int) -> Call:
    """The call of a frame's task at the instruction of its caller."""
    name = frame.f_code.co_name
    if is_constructor(name):
        name = constructor_name(name)
    elif name == "<lambda>":
        name = "a lambda"
    elif name == "main":
        name = "the module"
    line, column, _ = _place(caller.f_code, instruction)
    return source_name(name) or "a lambda", caller.f_globals[FILE_MARK], line, column


def _in_program(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The frames of programs in the traceback, the outermost first, each with its current instruction."""
    found = []
    while traceback is not None:
        if FILE_MARK in traceback.tb_frame.f_globals:
            found.append((traceback.tb_frame, traceback.tb_lasti))
        traceback = traceback.tb_next
    return found


def _last_in_program(traceback: TracebackType | None) -> tuple[FrameType, int] | None:
    """The innermost frame of a program in the traceback, and its current instruction."""
    found: tuple[FrameType, int] | None = None
    while traceback is not None:
        if FILE_MARK in traceback.tb_frame.f_globals:
            found = traceback.tb_frame, traceback.tb_lasti
        traceback = traceback.tb_next
    return found


def _place(code: CodeType, instruction: int) -> tuple[int, int, int]:
    """Line, column and width of an instruction, given by its byte offset."""
    positions = _positions.get(code)
    if positions is None:
        if len(_positions) > 256:
            _positions.clear()
        positions = _positions[code] = list(code.co_positions())
    line, _, column, end = positions[instruction // 2]
    return line or 0, column or 0, (end or 0) - (column or 0)


def _innermost(traceback: TracebackType | None) -> tuple[FrameType, int] | None:
    """Frame and instruction where the exception was raised, if that is in a program."""
    if traceback is None:
        return None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    if FILE_MARK not in traceback.tb_frame.f_globals:
        return None
    return traceback.tb_frame, traceback.tb_lasti


def _translated(error: Exception) -> RuntimeFault | None:
    message = str(error)
    if isinstance(error, TypeError):
        began = _last_in_program(error.__traceback__)
        call = _call_error(message, "" if began is None else began[0].f_globals[FILE_MARK])
        if call is not None:
            return call
    if isinstance(error, MissingExport):
        return _missing_export(error)
    began = _innermost(error.__traceback__)
    if began is None:
        return None
    if isinstance(error, KeyError):
        return _missing_key(error, began)
    if isinstance(error, NameError):
        return undefined_fault(source_name(message.split("'")[1]))
    if isinstance(error, ZeroDivisionError):
        text = "Modulo by zero" if "modulo" in message else "Division by zero"
        return RuntimeFault(text, kind="arithmetic", code="E0405")
    if isinstance(error, TypeError):
        return _type_error(message, began)
    return None


def _language_type(python_type: str) -> str:
    return _PYTHON_TYPES.get(python_type, python_type)


def _call_error(message: str, file: str) -> RuntimeFault | None:
    """The error of a call with wrong arguments, or of a call of a value that cannot be called."""
    if message.endswith("object is not callable"):
        return cannot_call(_language_type(message.split(chr(39))[1]))
    if "() missing " in message and " required positional argument" in message:
        return _too_few(message, file)
    if "() takes " in message and " positional argument" in message and " given" in message:
        head, _, tail = message.partition("() takes ")
        got = int(tail.rsplit(" but ", 1)[1].split()[0])
        words = tail.split()
        most = int(words[3]) if words[0] == "from" else int(words[0])
        return _wrong_count(head, most, got, file)
    return None


def _callee(head: str) -> str:
    """The code name in a qualified name, ``main.<locals>.area`` or ``builtin* print``."""
    return head.rpartition("<locals>.")[2] if "<locals>." in head else head


def _wrong_count(head: str, most: int, got: int, file: str) -> RuntimeFault:
    name = _callee(head)
    if name.startswith("builtin"):
        kind, _, builtin = name.partition(" ")
        bound = 1 if kind.endswith("*") else 0
        return too_many_for_builtin(builtin, most - bound, got - bound)
    if is_constructor(name):
        return _constructor_count(name, most, got, file)
    return _sought(too_many(name, most, got), head)


def _too_few(message: str, file: str) -> RuntimeFault | None:
    head, _, tail = message.partition("() missing ")
    count = int(tail.split()[0])
    name = _callee(head)
    if name.startswith("builtin"):
        from language import library

        builtin = library().all_builtins()[name.partition(" ")[2]]
        return too_few_for_builtin(builtin, builtin.required - count)
    if is_constructor(name):
        return _constructor_count(name, None, count, file)
    return _sought(missing_argument(name, tail.split("'")[1]), head)


def _sought(fault: RuntimeFault, qualified: str) -> RuntimeFault:
    """Adds to the error of a call the qualified name of the called task, from which its help is made."""
    fault.sought = qualified
    return fault


def _constructor_count(code_name: str, most: int | None, count: int, caller: str) -> RuntimeFault:
    """A constructor's own message, located at the ``type`` or ``enum`` statement."""
    shown = constructor_name(code_name)
    place, _, number = code_name[code_name.index("@") + 1 :].partition("#")
    fields = int(number)
    got = count if most is not None else fields - count
    if code_name.startswith("type:"):
        text = f"Type {shown} expects {fields} fields, got {got}"
    else:
        text = f"variant {shown} expects {fields} fields, got {got}"
    fault = RuntimeFault(text, kind="type", code="E0302")
    line, _, column = place.partition(":")
    fault.line, fault.column = int(line), int(column)
    fault.file = _constructor_file(code_name, caller)
    return fault


def _constructor_file(code_name: str, caller: str) -> str:
    """The file that defines a constructor: the caller's own, else another loaded one."""
    from language.code import loaded_codes

    for code in sorted(loaded_codes(), key=lambda code: code.filename != caller):
        if code.constructor(code_name) is not None:
            return code.filename
    return caller


def _missing_export(error: MissingExport) -> RuntimeFault:
    began = _last_in_program(error.__traceback__)
    mark = 1 if began is None else _place(began[0].f_code, began[1])[2]
    if mark != 1 and error.module.hides(error.name):
        return hidden_export(error.name)
    return RuntimeFault(f"Map has no key '{error.name}'", kind="key")


def hidden_export(name: str) -> RuntimeFault:
    return RuntimeFault(
        f"the module has no export '{name}' — it is defined inside the module but not exported: write `export task {name}` "
        f"or `export let {name} be …` there",
        kind="name",
        code="E0204",
    )


def _missing_key(error: KeyError, began: tuple[FrameType, int]) -> RuntimeFault:
    from language.values.display import display
    from language.values.operators import missing_key

    key = error.args[0]
    shown = key if type(key) is str else display(key)
    return missing_key(shown)


_NOT_INDEXED = ("object is not subscriptable", "indices must be integers")


def _type_error(message: str, began: tuple[FrameType, int]) -> RuntimeFault | None:
    from language.hints import operation_help

    quoted = message.split("'")
    if message.startswith("unsupported operand type(s) for "):
        operator = message[len("unsupported operand type(s) for ") :].split(":")[0]
        return RuntimeFault(
            f"Unsupported operation: {_language_type(quoted[1])} {operator} {_language_type(quoted[3])}",
            kind="type",
            code="E0304",
            help=operation_help(_language_type(quoted[1]), operator, _language_type(quoted[3])),
        )
    if message.startswith("bad operand type for unary -"):
        return RuntimeFault(f"Cannot negate {_language_type(quoted[1])}", kind="type", code="E0304")
    if "not supported between instances of" in message:
        return RuntimeFault(
            f"Unsupported operation: {_language_type(quoted[3])} {quoted[1]} {_language_type(quoted[5])}",
            kind="type",
            code="E0304",
            help=operation_help(_language_type(quoted[3]), quoted[1], _language_type(quoted[5])),
        )
    if message.endswith("has no len()"):
        return RuntimeFault(f"Cannot get length of {_language_type(quoted[1])}", kind="type")
    if any(text in message for text in _NOT_INDEXED):
        return _not_a_map(message, began)
    if message.startswith("a bytes-like object is required"):
        kind = _language_type(quoted[1])
        return RuntimeFault(f"`in` on bytes looks for bytes or an integer 0..255, got {kind}", kind="type")
    if message.startswith("argument of type"):
        kind = _language_type(quoted[1])
        return RuntimeFault(f"`in` needs a list, map, text or bytes on its right, got {kind}", kind="type")
    return None


def _not_a_map(message: str, began: tuple[FrameType, int]) -> RuntimeFault | None:
    """The error of reading a literal key of a value that is not a map. The key is the constant that was loaded just before."""
    import dis

    from language.values.operators import no_fields

    head = message.split()[0]
    kind = (
        _language_type(message.split("'")[1])
        if "subscriptable" in message
        else {"string": "text", "byte": "bytes"}.get(head, head)
    )
    frame, instruction = began
    _, _, mark = _place(frame.f_code, instruction)
    if mark == 1:
        if kind in ("list", "text", "bytes"):
            return RuntimeFault("an index must be an integer, got text", kind="type", code="E0402")
        return RuntimeFault(f"Cannot index into {kind}", kind="type", code="E0305")
    key: Any = None
    for step in dis.get_instructions(frame.f_code):
        if step.offset >= instruction:
            break
        if step.opname == "LOAD_CONST":
            key = step.argval
    return no_fields(kind, key)
