"""The exact result of every operator and of reading an item or a field, for any pair of values.

Compiled programs use Python's own operators, and call these functions where Python raises or where its rule differs. Errors
are ``RuntimeFault`` with a place. Comparisons return Python's ``bool``.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import Bool, Module, Secret, as_map, type_of
from language.values.display import display, key_text, number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MIXED_NUMBERS = "cannot mix decimal and float; convert with float(x) or decimal(...)"
NUMBER_TOO_LARGE = "number too large"
DIVISION_BY_ZERO = "Division by zero"
MODULO_BY_ZERO = "Modulo by zero"
ZERO_TO_NEGATIVE = "Zero cannot be raised to a negative power"

# The most bits of the result of ``**``, ``pow`` or ``factorial``.
MOST_BITS = 10_000_000

# The range of small integers: an operation with a small operand takes linear time.
_LEAST_SMALL, _MOST_SMALL = -(2**512), 2**512

_LARGEST_INDEX = 2**63 - 1
_INFINITY = float("inf")
_NAN = float("nan")

# The types that ``+`` with text refuses; every other type is joined by its display form.
_NEVER_JOINED = frozenset(("nothing", "list", "map", "bytes", "task"))
_PLAIN = frozenset((int, float, str, bytes, Bool, type(None), complex))

_DIFFERENT, _EQUAL, _UNDECIDED = 0, 1, -1

# How many pairs of containers are compared before repeated pairs are looked for.
_MANY_PAIRS = 1_000_000


def positions(size: int) -> str:
    """The help for an index that is out of range for ``size`` items."""
    if not size:
        return "it is empty: no position is in it"
    return f"positions count from 0: the last one here is {size - 1}, and -1 is the last one too"


def unsupported(operator: str, left: Any, right: Any) -> RuntimeFault:
    """The error of an operator that has no meaning for this pair of types."""
    from language.hints import operation_help, operation_hint

    kind, other = type_of(left), type_of(right)
    hint = operation_hint(kind, operator)
    text = f"Unsupported operation: {kind} {operator} {other}{hint}"
    return RuntimeFault(text, kind="type", code="E0304", help=operation_help(kind, operator, other))


def to_float(number: Any) -> float:
    """The nearest double of an integer or float; an integer beyond all doubles gives an infinity."""
    try:
        return float(number)
    except OverflowError:
        return _INFINITY if number > 0 else -_INFINITY


def _widened(number: Any) -> Any:
    """An operand converted to a float or complex number, for an operation of a large integer with one of those."""
    return number if number.__class__ is complex else to_float(number)


def is_decimal(value: Any) -> bool:
    """Whether the value is a decimal; does not import the module of decimals."""
    return getattr(value.__class__, "language_type", None) == "decimal"


def _is_numeric(value: Any) -> bool:
    """Whether the value is a number or of a class that defines operators (decimals, arrays, dates)."""
    kind = value.__class__
    return kind is int or kind is float or kind is complex or (hasattr(kind, "language_type") and kind is not Module)


# --- arithmetic -------------------------------------------------------------------------------------------------------------


def add(left: Any, right: Any) -> Any:
    """``left + right``."""
    left_kind, right_kind = left.__class__, right.__class__
    if left_kind is Secret or right_kind is Secret:
        return left + right
    if left_kind is str or right_kind is str:
        return _join(left, right)
    if left_kind is right_kind and (left_kind is list or left_kind is bytes):
        return left + right
    if _is_numeric(left) and _is_numeric(right):
        try:
            return left + right
        except OverflowError:
            return _widened(left) + _widened(right)
        except TypeError:
            pass
    raise unsupported("+", left, right)


def _join(left: Any, right: Any) -> str:
    for side in (left, right):
        kind = type_of(side)
        if kind in _NEVER_JOINED:
            names = f"{type_of(left)} and {type_of(right)}"
            advice = "convert it on purpose: text(x), or interpolate it: `...{x}`"
            if kind == "bytes":
                advice += ' (for bytes: hex(b) or decode(b, "utf8"))'
            raise RuntimeFault(f"Cannot add {names} — {advice}", code="E0304")
    return display(left) + display(right)


def sub(left: Any, right: Any) -> Any:
    """``left - right``."""
    if _is_numeric(left) and _is_numeric(right):
        try:
            return left - right
        except OverflowError:
            return _widened(left) - _widened(right)
        except TypeError:
            pass
    raise unsupported("-", left, right)


def mul(left: Any, right: Any) -> Any:
    """``left * right``."""
    if left.__class__ is int and right.__class__ is int:
        if _LEAST_SMALL < left < _MOST_SMALL or _LEAST_SMALL < right < _MOST_SMALL:
            return left * right
        from language.values.big_arithmetic import product

        return product(left, right)
    if _is_numeric(left) and _is_numeric(right):
        try:
            return left * right
        except OverflowError:
            return _widened(left) * _widened(right)
        except TypeError:
            pass
    raise unsupported("*", left, right)


def div(left: Any, right: Any) -> Any:
    """``left / right``: a float for numbers, correctly rounded also for integers beyond the largest double."""
    if _is_numeric(left) and _is_numeric(right):
        try:
            return left / right
        except ZeroDivisionError:
            raise RuntimeFault(DIVISION_BY_ZERO, kind="arithmetic", code="E0405") from None
        except OverflowError:
            if left.__class__ is int and right.__class__ is int:
                return _INFINITY if (left > 0) == (right > 0) else -_INFINITY
            return div(_widened(left), _widened(right))
        except TypeError:
            pass
    raise unsupported("/", left, right)


def floordiv(left: Any, right: Any) -> Any:
    """``left // right``, rounded down."""
    if left.__class__ is int and right.__class__ is int and not _LEAST_SMALL < right < _MOST_SMALL:
        from language.values.big_arithmetic import quotient

        return quotient(left, right)[0]
    if _is_numeric(left) and _is_numeric(right):
        try:
            return left // right
        except ZeroDivisionError:
            raise RuntimeFault(DIVISION_BY_ZERO, kind="arithmetic", code="E0405") from None
        except OverflowError:
            return floordiv(_widened(left), _widened(right))
        except TypeError:
            pass
    raise unsupported("//", left, right)


