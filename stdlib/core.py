"""The core: output, conversions, containers, assertions."""

from __future__ import annotations

from language import values
from language.errors import ExitProgram, RuntimeFault
from language.registry import MISSING, Family
from language.values import FALSE, TRUE, as_map, type_of
from language.values.allowance import PLACE, refuse_beyond, refuse_together
from language.values.display import display, key_text, raw_text
from language.values.operators import contains as contains_exactly
from language.values.operators import is_decimal, same, to_index, truthy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("core", "Core")
# Written out: importing `math`, which is a shared library on many systems, would slow every program's start.
family.constants.update({"pi": 3.141592653589793, "tau": 6.283185307179586, "e": 2.718281828459045})
family.constants.update({"inf": float("inf"), "nan": float("nan")})


# --- output, input, the end -------------------------------------------------------------------------------------------------


@family.builtin("print(v...)", context=True, keeps="nothing")
def print_(ctx: Context, *v: Any) -> None:
    """Writes the display forms of the values, joined by one space, as one line of output.

    `print("n", 1, [true])` writes `n 1 [true]`; `print()` an empty line.
    """
    if len(v) == 1:
        ctx.write(display(v[0]))
        return
    pieces = [display(value) for value in v]
    refuse_together(pieces, sum(map(len, pieces)))
    ctx.write(" ".join(pieces))


@family.builtin("eprint(v...)", context=True, keeps="nothing")
def eprint(ctx: Context, *v: Any) -> None:
    """Like `print`, to the error stream: never part of the program's output."""
    ctx.write_error(" ".join([display(value) for value in v]))


@family.builtin("exit(code?)", context=True)
def exit_(ctx: Context, code: Any = None) -> None:
    """Ends `lang run` with that exit code, 0 to 255 (default 0).

    No `try` catches it; inside a `test` block it fails the test. Under `serve` it is an error: use `shutdown` there.
    """
    if code is None:
        code = 0
    if code.__class__ is not int:
        raise RuntimeFault(f"exit: the code must be an integer, got {type_of(code)}", kind="type")
    if not 0 <= code <= 255:
        raise RuntimeFault(f"exit: the code must be from 0 to 255, got {display(code)}")
    if ctx.mode == "serve":
        raise RuntimeFault("exit() does not end a server; call shutdown() for that")
    raise ExitProgram(code)


@family.builtin("shutdown()", context=True)
def shutdown(ctx: Context) -> None:
    """Stops the service as a signal would: it accepts no more requests, and those that are being answered may finish.

    Gives `nothing`; the program continues. Only under `serve`, and not inside `sandbox` or a tool call; `exit` ends other
    programs.
    """
    hosting = ctx.services.hosting
    if ctx.mode != "serve" or hosting is None:
        raise RuntimeFault(
            "shutdown() ends a server, and this program is not served; call exit() to end it", kind="unsupported"
        )
    if ctx.capabilities.depth:
        raise RuntimeFault("shutdown() is not for sandbox blocks and tool calls", kind="capability")
    hosting.shutdown()


@family.builtin("steps()", context=True)
def steps(ctx: Context) -> int:
    """The number of steps that this run has taken so far: statements, loop iterations and calls. It is the same in every build.

    Steps are counted only if an embedding host has set the limit `steps`; otherwise the result is 0.
    """
    return 0 if ctx.instance is None else ctx.instance.steps_used()


@family.builtin("flush()", context=True)
def flush(ctx: Context) -> None:
    """Flushes buffered output. Does nothing when output is collected."""
    ctx.host.flush()


@family.builtin("read_line(prompt?)", context=True)
def read_line(ctx: Context, prompt: Any = None) -> str | None:
    """The next line of standard input without its line end; `nothing` at the end of the input.

    A prompt is written first, without a line end. Under a ceiling it needs `stdin`, with a prompt `stdout` too.
    """
    ctx.capabilities.check_output("stdin")
    if prompt is not None:
        ctx.capabilities.check_output("stdout")
        if ctx.lines is None:
            ctx.host.write_prompt(raw_text(prompt))
    return ctx.host.read_line()


@family.builtin("args()", context=True)
def args(ctx: Context) -> list[Any]:
    """The arguments after the program's path on the command line, as a list of text."""
    return list(ctx.arguments)


# --- what a value is --------------------------------------------------------------------------------------------------------


