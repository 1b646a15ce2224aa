"""Conversion of values to numbers: the implementation of ``number``, ``int``, ``float`` and ``decimal``."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import Bool, type_of
from language.values.bigint import text_to_int
from language.values.display import display, number_text
from language.values.numerals import WHITE_SPACE, clean_digits, clean_number
from language.values.operators import is_decimal, to_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.values.decimals import Dec

#: The most digits of an integer in a text, because parsing takes more than linear time.
MOST_DIGITS = 4300

_EXACT_UP_TO = 2**53
_PREFIXES = {"0x": 16, "0o": 8, "0b": 2}
_SPECIAL = ("inf", "infinity", "nan")


def number_to_float(value: Any) -> float | None:
    """A number or bool as a double; ``None`` for any other value."""
    kind = value.__class__
    if kind is float:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return to_float(value)
    if kind is Bool:
        return 1.0 if value else 0.0
    if is_decimal(value):
        return value.to_float()  # type: ignore[no-any-return]
    return None


def text_to_float(text: str) -> float | None:
    """The double in a trimmed text, ``inf`` and ``nan`` included; ``None`` for any other text."""
    trimmed = text.strip(WHITE_SPACE)
    cleaned = clean_number(trimmed)
    if cleaned is None and trimmed.lower().lstrip("+-") in _SPECIAL and len(trimmed) - len(trimmed.lstrip("+-")) <= 1:
        cleaned = trimmed
    return None if cleaned is None else float(cleaned)


def to_number(value: Any) -> float:
    """``number(x)``."""
    if value.__class__ is str:
        _refuse_lost_digits(value)
        found = text_to_float(value)
    else:
        found = number_to_float(value)
    if found is None:
        raise RuntimeFault(f"Cannot convert {display(value)} to number", code="E0406", help=_with_default("number"))
    return found


def _with_default(builtin: str) -> str:
    return f"`{builtin}(x, default)` gives the default if x is not a number"


def _refuse_lost_digits(text: str) -> None:
    trimmed = text.strip(WHITE_SPACE)
    digits = clean_digits(trimmed[1:] if trimmed.startswith(("+", "-")) else trimmed, 10)
    if digits is None:
        return
    digits = digits.lstrip("0")
    if len(digits) > MOST_DIGITS:
        raise RuntimeFault(f"Cannot convert {trimmed[:20]}… to number: it has more than {MOST_DIGITS} digits", code="E0406")
    if len(digits) > 15 and text_to_int(digits) > _EXACT_UP_TO:
        raise RuntimeFault(
            f'number("{text}") would lose digits: a float is exact only up to 2^53. Use int(x) for an exact integer',
            code="E0406",
        )


def to_float_value(value: Any) -> float:
    """``float(x)``."""
    if value.__class__ is str:
        found = text_to_float(value)
        if found is None:
            raise RuntimeFault(f"Cannot convert {value} to float", code="E0406", help=_with_default("float"))
        return found
    found = number_to_float(value)
    if found is None:
        raise RuntimeFault(f"Cannot convert {type_of(value)} to float", kind="type")
    return found


def to_integer(value: Any) -> int:
    """``int(x)``."""
    kind = value.__class__
    if kind is int:
        return value  # type: ignore[no-any-return]
    if kind is float:
        if value.is_integer():
            return int(value)
        raise _not_whole(value)
    if is_decimal(value):
        if value.is_whole():
            return value.to_int()  # type: ignore[no-any-return]
        raise _not_whole(value)
    if kind is not str:
        raise _not_an_integer(value)
    sign, body = _split_sign(value.strip(WHITE_SPACE))
    base = _PREFIXES.get(body[:2].lower(), 10)
    return sign * _read_digits(value, _without_prefix(body) if base != 10 else body, base)


def to_integer_of_base(value: Any, base: Any) -> int:
    """``int(x, base = b)``: a text of digits of that base, with or without its prefix."""
    if value.__class__ is not str:
        raise RuntimeFault(f"int(x, base = {number_text(base)}) reads a text, got {type_of(value)}", kind="type")
    sign, body = _split_sign(value.strip(WHITE_SPACE))
    if _PREFIXES.get(body[:2].lower()) == base:
        body = _without_prefix(body)
    return sign * _read_digits(value, body, base)


def _split_sign(text: str) -> tuple[int, str]:
    if text.startswith("-"):
        return -1, text[1:]
    return 1, text[1:] if text.startswith("+") else text


def _without_prefix(body: str) -> str:
    """The digits after a prefix, with an optional `_` between them, as in a number of a program: ``0x_ff``."""
    return body[2:].removeprefix("_")


def _read_digits(text: str, body: str, base: int) -> int:
    digits = clean_digits(body, base)
    if digits is None:
        raise _not_an_integer(text)
    digits = digits.lstrip("0") or "0"
    if len(digits) > MOST_DIGITS:
        raise RuntimeFault(f'Cannot convert "{text[:20]}…" to an integer: it has more than {MOST_DIGITS} digits', code="E0406")
    return text_to_int(digits, base)


def _not_whole(value: Any) -> RuntimeFault:
    return RuntimeFault(
        f"int({number_text(value)}): not a whole number — round it on purpose first: floor(x), round(x) or trunc(x)"
    )


def _not_an_integer(value: Any) -> RuntimeFault:
    help_ = _with_default("int")
    if value.__class__ is str and clean_number(value.strip(WHITE_SPACE)) is not None:
        help_ = "it is a number with a fraction: `floor(number(x))` cuts it down to an integer, `round(number(x))` rounds"
    return RuntimeFault(f'Cannot convert "{display(value)}" to an integer', code="E0406", help=help_)


def to_decimal(value: Any) -> Dec:
    """``decimal(x)``."""
    from language.values.decimals import from_int

    kind = value.__class__
    if is_decimal(value):
        return value  # type: ignore[no-any-return]
    if kind is int:
        try:
            return from_int(value)
        except RuntimeFault as fault:
            raise RuntimeFault(fault.message, kind=fault.kind, code=fault.code) from None
    if kind is float:
        raise RuntimeFault('decimal(float) is not exact; use a string, e.g. decimal("1.50"), to avoid float imprecision')
    if kind is not str:
        raise RuntimeFault(f"Cannot convert {type_of(value)} to a decimal", kind="type")
    found = text_to_decimal(value.strip(WHITE_SPACE))
    if found is None:
        raise RuntimeFault(f"Cannot parse {value} as a decimal", code="E0406", help=_with_default("decimal"))
    return found


def text_to_decimal(text: str) -> Dec | None:
    """The decimal in a text; ``None`` for any other text.

    Raises ``RuntimeFault`` where it has more than :data:`MOST_DIGITS` digits when written out: ``1e4300`` has one too many.
    """
    from language.values.decimals import parse

    try:
        found = parse(text)
        digits = 0 if found is None else max(found.value.adjusted() + 1, 1) + found.scale
    except RuntimeFault:
        found, digits = None, MOST_DIGITS + 1
    if digits > MOST_DIGITS:
        shown = text if len(text) <= 20 else text[:20] + "…"
        raise RuntimeFault(f'Cannot convert "{shown}" to a decimal: it has more than {MOST_DIGITS} digits', code="E0406")
    return found