def mod(left: Any, right: Any) -> Any:
    """``left % right``, with the sign of the divisor."""
    if left.__class__ is int and right.__class__ is int and not _LEAST_SMALL < right < _MOST_SMALL:
        from language.values.big_arithmetic import quotient

        return quotient(left, right)[1]
    if _is_numeric(left) and _is_numeric(right):
        try:
            return left % right
        except ZeroDivisionError:
            raise RuntimeFault(MODULO_BY_ZERO, kind="arithmetic", code="E0405") from None
        except OverflowError:
            return mod(_widened(left), _widened(right))
        except TypeError:
            pass
    raise unsupported("%", left, right)


def power(left: Any, right: Any) -> Any:
    """``left ** right``: exact for an integer with an integer >= 0, never complex for real operands."""
    left_kind, right_kind = left.__class__, right.__class__
    if (left_kind is int or left_kind is float) and (right_kind is int or right_kind is float):
        if left_kind is int and right_kind is int and right >= 0:
            return _int_power(left, right)
        return _float_power(to_float(left), to_float(right))
    if _is_numeric(left) and _is_numeric(right):
        try:
            return left**right
        except ZeroDivisionError:
            raise RuntimeFault(ZERO_TO_NEGATIVE, kind="arithmetic") from None
        except OverflowError:
            raise RuntimeFault(NUMBER_TOO_LARGE, kind="arithmetic") from None
        except TypeError:
            pass
    raise unsupported("**", left, right)


def _int_power(base: int, exponent: int) -> int:
    if -1 <= base <= 1:
        return base if exponent & 1 or base == 1 else int(exponent == 0 or base == -1)
    bits = base.bit_length()
    if (bits - 1) * exponent >= MOST_BITS:
        raise RuntimeFault(NUMBER_TOO_LARGE, kind="arithmetic")
    if bits * exponent < 100_000:
        result: int = base**exponent
    else:
        from language.values.big_arithmetic import power

        result = power(base, exponent)
    if result.bit_length() > MOST_BITS:
        raise RuntimeFault(NUMBER_TOO_LARGE, kind="arithmetic")
    return result


def _float_power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        raise RuntimeFault(ZERO_TO_NEGATIVE, kind="arithmetic")
    try:
        result: Any = base**exponent
    except OverflowError:
        return -_INFINITY if base < 0 and exponent % 2 == 1 else _INFINITY
    return _NAN if result.__class__ is complex else result


def negate(operand: Any) -> Any:
    """``-operand``."""
    if _is_numeric(operand):
        try:
            return -operand
        except TypeError:
            pass
    raise RuntimeFault(f"Cannot negate {type_of(operand)}", kind="type", code="E0304")


# --- order ------------------------------------------------------------------------------------------------------------------


def _is_ordered(left: Any, right: Any) -> bool:
    left_kind, right_kind = left.__class__, right.__class__
    if left_kind is str or right_kind is str:
        return left_kind is right_kind
    return left_kind is not complex and right_kind is not complex and _is_numeric(left) and _is_numeric(right)


def lt(left: Any, right: Any) -> bool:
    """``left < right``."""
    if _is_ordered(left, right):
        try:
            return bool(left < right)
        except TypeError:
            pass
    raise unsupported("<", left, right)