@family.builtin("length(x)", result="int", keeps="nothing", pure=True)
def length(x: Any) -> int:
    """How many characters (Unicode scalar values) a text has, entries a list or map, bytes a bytes value.

    `length("ñ😀")` is `2`. Error: `Cannot get length of number`.
    """
    kind = x.__class__
    if kind is str or kind is list or kind is dict or kind is bytes:
        return len(x)
    entries = as_map(x)
    if entries is not None:
        return len(entries)
    if type_of(x) == "array":
        return x.length()  # type: ignore[no-any-return]
    raise RuntimeFault(f"Cannot get length of {type_of(x)}", kind="type")


@family.builtin("type_of(x)", result="str", keeps="nothing", pure=True)
def type_of_(x: Any) -> str:
    """The name of the type: `number`, `decimal`, `text`, `bytes`, `bool`, `list`, `map`, `task`, `secret`,
    `nothing`, `date`, `datetime`, `duration`, `array`.

    `type_of(1d)` is `"decimal"`, `type_of(1.5)` is `"number"`.
    """
    return type_of(x)


@family.builtin("is_integer(x)", result="bool")
def is_integer(x: Any) -> Bool:
    """Whether the value is an integer. `is_integer(1.0)` is `false`: that is a float."""
    return TRUE if x.__class__ is int else FALSE


@family.builtin("is_text(x)", result="bool", keeps="nothing")
def is_text(x: Any) -> Bool:
    """Whether the value is text."""
    return TRUE if x.__class__ is str else FALSE


@family.builtin("is_list(x)", result="bool", keeps="nothing")
def is_list(x: Any) -> Bool:
    """Whether the value is a list."""
    return TRUE if x.__class__ is list else FALSE


@family.builtin("is_map(x)", result="bool", keeps="nothing")
def is_map(x: Any) -> Bool:
    """Whether the value is a map."""
    return TRUE if values.is_map(x) else FALSE


@family.builtin("is_decimal(x)", result="bool")
def is_decimal_(x: Any) -> Bool:
    """Whether the value is a decimal."""
    return TRUE if is_decimal(x) else FALSE


@family.builtin("is_bytes(x)", result="bool")
def is_bytes(x: Any) -> Bool:
    """Whether the value is bytes."""
    return TRUE if x.__class__ is bytes else FALSE


@family.builtin("is_complex(x)")
def is_complex(x: Any) -> Bool:
    """Whether the value is a complex number."""
    return TRUE if x.__class__ is complex else FALSE


@family.builtin("is_array(x)")
def is_array(x: Any) -> Bool:
    """Whether the value is an array."""
    return TRUE if type_of(x) == "array" else FALSE


# --- conversions ------------------------------------------------------------------------------------------------------------


@family.builtin("text(x)", result="str", keeps="nothing", pure=True)
def text(x: Any) -> str:
    """The display form of a value: `text(42.0)` is `"42.0"`, `text(["a"])` is `["a"]` as text, `text(true)` is
    `"true"`.
    """
    return display(x)


@family.builtin("number(x, default?)", result="num", falls_back=True, pure=True)
def number(x: Any, default: Any = MISSING) -> Any:
    """A float from a number, a bool (1.0, 0.0) or a trimmed text in decimal or exponent form, `inf` and `nan` included.

    `number(" 1e3 ")` is `1000.0`. With `default` that value is returned where there would be an error:
    `Cannot convert x to number`, or an integer text beyond 2^53, which a float cannot hold exactly.
    """
    from stdlib.conversions import to_number

    if default is MISSING:
        return to_number(x)
    try:
        return to_number(x)
    except RuntimeFault:
        return default


@family.builtin("int(x, default?)", named=("base", "fallback"), result="int", falls_back=True, pure=True)
def int_(x: Any, default: Any = MISSING, *, base: Any = None, fallback: Any = MISSING) -> Any:
    """An exact integer from an integer, a whole float or decimal, or a trimmed text.

    The text is digits with `_` between them, after a sign and one of `0x`, `0o`, `0b` as wanted.
    `int("-0x10")` is `-16`, `int("ff", base = 16)` is `255`, `int("x", nothing)` is `nothing`. The second argument
    (or `fallback =`) is returned where there would be an error; a base is only given by name, 2 to 36.
    """
    from stdlib.conversions import to_integer, to_integer_of_base

    if base is not None and (base.__class__ is not int or not 2 <= base <= 36):
        raise RuntimeFault(f"int(): base must be an integer from 2 to 36, got {display(base)}")
    if default is not MISSING:
        if fallback is not MISSING:
            raise RuntimeFault("duplicate argument 'fallback'", kind="type")
        if base is None and default.__class__ is int and 2 <= default <= 36:
            raise RuntimeFault(
                f"int(x, {default}): the second argument is the fallback value, not the base — write "
                f"int(x, base = {default}) to read digits of that base, int(x, fallback = {default}) for a fallback"
            )
        fallback = default
    try:
        return to_integer(x) if base is None else to_integer_of_base(x, base)
    except RuntimeFault:
        if fallback is MISSING:
            raise
        return fallback


