"""From JSON text (RFC 8259) to a value: through the interpreter's C scanner, guarded before and settled after.

Before: the depth is counted, because the scanner recurses in C. After: Python's booleans become the language's, an overflowed
number is refused, lone surrogates out of escapes become U+FFFD.
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
    """What the scanner would accept and the language does not; the message is the detail of the error."""


def decode(text: str, builtin: str = "json_decode", *, allow_nan: bool = False) -> Any:
    """The value that a JSON text writes.

    Numbers with a point or an exponent are floats, all others exact integers. ``allow_nan`` admits ``NaN``, ``Infinity`` and
    ``-Infinity``. Raises ``RuntimeFault`` ``<builtin>: invalid JSON: <detail>``.
    """
    try:
        return parse(text, allow_nan)
    except ValueError as error:
        raise RuntimeFault(f"{builtin}: invalid JSON: {_detail(error)}") from None


def parse(text: str, allow_nan: bool = False) -> Any:
    """As :func:`decode`, for those who give no error to the program. Raises ``ValueError``."""
    if text.startswith("\ufeff"):
        text = text[1:]
    pieces = _pieces(text)
    # An allowed Infinity and an overflowed number look alike afterwards: with allow_nan each number is checked as it is read.
    root = [_scanned(text, pieces, _decoder(allow_nan, allow_nan))]
    overflow = _settle(root)
    if overflow and not allow_nan:
        _scanned(text, pieces, _decoder(False, True))
    if "\\ud" in text or "\\uD" in text:
        _replace_surrogates(root)
    return root[0]


def _pieces(text: str) -> list[Piece] | None:
    """The pieces in which a text is scanned; ``None`` for a short one. Raises ``ValueError`` for one nested too deep."""
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
    """How deep the brackets outside of strings nest; right up to the first place where the text is no JSON."""
    from itertools import accumulate

    data = text.encode("utf-8", "replace")
    if b"\\" in data:
        import re  # The json module has loaded it by now or will at once.

        data = re.sub(rb"\\.", b"", data, flags=re.DOTALL)
    brackets = data.translate(_SQUARE, _NOT_STRUCTURE).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])
    # Taking all innermost pairs away lowers the depth by one, far faster than counting a large document bracket by bracket.
    removed = 0
    while removed < 8 and b"[]" in brackets:
        brackets = brackets.replace(b"[]", b"")
        removed += 1
    return removed + max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _settle(root: list[Any]) -> bool:
    """Turns Python's booleans into the language's, in place; whether there was an infinity on the way."""
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
    # The scanner has joined the pairs: a surrogate that is left stands alone.
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _decoder(allow_nan: bool, checked: bool) -> Any:
    """``checked``: every number with a point or an exponent is tested for overflow as it is read."""
    import sys

    # The scanner's own limit on digits is the process's, which whoever embeds the language may have changed.
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
        raise _Refused(f"{shown} is out of range for a float")
    return number


def _checked_int(text: str) -> int:
    digits = text.removeprefix("-")
    if len(digits) > MOST_DIGITS:
        raise _Refused(_TOO_MANY_DIGITS)
    from language.values.bigint import text_to_int

    number = text_to_int(digits)
    return -number if text.startswith("-") else number


def _refuse_constant(name: str) -> Any:
    raise _Refused(f"{name} is no JSON value (allow_nan = true admits it)")


_TOO_MANY_DIGITS = f"a number has more than {MOST_DIGITS} digits"


def _detail(error: ValueError) -> str:
    from json import JSONDecodeError

    if isinstance(error, (_Refused, JSONDecodeError)):
        return str(error)
    # What is left is int() refusing the digits.
    return _TOO_MANY_DIGITS