def le(left: Any, right: Any) -> bool:
    """``left <= right``."""
    if _is_ordered(left, right):
        try:
            return bool(left <= right)
        except TypeError:
            pass
    raise unsupported("<=", left, right)


def gt(left: Any, right: Any) -> bool:
    """``left > right``."""
    if _is_ordered(left, right):
        try:
            return bool(left > right)
        except TypeError:
            pass
    raise unsupported(">", left, right)


def ge(left: Any, right: Any) -> bool:
    """``left >= right``."""
    if _is_ordered(left, right):
        try:
            return bool(left >= right)
        except TypeError:
            pass
    raise unsupported(">=", left, right)


# --- equality ---------------------------------------------------------------------------------------------------------------


def eq(left: Any, right: Any) -> bool:
    """``left == right``. Any definite difference makes it false. Otherwise comparing a decimal with a float is an error."""
    answer = _compare(left, right, None)
    if answer == _UNDECIDED:
        raise RuntimeFault(MIXED_NUMBERS, kind="type")
    return answer == _EQUAL


def ne(left: Any, right: Any) -> bool:
    """``left != right``."""
    return not eq(left, right)


def same(left: Any, right: Any) -> bool:
    """Equality that never fails: a decimal and a float are unequal."""
    return _compare(left, right, None) == _EQUAL


class _Seen:
    """The pairs of containers of one comparison. They are recorded only when the value shares parts very often."""

    __slots__ = ("answers", "count", "whole")

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.count = 0
        self.answers: dict[tuple[int, int], int] | None = None

    def known(self, left: Any, right: Any) -> int | None:
        """The result for a pair that was compared before, if it was recorded."""
        if self.answers is not None:
            return self.answers.get((id(left), id(right)))
        if self.count == _MANY_PAIRS:
            from language.values.unfolding import unfolds_beyond

            if unfolds_beyond(self.whole):
                self.answers = {}
        return None


def _compare(left: Any, right: Any, seen: _Seen | None) -> int:
    # Recursion and loops in Python only: Python's own == on containers takes identity for equality and can overflow the C
    # stack.
    left_kind, right_kind = left.__class__, right.__class__
    if left_kind in _PLAIN and right_kind in _PLAIN:
        return _EQUAL if left == right else _DIFFERENT
    if left_kind is list:
        return _compare_lists(left, right, seen) if right_kind is list else _DIFFERENT
    if left_kind is Secret or right_kind is Secret:
        return _EQUAL if left == right else _DIFFERENT
    if left_kind is float and is_decimal(right):
        return _UNDECIDED if left == left else _DIFFERENT
    if right_kind is float and is_decimal(left):
        return _UNDECIDED if right == right else _DIFFERENT
    left_map = as_map(left)
    if left_map is not None:
        right_map = as_map(right)
        return _DIFFERENT if right_map is None else _compare_maps(left_map, right_map, seen)
    if hasattr(left_kind, "language_type") or hasattr(right_kind, "language_type"):
        return _EQUAL if bool(left == right) else _DIFFERENT
    return _DIFFERENT


def _compare_lists(left: list[Any], right: list[Any], seen: _Seen | None) -> int:
    if len(left) != len(right):
        return _DIFFERENT
    if seen is None:
        seen = _Seen(left)
    else:
        seen.count += 1
        if seen.count >= _MANY_PAIRS and (known := seen.known(left, right)) is not None:
            return known
    answer = _EQUAL
    for mine, theirs in zip(left, right):
        kind = mine.__class__
        if kind is theirs.__class__ and (kind is int or kind is str):
            if mine != theirs:
                return _DIFFERENT
            continue
        found = _compare(mine, theirs, seen)
        if found == _DIFFERENT:
            return _DIFFERENT  # the whole is different as well: nothing to record
        if found == _UNDECIDED:
            answer = _UNDECIDED
    if seen.answers is not None:
        seen.answers[id(left), id(right)] = answer
    return answer


def _compare_maps(left: dict[str, Any], right: dict[str, Any], seen: _Seen | None) -> int:
    if len(left) != len(right):
        return _DIFFERENT
    for key in left:
        if key not in right:
            return _DIFFERENT
    if seen is None:
        seen = _Seen(left)
    else:
        seen.count += 1
        if seen.count >= _MANY_PAIRS and (known := seen.known(left, right)) is not None:
            return known
    answer = _EQUAL
    for key, mine in left.items():
        found = _compare(mine, right[key], seen)
        if found == _DIFFERENT:
            return _DIFFERENT
        if found == _UNDECIDED:
            answer = _UNDECIDED
    if seen.answers is not None:
        seen.answers[id(left), id(right)] = answer
    return answer


