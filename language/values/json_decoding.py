"""Parses JSON text (RFC 8259) with Python's C scanner, with checks before it and corrections after it.

Before: the nesting depth is limited, because the scanner recurses in C. After: Python's booleans become the language's,
numbers that overflow are refused, and lone surrogates from escapes become U+FFFD.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import FALSE, TRUE
from language.values.json_pieces import LARGE, TooDeep, cut, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.values.json_pieces import Piece

MOST_DEPTH = 128
MOST_DIGITS = 4300

_INFINITY = float("inf")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))
_SQUARE = bytes.maketrans(b"{}", b"[]")
_STEPS = {91: 1, 93: -1}


class _Refused(ValueError):
    """Raised for text that the scanner accepts and the language does not. The message is the detail of the error."""


class OutOfRange(_Refused):
    """Raised for a number that no float holds. The text is JSON all the same."""


def decode(text: str, builtin: str = "json_decode", *, allow_nan: bool = False) -> Any:
    """The value of a JSON text.

    Numbers with a point or an exponent are floats, all others exact integers. ``allow_nan`` accepts ``NaN``, ``Infinity``
    and ``-Infinity``. Raises ``RuntimeFault`` ``<builtin>: invalid JSON: <detail>``.
    """
    try:
        return parse(text, allow_nan)
    except ValueError as error:
        help_ = (
            "the line and column are those of the JSON text. JSON is written like '{\"a\": 1}': with double quotes around "
            "names and texts, and no comma after the last item"
        )
        raise RuntimeFault(f"{builtin}: invalid JSON: {_detail(error)}", code="E0407", help=help_) from None


def parse(text: str, allow_nan: bool = False) -> Any:
    """As :func:`decode`, for callers that report errors otherwise. Raises ``ValueError``."""
    if text.startswith("\ufeff"):
        text = text[1:]
    pieces = _pieces(text)
    # After scanning, an accepted Infinity and an overflowed number look alike, so with allow_nan each number is checked when
    # it is read.
    root = [_scanned(text, pieces, _decoder(allow_nan, allow_nan))]
    overflow = _settle(root)
    if overflow and not allow_nan:
        _scanned(text, pieces, _decoder(False, True))
    if "\\ud" in text or "\\uD" in text:
        _replace_surrogates(root)
    return root[0]


def decode_exact(text: str, what: str, place: str) -> Any:
    """The value of a JSON text that this language wrote: one that is written as the same text again. A number is a decimal
    where a float would be written otherwise.

    Raises ``RuntimeFault`` that begins with ``what`` for ``NaN`` or an infinity, which this language writes and JSON does not
    have, with its place in ``place``, and for what is nested too deep.
    """
    from json import JSONDecoder

    from language.values.declared_types import exact_decimal

    def read(number: str) -> Any:
        found = float(number)
        return found if repr(found) == number else exact_decimal(number) or found

    odd: dict[str, _Constant] = {name: _Constant(name) for name in ("NaN", "Infinity", "-Infinity")}
    decoder = JSONDecoder(parse_float=read, parse_int=_checked_int, parse_constant=odd.__getitem__)
    try:
        root = [_scanned(text, _pieces(text), decoder)]
    except ValueError as error:
        raise RuntimeFault(f"{what} cannot be sent: {_detail(error)}", kind="resources") from None
    _settle(root)
    if "NaN" in text or "Infinity" in text:
        _refuse_odd(root[0], what, place)
    if "\\ud" in text:
        _replace_surrogates(root)
    return root[0]


class _Constant:
    """``NaN`` or an infinity in a text."""

    def __init__(self, name: str) -> None:
        self.name = name


def _refuse_odd(root: Any, what: str, place: str) -> None:
    stack: list[tuple[str, Any]] = [(place, root)]
    while stack:
        where, found = stack.pop()
        if type(found) is _Constant:
            raise RuntimeFault(f"{what} holds {found.name} at {where}, and JSON has no such number")
        if type(found) is dict:
            from language.values.display import quote

            stack += [(f"{where}[{quote(key)}]", item) for key, item in reversed(found.items())]
        elif type(found) is list:
            stack += [(f"{where}[{at}]", found[at]) for at in range(len(found) - 1, -1, -1)]


def parse_written(text: str) -> Any:
    """The plain Python value of a JSON text; numbers with a point or an exponent are returned as their text.

    For texts that :func:`parse` accepts. Raises ``ValueError``.
    """
    from json import JSONDecoder

    if text.startswith("\ufeff"):
        text = text[1:]
    return _scanned(text, _pieces(text), JSONDecoder(parse_float=str, parse_int=_checked_int, parse_constant=_refuse_constant))


def place_out_of_range(text: str) -> str:
    """Where the first number stands that no float holds, as ``rows[2].price``; empty for a text that is nothing but it."""
    from json import JSONDecoder

    beyond = object()

    def read(number: str) -> Any:
        return beyond if float(number) in (_INFINITY, -_INFINITY) else None

    if text.startswith("\ufeff"):
        text = text[1:]
    root = _scanned(text, _pieces(text), JSONDecoder(parse_float=read, parse_int=lambda _: None))
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        place, found = stack.pop()
        if found is beyond:
            return place
        if type(found) is dict:
            stack += [(f"{place}.{key}" if place else key, item) for key, item in reversed(found.items())]
        elif type(found) is list:
            stack += [(f"{place}[{at}]", found[at]) for at in range(len(found) - 1, -1, -1)]
    return ""


def _pieces(text: str) -> list[Piece] | None:
    """The pieces in which a text is scanned; ``None`` for a short one. Raises ``ValueError`` for too deep nesting."""
    if len(text) > LARGE:
        try:
            return cut(text, MOST_DEPTH)
        except TooDeep:
            pass
    elif text.count("[") + text.count("{") <= MOST_DEPTH or _depth(text) <= MOST_DEPTH:
        return None
    raise _Refused(f"nested more than {MOST_DEPTH} levels deep")


def _scanned(text: str, pieces: list[Piece] | None, decoder: Any) -> Any:
    return decoder.decode(text) if pieces is None else scan(text, decoder, pieces)


def _depth(text: str) -> int:
    """The nesting depth of the brackets outside of strings. It is correct up to the first syntax error of the text."""
    from itertools import accumulate

    data = text.encode("utf-8", "replace")
    if b"\\" in data:
        import re  # The json module has imported it already, or will.

        data = re.sub(rb"\\.", b"", data, flags=re.DOTALL)
    brackets = data.translate(_SQUARE, _NOT_STRUCTURE).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])
    # Removing all innermost pairs lowers the depth by one. That is much faster than counting each bracket.
    removed = 0
    while removed < 8 and b"[]" in brackets:
        brackets = brackets.replace(b"[]", b"")
        removed += 1
    return removed + max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _settle(root: list[Any]) -> bool:
    """Replaces Python's booleans by the language's, in place. Returns whether there was an infinity."""
    overflow = False
    stack: list[Any] = [root]
    while stack:
        container = stack.pop()
        if type(container) is dict:
            for key, item in container.items():
                kind = type(item)
                if kind is str or kind is int:
                    continue
                if kind is bool:
                    container[key] = TRUE if item else FALSE
                elif kind is dict or kind is list:
                    stack.append(item)
                elif kind is float and (item == _INFINITY or item == -_INFINITY):
                    overflow = True
        else:
            for index, item in enumerate(container):
                kind = type(item)
                if kind is str or kind is int:
                    continue
                if kind is bool:
                    container[index] = TRUE if item else FALSE
                elif kind is dict or kind is list:
                    stack.append(item)
                elif kind is float and (item == _INFINITY or item == -_INFINITY):
                    overflow = True
    return overflow


def _replace_surrogates(root: list[Any]) -> None:
    stack: list[Any] = [root]
    while stack:
        container = stack.pop()
        if container.__class__ is dict:
            entries = [(_clean(key), item) for key, item in container.items()]
            container.clear()
            container.update(entries)
        for key, item in container.items() if container.__class__ is dict else enumerate(container):
            if item.__class__ is str:
                container[key] = _clean(item)
            elif item.__class__ is dict or item.__class__ is list:
                stack.append(item)


def _clean(text: str) -> str:
    # The scanner has combined surrogate pairs: a surrogate that is left is a lone one.
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _decoder(allow_nan: bool, checked: bool) -> Any:
    """The scanner. ``checked``: every number with a point or an exponent is checked for overflow when it is read."""
    import sys

    # The scanner uses the process-wide limit on digits, which an embedder may have changed.
    usual_limit = sys.get_int_max_str_digits() == MOST_DIGITS
    key = (allow_nan, checked, usual_limit)
    if key not in _decoders:
        from json import JSONDecoder

        _decoders[key] = JSONDecoder(
            parse_float=_checked_float if checked else None,
            parse_int=None if usual_limit else _checked_int,
            parse_constant=None if allow_nan else _refuse_constant,
        )
    return _decoders[key]


_decoders: dict[tuple[bool, bool, bool], Any] = {}


def _checked_float(text: str) -> float:
    number = float(text)
    if number in (_INFINITY, -_INFINITY):
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise OutOfRange(f"{shown} is out of range for a float")
    return number


def _checked_int(text: str) -> int:
    digits = text.removeprefix("-")
    if len(digits) > MOST_DIGITS:
        raise _Refused(_TOO_MANY_DIGITS)
    from language.values.bigint import text_to_int

    number = text_to_int(digits)
    return -number if text.startswith("-") else number


def _refuse_constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON value (allow_nan = true admits it)")


_TOO_MANY_DIGITS = f"a number has more than {MOST_DIGITS} digits"


def _detail(error: ValueError) -> str:
    from json import JSONDecodeError

    if isinstance(error, (_Refused, JSONDecodeError)):
        return str(error)
    # int() refused the number of digits.
    return _TOO_MANY_DIGITS
