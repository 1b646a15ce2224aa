"""The display form of a value: what ``print``, ``text(x)``, ``+`` with text and backtick text show."""

from __future__ import annotations

from language.errors import InternalError, RuntimeFault
from language.values import Bool, Secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Below this many bits Python prints an integer whatever the process-wide limit on digits.
_SHORT_BITS = 2000

_BYTES_SHOWN = 32

#: How many pieces of text are collected before their total number is checked (``language.values.unfolding``).
_MANY = 5_000_000
_ANY_NUMBER = 1 << 62

_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)}
_ESCAPES.update({ord('"'): '\\"', ord("\\"): "\\\\", 10: "\\n", 13: "\\r", 9: "\\t", 8: "\\b", 12: "\\f"})


def display(value: Any) -> str:
    """The display form of any value. Secrets show their names only.

    Raises ``RuntimeFault`` for a value that shares parts so often that its text would be far too long.
    """
    kind = value.__class__
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is list or kind is dict:
        out: list[str] = []
        try:
            _write(value, out, _MANY)
        except _Many:
            from language.values.unfolding import refuse_unfolded

            refuse_unfolded(value)
            out.clear()
            _write(value, out, _ANY_NUMBER)
        return "".join(out)
    return _scalar(value)


def quote(text: str) -> str:
    """Text in double quotes with JSON escapes for quotes, backslashes and control characters; all else as is."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return '"' + text + '"'
    return '"' + text.translate(_ESCAPES) + '"'


def number_text(number: Any) -> str:
    """The printed form of an integer, float, decimal or complex."""
    kind = number.__class__
    if kind is int:
        if number.bit_length() <= _SHORT_BITS:
            return repr(number)
        from language.values.bigint import int_to_text

        return int_to_text(number)
    if kind is float:
        return repr(number)
    if kind is complex:
        return _complex_text(number)
    return number.display()  # type: ignore[no-any-return]


_PLAIN_KEY = 'a key without quotes is the value of a variable; the plain key of a map stands in quotes: `{"key": 1}`'


def key_text(key: Any) -> str:
    """The map key that a value stands for: its display form. Raises ``RuntimeFault`` for a secret."""
    if key.__class__ is str:
        return key
    if key.__class__ is Secret:
        raise RuntimeFault("a secret cannot be a map key", code="E0505", help=_PLAIN_KEY)
    return display(key)


def raw_text(value: Any) -> str:
    """The text that a builtin which expects text reads from any value: ``True``, ``False``, ``None``, else the display form."""
    kind = value.__class__
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is Bool:
        return "True" if value else "False"
    if value is None:
        return "None"
    return display(value)


class _Many(Exception):
    """Raised when there are many pieces of text."""


def _write(container: Any, out: list[str], most: int) -> None:
    if len(out) > most:
        raise _Many
    # Recursion in Python: too deep a value raises RecursionError and cannot overflow the C stack.
    if container.__class__ is list:
        out.append("[")
        first = True
        for item in container:
            if first:
                first = False
            else:
                out.append(", ")
            kind = item.__class__
            if kind is str:
                out.append(quote(item))
            elif kind is list or kind is dict:
                _write(item, out, most)
            else:
                out.append(_scalar(item))
        out.append("]")
        return
    out.append("{")
    first = True
    for key, item in container.items():
        out.append(key + ": " if first else ", " + key + ": ")
        first = False
        kind = item.__class__
        if kind is str:
            out.append(quote(item))
        elif kind is list or kind is dict:
            _write(item, out, most)
        else:
            out.append(_scalar(item))
    out.append("}")


def _scalar(value: Any) -> str:
    kind = value.__class__
    if kind is int or kind is float or kind is complex:
        return number_text(value)
    if value is None:
        return "nothing"
    if kind is Bool or kind is Secret:
        return repr(value)
    if kind is bytes:
        return _bytes_text(value)
    language_type = getattr(kind, "language_type", None)
    if language_type == "map":
        return display(value.as_map())
    if language_type is not None:
        return value.display()  # type: ignore[no-any-return]
    if callable(value):
        return _task_text(value)
    raise InternalError(f"an object of the Python class {kind.__name__} is no value of the language")


def _bytes_text(value: bytes) -> str:
    if len(value) <= _BYTES_SHOWN:
        return f"bytes({value.hex()})"
    return f"bytes({value[:_BYTES_SHOWN].hex()}… ({len(value)} bytes))"


def _complex_text(value: complex) -> str:
    real, imaginary = _part_text(value.real), _part_text(value.imag)
    if not imaginary.startswith("-"):
        imaginary = "+" + imaginary
    return f"{real}{imaginary}i"


def _part_text(part: float) -> str:
    return repr(part).removesuffix(".0")


def _task_text(task: Any) -> str:
    builtin = getattr(task, "builtin", None)
    if builtin is not None:
        return f"builtin:{builtin.name}"
    code = task.__code__
    name: str = code.co_name
    if name.startswith(("type:", "variant:")):
        return "builtin:" + name[name.index(":") + 1 : name.rindex("@")]
    # The compiler renames some variables by a suffix after "·", which is not shown.
    params = ", ".join([param.partition("·")[0] for param in code.co_varnames[: code.co_argcount]])
    return f"task {name.partition('·')[0]}({params})"