def contains(container: Any, item: Any) -> bool:
    """``item in container``: an equal item, a key, a substring of text or bytes, a byte."""
    kind = container.__class__
    if kind is list:
        return _list_contains(container, item)
    if kind is dict:
        return key_text(item) in container
    if kind is str:
        if item.__class__ is not str:
            raise RuntimeFault(
                f"`in` on text looks for a piece of text, got {type_of(item)} — convert it first: text(x) in s",
                kind="type",
            )
        return item in container
    if kind is bytes:
        if item.__class__ is bytes or (item.__class__ is int and 0 <= item <= 255):
            return item in container
        raise RuntimeFault(f"`in` on bytes looks for bytes or an integer 0..255, got {_shown(item)}", kind="type")
    found = as_map(container)
    if found is not None:
        return key_text(item) in found
    raise RuntimeFault(f"`in` needs a list, map, text or bytes on its right, got {type_of(container)}", kind="type")


def _list_contains(container: list[Any], item: Any) -> bool:
    undecided = False
    for candidate in container:
        found = _compare(candidate, item, None)
        if found == _EQUAL:
            return True
        if found == _UNDECIDED:
            undecided = True
    if undecided:
        raise RuntimeFault(MIXED_NUMBERS, kind="type")
    return False


def _shown(value: Any) -> str:
    return number_text(value) if value.__class__ is int or value.__class__ is float else type_of(value)


def truthy(value: Any) -> bool:
    """Whether a condition holds. Every value class defines Python's ``__bool__``."""
    return bool(value)


# --- reads ------------------------------------------------------------------------------------------------------------------


def to_index(value: Any) -> int:
    """The integer of an index, position, size or step. Whole floats and decimals are accepted. The error has no place."""
    kind = value.__class__
    if kind is int:
        index = value
    elif kind is float:
        if value.is_integer():
            index = int(value)
        else:
            raise _not_an_index(value)
    elif is_decimal(value):
        if not value.is_whole():
            raise _not_an_index(value)
        index = value.to_int()
    else:
        raise RuntimeFault(f"an index must be an integer, got {type_of(value)}", kind="type", code="E0402")
    if -_LARGEST_INDEX <= index <= _LARGEST_INDEX:
        return index  # type: ignore[no-any-return]
    raise RuntimeFault("number too large for an index")


def _not_an_index(value: Any) -> RuntimeFault:
    return RuntimeFault(
        f"index must be an integer, got {number_text(value)} — use floor(x), round(x) or trunc(x) on purpose", code="E0402"
    )


def index(value: Any, position: Any) -> Any:
    """``value[position]``."""
    kind = value.__class__
    if kind is list or kind is str or kind is bytes:
        at = to_index(position)
        if -len(value) <= at < len(value):
            return value[at]
        message = f"Index {at} out of bounds ({type_of(value)} length {len(value)})"
        raise RuntimeFault(message, kind="key", code="E0402", help=positions(len(value)))
    found = as_map(value)
    if found is None:
        if type_of(value) == "array":
            return value.item(to_index(position))
        raise RuntimeFault(f"Cannot index into {type_of(value)}", kind="type", code="E0305")
    key = key_text(position)
    if key in found:
        return found[key]
    raise missing_key(key, found)


def missing_key(key: str, keys: Iterable[str] = ()) -> RuntimeFault:
    """The error of a key that a map lacks; ``keys`` are the keys that it has, if known."""
    from language.hints import missing_key_hint

    hint = missing_key_hint("map", key)
    fault = RuntimeFault(f"Map has no key '{key}'{hint}", kind="key")
    if not hint:
        fault.sought, fault.known = key, keys
    return fault


def no_fields(kind: str, name: str) -> RuntimeFault:
    """The error of reading a field of a value whose type has no fields."""
    from language.hints import missing_key_hint, time_part_help

    text = f"Cannot access property '{name}' of {kind}{missing_key_hint(kind, name)}"
    advice = (
        "the value is `nothing` here: ask first with `when x != nothing`, where x is that value"
        if kind == "nothing"
        else time_part_help(kind, name)
    )
    return RuntimeFault(text, kind="type", code="E0305", help=advice)


def field(value: Any, name: str) -> Any:
    """``value.name`` and ``name of value``."""
    found = as_map(value)
    if found is None:
        raise no_fields(type_of(value), name)
    if name in found:
        return found[name]
    if value.__class__ is Module and value.hides(name):
        raise RuntimeFault(
            f"the module has no export '{name}' — it is defined inside the module but not exported: write "
            f"`export task {name}` or `export let {name} be …` there",
            kind="name",
            code="E0204",
        )
    raise missing_key(name, found)
