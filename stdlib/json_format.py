"""JSON and JSON lines: values to text and back."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import MISSING, Family
from language.values import type_of
from language.values.display import display
from language.values.operators import truthy
from stdlib.large_texts import split
from stdlib.options import whole_argument
from stdlib.sizes import check_length, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context
    from language.values import Secret

family = Family("json_format", "JSON")

# The most spaces for a level. At the deepest nesting they stay a small part of what a program may hold.
_MOST_INDENT = 16


def warn_of_secret(ctx: Context, builtin: str, what: str = "written") -> Callable[[Secret], None]:
    """The function that is called for each redacted secret. It writes one warning of the runtime for each name, once per
    run.
    """

    def warn(secret: Secret) -> None:
        ctx.warn_once(f'{builtin}: the secret {secret.names[0]} was {what} as "[redacted]"')

    return warn


@family.builtin("json_encode(v, indent = 0)", named=("indent",), context=True, result="str", keeps="nothing")
def json_encode(ctx: Context, v: Any, indent: Any = None) -> str:
    """The JSON text (RFC 8259) of a value, on one line, in ASCII. With `indent`, 1 to 16, each item and entry stands on a line
    of its own, with so many spaces for each level.

    Integers of any size and decimals are written exactly; floats with the fewest digits that read back equal, `nan` and
    infinities as `NaN`, `Infinity`, `-Infinity` (which JSON lacks); maps in their order; bytes as base64 text. A secret
    is written `"[redacted]"`, with a warning. A task inside is an error that names its place:
    `json_encode: the value["f"] is a task, not data`.

    `json_encode({"a": 1, "b": [true, nothing], "d": 1.50d})` is `{"a": 1, "b": [true, null], "d": 1.50}`.
    """
    from language.values.json_encoding import encode

    width = 0 if indent is None else whole_argument("json_encode", "indent", indent, 0, _MOST_INDENT)
    text = encode(v, "json_encode", warn_of_secret(ctx, "json_encode"))
    return _over_lines(text, width) if width else text


def _over_lines(text: str, indent: int) -> str:
    """A JSON text of one line with each item and entry on a line of its own. Raises beyond the limits of a text."""
    from re import finditer

    parts: list[str] = []
    depth = done = length = 0
    # Texts are stepped over, with what stands in them; brackets that hold nothing stay together.
    for found in finditer(r'"[^"\\]*(?:\\.[^"\\]*)*"|\[\]|\{\}|[\[{]|[\]}]|, ', text):
        mark = found[0]
        if mark[0] == '"' or mark in ("[]", "{}"):
            continue
        if mark in ("[", "{"):
            depth += 1
            piece = text[done : found.end()]
        elif mark == ", ":
            piece = text[done : found.start() + 1]
        else:
            depth -= 1
            piece = text[done : found.start()]
        line = "\n" + " " * (indent * depth)
        parts += (piece, line)
        done = found.end() - (mark in ("]", "}"))
        length += len(piece) + len(line)
        check_length("json_encode", length)
    parts.append(text[done:])
    return together("json_encode", parts)


@family.builtin("json_for_script(v)", context=True)
def json_for_script(ctx: Context, v: Any) -> str:
    """JSON text that is safe inside an HTML `<script>` element: as `json_encode`, with `<`, `>` and `&` escaped as
    `\\u003c`, `\\u003e` and `\\u0026`.
    """
    from language.values.json_encoding import encode_for_script

    return encode_for_script(v, "json_for_script", warn_of_secret(ctx, "json_for_script"))


@family.builtin("json_decode(t, default?, allow_nan = false)", named=("allow_nan",))
def json_decode(t: Any, default: Any = MISSING, allow_nan: Any = None) -> Any:
    """The value of a JSON text (RFC 8259). With a `default`, that is the result for an invalid text.

    A number with a point or an exponent is a float, any other an exact integer (at most 4300 digits). A repeated key keeps its
    last value. Nesting deeper than 128 levels, numbers out of range and, unless `allow_nan = true`, `NaN` and `Infinity` are
    errors like any other: `json_decode: invalid JSON: ...`. A value that is not text is converted to its display text.

    `json_decode("{\\"x\\": [1, 2.0]}")["x"]` is `[1, 2.0]`; `json_decode("oops", nothing)` is `nothing`.
    """
    from language.values.json_decoding import decode

    try:
        return decode(display(t), "json_decode", allow_nan=truthy(allow_nan))
    except RuntimeFault:
        if default is MISSING:
            raise
        return default


@family.builtin("jsonl_encode(list)", context=True)
def jsonl_encode(ctx: Context, items: Any) -> str:
    """JSON lines: the JSON text of each item of a list as `json_encode` writes it, each followed by a line end.

    `jsonl_encode([1, {"a": 2}])` is `1\\n{"a": 2}\\n`.
    """
    from language.values.json_encoding import encode

    if items.__class__ is not list:
        raise RuntimeFault(f"jsonl_encode expects a list, got {type_of(items)}", kind="type")
    warn = warn_of_secret(ctx, "jsonl_encode")
    return "".join([encode(item, "jsonl_encode", warn, f"the value[{index}]") + "\n" for index, item in enumerate(items)])


@family.builtin("jsonl_decode(t, default?, allow_nan = false)", named=("allow_nan",))
def jsonl_decode(t: Any, default: Any = MISSING, allow_nan: Any = None) -> Any:
    """The list of the values of JSON lines, one per line; blank lines are skipped. With a `default`, that is the result when a
    line is not valid JSON; without it, the error names the line. `allow_nan` is as for `json_decode`.

    `jsonl_decode("1\\n[2]\\n")` is `[1, [2]]`.
    """
    from language.values.json_decoding import decode

    nan = truthy(allow_nan)
    values = []
    try:
        for number, line in enumerate(split(display(t).removeprefix("\ufeff"), "\n"), 1):
            if line.strip(" \t\r"):
                values.append(decode(line, f"jsonl_decode: line {number}", allow_nan=nan))
    except RuntimeFault:
        if default is MISSING:
            raise
        return default
    return values