@family.builtin("float(x, default?)", result="num", falls_back=True, pure=True)
def float_(x: Any, default: Any = MISSING) -> Any:
    """A float from a number, a bool or a trimmed text; a decimal is converted to the nearest float.

    `float(1.50d)` is `1.5`. With `default` that value is returned where there would be an error.
    """
    from stdlib.conversions import to_float_value

    if default is MISSING:
        return to_float_value(x)
    try:
        return to_float_value(x)
    except RuntimeFault:
        return default


@family.builtin("decimal(x, default?)", result="num", falls_back=True, pure=True)
def decimal(x: Any, default: Any = MISSING) -> Any:
    """An exact decimal from a decimal, an integer or a trimmed text, also with an exponent.

    `decimal("1.50")` is `1.50`, `decimal("1.5e-3")` is `0.0015`. A float is an error: it is not exact. With `default`
    that value is returned where there would be an error.
    """
    from stdlib.conversions import to_decimal

    if default is MISSING:
        return to_decimal(x)
    try:
        return to_decimal(x)
    except RuntimeFault:
        return default


@family.builtin("hex(x)", result="str", pure=True)
def hex_(x: Any) -> str:
    """Hexadecimal text with `0x`: of an integer >= 0 without leading zeros, of bytes every byte.

    `hex(7960)` is `"0x1f18"`, `hex(bytes([0, 255]))` is `"0x00ff"`.
    """
    if x.__class__ is int:
        if x < 0:
            raise RuntimeFault(f"hex({display(x)}): negative numbers have no hex quantity form")
        return hex(x)
    if x.__class__ is bytes:
        return "0x" + x.hex()
    raise RuntimeFault(f"hex() takes an integer or bytes, got {type_of(x)}", kind="type")


# --- lists and maps ---------------------------------------------------------------------------------------------------------


@family.builtin("append(list, item)", result="list", fresh=True, keeps="items")
def append(list_: Any, item: Any) -> list[Any]:
    """A new list with `item` at its end: `append([1], 2)` is `[1, 2]`."""
    if list_.__class__ is not list:
        raise RuntimeFault("First argument to append must be a list", kind="type")
    return [*list_, item]


@family.builtin("insert(list, i, v)", result="list", fresh=True, keeps="items")
def insert(list_: Any, i: Any, v: Any) -> list[Any]:
    """A new list with `v` at position `i`, from 0 to the length; negative positions count from the end.

    `insert([1, 3], 1, 2)` is `[1, 2, 3]`, `insert([1], -1, 0)` is `[0, 1]`.
    """
    if list_.__class__ is not list:
        raise RuntimeFault(f"insert() takes a list, got {type_of(list_)}", kind="type")
    at, size = to_index(i), len(list_)
    if not -size <= at <= size:
        raise RuntimeFault(
            f"insert(): position {at} out of range for a list of length {size} (valid: -{size}..{size})",
            kind="key",
            code="E0402",
        )
    return [*list_[:at], v, *list_[at:]]


@family.builtin("get(c, key, default?)", keeps="items", pure=True)
def get(c: Any, key: Any, default: Any = None) -> Any:
    """The value of a map's key or the item at a list's position; `default` (else `nothing`) where there is none.

    `get({"a": 1}, "z", 0)` is `0`.
    """
    kind = c.__class__
    if kind is dict:
        return c.get(key if key.__class__ is str else key_text(key), default)
    if kind is list:
        at = to_index(key)
        return c[at] if -len(c) <= at < len(c) else default
    entries = as_map(c)
    if entries is not None:
        return entries.get(key_text(key), default)
    raise RuntimeFault(f"get() reads a map or a list, got {type_of(c)}", kind="type")


@family.builtin("remove(map, key)", result="map", keeps="items")
def remove(map_: Any, key: Any) -> dict[str, Any]:
    """A new map without that key; the same entries where it has none."""
    entries = as_map(map_)
    if entries is None:
        raise RuntimeFault(f"remove() takes a map, got {type_of(map_)}", kind="type")
    rest = dict(entries)
    rest.pop(key_text(key), None)
    return rest


@family.builtin("merge(a, b, more...)", result="map", keeps="items")
def merge(a: Any, b: Any, *more: Any) -> dict[str, Any]:
    """A new map with the entries of all: the rightmost value of a key wins, at the key's first position.

    `merge({"a": 1, "b": 2}, {"b": 3})` is `{a: 1, b: 3}`.
    """
    merged: dict[str, Any] = {}
    for place, argument in enumerate((a, b, *more)):
        entries = as_map(argument)
        if entries is None:
            raise RuntimeFault(f"merge(): argument {place + 1} is {type_of(argument)}, not a map", kind="type")
        merged.update(entries)
    return merged


@family.builtin("items(map)", result="list", fresh=True, keeps="items")
def items(map_: Any) -> list[Any]:
    """The entries as a list of maps `{key, value}`, in insertion order."""
    entries = as_map(map_)
    if entries is None:
        raise RuntimeFault(f"items() takes a map, got {type_of(map_)}", kind="type")
    return [{"key": key, "value": value} for key, value in entries.items()]


@family.builtin("keys(map)", result="list of str", fresh=True, keeps="nothing", pure=True)
def keys(map_: Any) -> list[Any]:
    """The keys as a list of text, in insertion order."""
    entries = as_map(map_)
    if entries is None:
        raise RuntimeFault(f"keys() requires a map, got {type_of(map_)}", kind="type")
    return list(entries)


@family.builtin("values(map)", result="list", fresh=True, keeps="items")
def values_(map_: Any) -> list[Any]:
    """The values as a list, in insertion order of their keys."""
    entries = as_map(map_)
    if entries is None:
        raise RuntimeFault("values() requires a map", kind="type")
    return list(entries.values())


@family.builtin("enumerate(list)", result="list")
def enumerate_(list_: Any) -> list[Any]:
    """The items as a list of maps `{index, item}`, the index from 0."""
    if list_.__class__ is not list:
        raise RuntimeFault(f"enumerate() requires a list, got {type_of(list_)}", kind="type")
    return [{"index": index, "item": item} for index, item in enumerate(list_)]


@family.builtin("contains(c, v)", result="bool", keeps="nothing", pure=True)
def contains(c: Any, v: Any) -> Bool:
    """Whether a list has an item equal to `v`, a text the piece `v`, a map the key `v`, bytes the part or byte `v`.

    `contains("abc", "b")` is `true`. Like `v in c`, but any value is looked for in a text by its raw text.
    """
    kind = c.__class__
    if kind is str:
        return TRUE if raw_text(v) in c else FALSE
    if kind is list:
        try:
            return TRUE if contains_exactly(c, v) else FALSE
        except RuntimeFault as fault:
            raise RuntimeFault("contains: " + fault.message, kind=fault.kind, code=fault.code) from None
    if kind is bytes:
        if v.__class__ is bytes or (v.__class__ is int and 0 <= v <= 255):
            return TRUE if v in c else FALSE
        raise RuntimeFault(f"contains(bytes, ...): expected bytes or an integer 0..=255, got {type_of(v)}", kind="type")
    entries = as_map(c)
    if entries is not None:
        return TRUE if key_text(v) in entries else FALSE
    raise RuntimeFault(f"Cannot check containment in {type_of(c)}", kind="type")


@family.builtin("slice(c, start?, end?)", keeps="items", pure=True)
def slice_(c: Any, start: Any = None, end: Any = None) -> Any:
    """The part of a list, text, bytes or array from position `start` up to before `end`; negative positions count from the end.

    Both ends are clamped: `slice("héllo", -3)` is `"llo"`, `slice([1], 5)` is `[]`.
    """
    kind = c.__class__
    if kind is not list and kind is not str and kind is not bytes:
        if type_of(c) != "array":
            raise RuntimeFault(f"Cannot slice {type_of(c)}", kind="type")
        return c.sliced(None if start is None else to_index(start), None if end is None else to_index(end))
    return c[None if start is None else to_index(start) : None if end is None else to_index(end)]


_AT_ONCE = 1 << 18
# A list item and the integer object.
_BYTES_EACH = 40


@family.builtin("range(start, end?, step?)", too_few="range() takes 1-3 arguments", result="list", fresh=True, keeps="nothing")
def range_(start: Any, end: Any = None, step: Any = None) -> list[Any]:
    """The integers from `start` (0 when it is the only argument) up to before `end`, as a list.

    `range(3)` is `[0, 1, 2]`, `range(5, 0, -2)` is `[5, 3, 1]`.
    """
    first, last = (0, to_index(start)) if end is None else (to_index(start), to_index(end))
    stride = 1 if step is None else to_index(step)
    if stride == 0:
        raise RuntimeFault("range() arg 3 must not be zero")
    numbers = range(first, last, stride)
    try:
        count = len(numbers)
        refuse_beyond(count * PLACE)
        if count <= _AT_ONCE:
            return list(numbers)
        bytes(count * _BYTES_EACH)  # reserves address space without using it: an impossible size fails at once
        items: list[Any] = []
        for done in range(0, count, _AT_ONCE):  # cancellation is possible between two pieces
            items += numbers[done : done + _AT_ONCE]
        return items
    except (OverflowError, MemoryError):
        raise RuntimeFault("range(): the list does not fit into memory", kind="resources") from None


@family.builtin("reverse(c)", keeps="items")
def reverse(c: Any) -> Any:
    """The list or text backwards: `reverse("añb")` is `"bña"`."""
    if c.__class__ is list or c.__class__ is str:
        return c[::-1]
    raise RuntimeFault(f"reverse expects a list, got {type_of(c)}", kind="type")


# --- errors, assertions, calls ----------------------------------------------------------------------------------------------


@family.builtin("raise(msg)", too_few="raise expects a message")
def raise_(msg: Any) -> None:
    """Raises an error whose message is `msg`: a text unchanged, any other value in its display form."""
    raise RuntimeFault(display(msg), kind="raised")


@family.builtin("call(task, named)")
def call(task: Any, named: Any) -> Any:
    """Calls a task with named arguments taken from a map; `nothing` stands for no arguments.

    A parameter that the map omits is its default, or `nothing` where it has none; a name that is not a parameter is an error.
    `call(area, {"w": 2, "h": 3})` is `area(w = 2, h = 3)`.
    """
    from language.runtime.calls import call_with

    arguments = {} if named is None else as_map(named)
    if arguments is None:
        raise RuntimeFault(f"call expects a map of named args, got {type_of(named)}", kind="type")
    return call_with(task, arguments)


@family.builtin("assert(c, msg?)", keeps="nothing")
def assert_(c: Any, msg: Any = None) -> None:
    """Raises `assertion failed`, or `msg`, when the condition does not hold."""
    if not truthy(c):
        raise RuntimeFault("assertion failed" if msg is None else display(msg), kind="assertion")


@family.builtin("assert_eq(actual, expected, msg?)", keeps="nothing")
def assert_eq(actual: Any, expected: Any, msg: Any = None) -> None:
    """Raises `expected 2, got 1` when the values differ. A decimal and a float count as different."""
    if not same(actual, expected):
        fault = RuntimeFault(f"{_prefix(msg)}expected {display(expected)}, got {display(actual)}", kind="assertion")
        fault.compared = (expected, actual)
        raise fault


@family.builtin("assert_ne(a, b, msg?)", keeps="nothing")
def assert_ne(a: Any, b: Any, msg: Any = None) -> None:
    """Raises `expected values to differ, both 1` when the values are equal."""
    if same(a, b):
        raise RuntimeFault(f"{_prefix(msg)}expected values to differ, both {display(a)}", kind="assertion")


def _prefix(msg: Any) -> str:
    return "" if msg is None else display(msg) + ": "


@family.builtin("assert_error(task)")
def assert_error(task: Any) -> None:
    """Calls the task without arguments; raises `expected an error, but none was raised` when it ends without one."""
    from language.runtime.calls import callback
    from language.runtime.intrinsics import caught

    if not values.is_callable(task):
        raise RuntimeFault(f"assert_error expects a task or lambda, got {type_of(task)}", kind="type")
    attempt = callback(task, 0)
    try:
        attempt()
    except Exception as error:
        # Python's own errors in compiled code are errors of the program; a fault of the interpreter is raised again.
        caught(error)
        return
    raise RuntimeFault("expected an error, but none was raised", kind="assertion")
