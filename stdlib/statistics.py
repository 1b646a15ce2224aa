"""Statistics of lists of numbers, and of arrays. ``nothing`` is skipped, a NaN makes the result NaN; decimals stay decimals."""

from __future__ import annotations

import math
from itertools import pairwise

from language.errors import RuntimeFault
from language.registry import MISSING, Family
from language.values import type_of
from language.values.display import display
from language.values.operators import MIXED_NUMBERS, add, div, is_decimal, mul, sub, to_float
from stdlib.mathematics import is_real, real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

family = Family("statistics", "Statistics")


def _present(name: str, values: Any) -> list[Any]:
    """The numbers of a list without ``nothing``.

    Raises ``RuntimeFault`` for other types, for a decimal beside a float, and when every value is missing.
    """
    if values.__class__ is not list:
        if type_of(values) == "array" and values.data.ndim == 1:
            return values.to_list()  # type: ignore[no-any-return]
        raise RuntimeFault(f"{name} expects a list, got {type_of(values)}", kind="type")
    numbers: list[Any] = []
    decimals = floats = False
    for value in values:
        kind = value.__class__
        if kind is float:
            floats = True
        elif value is None:
            continue
        elif kind is not int:
            if not is_decimal(value):
                raise RuntimeFault(f"{name} expects a list of numbers, got {type_of(value)}", kind="type")
            decimals = True
        numbers.append(value)
    if decimals and floats:
        raise RuntimeFault(MIXED_NUMBERS, kind="type")
    if values and not numbers:
        raise RuntimeFault(f"{name}: every value is missing")
    return numbers


def _of_array(name: str, values: Any, axis: Any, ddof: int = 0) -> Any:
    """The reduction of an array; ``MISSING`` for a list. Raises ``RuntimeFault`` for a list with an axis."""
    if values.__class__ is not list and type_of(values) == "array":
        return values.reduced(name, axis, ddof)
    if axis is not None:
        raise RuntimeFault(f"{name}: axis is for arrays, got {type_of(values)}: write array(list)", kind="type")
    return MISSING


def _exactly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls an arithmetic operation and removes the position from its errors, because a builtin raises them."""
    try:
        return function(*arguments)
    except RuntimeFault as fault:
        raise RuntimeFault(fault.message, kind=fault.kind, code=fault.code) from None


def _total(numbers: list[Any]) -> Any:
    total: Any = 0
    try:
        for number in numbers:
            total += number
    except OverflowError:
        total = 0
        for number in numbers:
            total = add(total, number)
    return total


@family.builtin("sum(list)", named=("axis",), keeps="nothing")
def sum_(list_: Any, *, axis: Any = None) -> Any:
    """The sum, from left to right; exact for integers and decimals. `sum([])` is `0`.

    Of an array the sum of all elements, or those along `axis`: `sum(array([[1, 2], [3, 4]]), axis = 0)` is `[4, 6]`.
    """
    whole = _of_array("sum", list_, axis)
    if whole is not MISSING:
        return whole
    return _exactly(_total, _present("sum", list_))


@family.builtin("product(list)", named=("axis",), keeps="nothing")
def product(list_: Any, *, axis: Any = None) -> Any:
    """The product, from left to right; exact for integers and decimals. `product([])` is `1`."""
    whole = _of_array("product", list_, axis)
    if whole is not MISSING:
        return whole
    result: Any = 1
    for number in _present("product", list_):
        result = _exactly(mul, result, number)
    return result


# --- extremes ---------------------------------------------------------------------------------------------------------------


def _candidates(name: str, values: tuple[Any, ...]) -> list[Any]:
    """The values that ``min`` and ``max`` compare: the items of one list, or two or more arguments."""
    if len(values) == 1:
        if values[0].__class__ is not list:
            raise RuntimeFault(f"{name} expects a list, or two or more arguments, got {type_of(values[0])}", kind="type")
        items = values[0]
    else:
        items = list(values)
    present = [item for item in items if item is not None]
    if not present:
        raise RuntimeFault(f"{name}: every value is missing" if items else f"{name} of an empty sequence")
    return present


def _extreme(name: str, values: tuple[Any, ...], *, greatest: bool) -> Any:
    items = _candidates(name, values)
    kinds = {_order_kind(name, item) for item in items}
    if len(kinds) > 1:
        if not kinds <= {"integer", "float", "decimal"}:
            first = type_of(items[0])
            other = next(type_of(item) for item in items if type_of(item) != first)
            raise RuntimeFault(f"{name}: cannot order {first} and {other} together")
        if kinds >= {"float", "decimal"}:
            raise RuntimeFault(MIXED_NUMBERS, kind="type")
    best = items[0]
    for item in items:
        if item != item:
            return item
        if (item > best) if greatest else (item < best):
            best = item
    return best


def _order_kind(name: str, item: Any) -> str:
    if is_real(item):
        return "decimal" if is_decimal(item) else "float" if item.__class__ is float else "integer"
    if item.__class__ is str or type_of(item) in ("date", "datetime", "duration"):
        return type_of(item)
    raise RuntimeFault(f"{name} expects a number, got {type_of(item)}", kind="type")


@family.builtin("min(v, more...)", named=("axis",), keeps="nothing")
def min_(v: Any, *more: Any, axis: Any = None) -> Any:
    """The least of a list, or of two or more arguments: numbers, or texts. Any nan gives nan, `nothing` is skipped.
    Of an array the least element, or those along `axis`.

    `min([3, nothing, 1])` is `1`, `min("b", "a")` is `"a"`.
    """
    whole = MISSING if more else _of_array("min", v, axis)
    if whole is not MISSING:
        return whole
    return _extreme("min", (v, *more), greatest=False)


@family.builtin("max(v, more...)", named=("axis",), keeps="nothing")
def max_(v: Any, *more: Any, axis: Any = None) -> Any:
    """The greatest of a list, or of two or more arguments: numbers, or texts. Any nan gives nan, `nothing` is skipped."""
    whole = MISSING if more else _of_array("max", v, axis)
    if whole is not MISSING:
        return whole
    return _extreme("max", (v, *more), greatest=True)


def _position(name: str, values: Any, *, greatest: bool) -> int:
    numbers = _present(name, values)
    if not numbers:
        raise RuntimeFault(f"{name} of an empty sequence")
    best: Any = None
    place = 0
    for index, value in enumerate(values):
        if value is None:
            continue
        if value != value:
            return index
        if best is None or ((value > best) if greatest else (value < best)):
            best, place = value, index
    return place


@family.builtin("argmin(list)", named=("axis",))
def argmin(list_: Any, *, axis: Any = None) -> Any:
    """The position of the least number, of the first one if several are equal."""
    whole = _of_array("argmin", list_, axis)
    if whole is not MISSING:
        return whole
    return _position("argmin", list_, greatest=False)


@family.builtin("argmax(list)", named=("axis",))
def argmax(list_: Any, *, axis: Any = None) -> Any:
    """The position of the greatest number, of the first one if several are equal."""
    whole = _of_array("argmax", list_, axis)
    if whole is not MISSING:
        return whole
    return _position("argmax", list_, greatest=True)


# --- averages and spread ----------------------------------------------------------------------------------------------------


@family.builtin("mean(list)", named=("axis",), keeps="nothing")
def mean(list_: Any, *, axis: Any = None) -> Any:
    """The arithmetic mean, a float; of decimals a decimal. `mean([1, nothing, 3])` is `2.0`. Arrays may have an `axis`."""
    whole = _of_array("mean", list_, axis)
    if whole is not MISSING:
        return whole
    numbers = _present("mean", list_)
    if not numbers:
        raise RuntimeFault("mean of an empty list")
    return _exactly(div, _total(numbers), len(numbers))


def _degrees_of_freedom(name: str, second: Any, ddof: Any) -> int:
    if second is not MISSING:
        raise RuntimeFault(f"{name}: give the second argument by name: {name}(list, ddof = {display(second)})")
    if ddof.__class__ is not int or ddof < 0:
        raise RuntimeFault(f"{name} expects ddof to be an integer of 0 or more, got {display(ddof)}")
    return ddof


def _variance(numbers: list[Any], ddof: int) -> Any:
    count = len(numbers)
    if count <= ddof:
        return math.nan
    if any(number.__class__ is float for number in numbers):
        average = to_float(_total(numbers)) / count
        squares = 0.0
        for number in numbers:
            deviation = to_float(number) - average
            squares += deviation * deviation
        return squares / (count - ddof)
    # Exact for integers and decimals: only the division rounds.
    total, squares_ = _total(numbers), _total([mul(number, number) for number in numbers])
    return div(sub(mul(count, squares_), mul(total, total)), count * (count - ddof))


@family.builtin("var(list, ddof = 1)", named=("ddof", "axis"))
def var(list_: Any, second: Any = MISSING, *, ddof: Any = 1, axis: Any = None) -> Any:
    """The sample variance, a float; of decimals a decimal. `ddof = 0` is the variance of the population."""
    freedom = _degrees_of_freedom("var", second, ddof)
    whole = _of_array("var", list_, axis, freedom)
    if whole is not MISSING:
        return whole
    numbers = _present("var", list_)
    if not numbers:
        raise RuntimeFault("var of an empty list")
    return _exactly(_variance, numbers, freedom)


@family.builtin("std(list, ddof = 1)", named=("ddof", "axis"))
def std(list_: Any, second: Any = MISSING, *, ddof: Any = 1, axis: Any = None) -> Any:
    """The sample standard deviation, a float; of decimals a decimal. `ddof = 0` is that of the population.

    A finite root of decimals has their scale, or as many digits as it needs; any other root has 28 significant digits.

    `std([1, 2, 3, 4], ddof = 0)` is `1.118033988749895`.
    """
    freedom = _degrees_of_freedom("std", second, ddof)
    whole = _of_array("std", list_, axis, freedom)
    if whole is not MISSING:
        return whole
    numbers = _present("std", list_)
    if not numbers:
        raise RuntimeFault("std of an empty list")
    spread = _exactly(_variance, numbers, freedom)
    if not is_decimal(spread):
        return math.sqrt(spread)
    return spread.square_root().at_scale(_scale(numbers))


def _scale(numbers: list[Any]) -> int:
    """The most digits after the point of any of the decimals."""
    scales: list[int] = [number.scale for number in numbers if is_decimal(number)]
    return max(scales)


@family.builtin("median(x)", named=("axis",))
def median(x: Any, *, axis: Any = None) -> Any:
    """The middle value, or the mean of the middle two: a float; of decimals a decimal."""
    whole = _of_array("median", x, axis)
    if whole is not MISSING:
        return whole
    numbers = _sorted("median", x)
    if numbers is None:
        return math.nan
    middle = len(numbers) // 2
    if len(numbers) % 2:
        return numbers[middle] if is_decimal(numbers[middle]) else to_float(numbers[middle])
    return _exactly(div, _exactly(add, numbers[middle - 1], numbers[middle]), 2)


def _sorted(name: str, values: Any) -> list[Any] | None:
    """The sorted numbers, ``None`` when one is NaN; integers become decimals where there are decimals."""
    numbers = _present(name, values)
    if not numbers:
        raise RuntimeFault(f"{name} of an empty collection")
    if any(number != number for number in numbers):
        return None
    if any(is_decimal(number) for number in numbers):
        from language.values.decimals import from_int

        numbers = [_exactly(from_int, number) if number.__class__ is int else number for number in numbers]
    numbers.sort()
    return numbers


def _at_fraction(numbers: list[Any], fraction: Any) -> Any:
    """The value at a fraction 0..1 of the sorted numbers, interpolated between neighbours."""
    if is_decimal(numbers[0]):
        from language.values.decimals import parse

        place = mul(parse(display(fraction)), len(numbers) - 1)
        low = place.to_int()
        if low == len(numbers) - 1:
            return numbers[low].at_scale(_scale(numbers))
        between = add(numbers[low], mul(sub(numbers[low + 1], numbers[low]), sub(place, low)))
        return between.at_scale(_scale(numbers))
    place = to_float(fraction) * (len(numbers) - 1)
    low = min(int(place), len(numbers) - 1)
    below = to_float(numbers[low])
    if low == len(numbers) - 1 or place == low:
        return below
    return below + (to_float(numbers[low + 1]) - below) * (place - low)


@family.builtin("percentile(x, p)")
def percentile(x: Any, p: Any) -> Any:
    """The value below which `p` percent (0..100) of the numbers lie, interpolated linearly.

    Of decimals it is exact, with their scale or as many digits as it needs. `percentile([1, 2, 3, 4], 25)` is `1.75`.
    """
    numbers = _sorted("percentile", x)
    if not is_real(p):
        raise RuntimeFault(f"percentile expects a number, got {type_of(p)}", kind="type")
    if not 0 <= p <= 100:
        raise RuntimeFault(f"percentile expects p between 0 and 100, got {display(p)}")
    if numbers is None:
        return math.nan
    if is_decimal(numbers[0]):
        from language.values.decimals import parse

        return _exactly(_at_fraction, numbers, div(parse(display(p)), 100))
    return _at_fraction(numbers, real("percentile", p) / 100)


@family.builtin("quantile(x, q)")
def quantile(x: Any, q: Any) -> Any:
    """The value below which the fraction `q` (0..1) of the numbers lies, interpolated linearly.

    Of decimals it is exact, with their scale or as many digits as it needs.
    """
    numbers = _sorted("quantile", x)
    if not is_real(q):
        raise RuntimeFault(f"quantile expects a number, got {type_of(q)}", kind="type")
    if not 0 <= q <= 1:
        raise RuntimeFault(f"quantile expects q between 0 and 1, got {display(q)}")
    if numbers is None:
        return math.nan
    return _exactly(_at_fraction, numbers, q if is_decimal(numbers[0]) else real("quantile", q))


# --- series and pairs -------------------------------------------------------------------------------------------------------


@family.builtin("cumsum(list)", named=("axis",))
def cumsum(list_: Any, *, axis: Any = None) -> Any:
    """The running sums, one for each item; a missing value stays `nothing` and adds nothing."""
    whole = _of_array("cumsum", list_, axis)
    if whole is not MISSING:
        return whole
    _present("cumsum", list_)
    total: Any = 0
    sums: list[Any] = []
    for value in list_:
        if value is not None:
            total = _exactly(add, total, value)
        sums.append(None if value is None else total)
    return sums


@family.builtin("diff(list)", named=("axis",))
def diff(list_: Any, *, axis: Any = None) -> Any:
    """The differences of neighbours, each item minus the one before it; `nothing` beside a missing value."""
    whole = _of_array("diff", list_, axis)
    if whole is not MISSING:
        return whole
    _present("diff", list_)
    return [None if before is None or after is None else _exactly(sub, after, before) for before, after in pairwise(list_)]


def _pairs(name: str, a: Any, b: Any) -> tuple[list[float], list[float]]:
    a, b = (values if values.__class__ is list else _present(name, values) for values in (a, b))
    _present(name, a)
    _present(name, b)
    if len(a) != len(b):
        raise RuntimeFault(f"{name} expects two lists of the same length, got {len(a)} and {len(b)}")
    present = [(real(name, x), real(name, y)) for x, y in zip(a, b) if x is not None and y is not None]
    if not present:
        raise RuntimeFault(f"{name}: every value is missing" if a else f"{name} of an empty list")
    return [x for x, _ in present], [y for _, y in present]


def _codeviation(left: list[float], right: list[float]) -> float:
    left_mean, right_mean = _total(left) / len(left), _total(right) / len(right)
    products = 0.0
    for x, y in zip(left, right):
        products += (x - left_mean) * (y - right_mean)
    return products


@family.builtin("cov(a, b, ddof = 1)", named=("ddof",))
def cov(a: Any, b: Any, third: Any = MISSING, *, ddof: Any = 1) -> float:
    """The sample covariance of two lists of one length; pairs with a missing value are skipped."""
    if third is not MISSING:
        raise RuntimeFault(f"cov: give the third argument by name: cov(a, b, ddof = {display(third)})")
    freedom = _degrees_of_freedom("cov", MISSING, ddof)
    left, right = _pairs("cov", a, b)
    return _codeviation(left, right) / (len(left) - freedom) if len(left) > freedom else math.nan


@family.builtin("corr(a, b)")
def corr(a: Any, b: Any) -> float:
    """Pearson's correlation of two lists of one length; nan when one of them is constant."""
    left, right = _pairs("corr", a, b)
    spread, other = _codeviation(left, left), _codeviation(right, right)
    # One root of the product is exact where two rounded roots are not (a list with its double), unless it over- or underflows.
    product = spread * other
    scale = math.sqrt(product) if 0 < product < math.inf else math.sqrt(spread) * math.sqrt(other)
    return _codeviation(left, right) / scale if scale else math.nan


# --- histogram --------------------------------------------------------------------------------------------------------------


@family.builtin("histogram(x, bins?)")
def histogram(x: Any, bins: Any = None) -> dict[str, Any]:
    """How many numbers fall into each bin: `{counts, edges}`.

    `bins` is their number (10 without it, at most a million) or the list of ascending edges. A bin holds its lower edge and
    not its upper one, the last bin both; numbers outside are not counted.
    """
    from bisect import bisect_right

    data = [real("histogram", number) for number in _present("histogram", x)]
    if not all(math.isfinite(number) for number in data):
        raise RuntimeFault("histogram expects finite numbers")
    edges = _given_edges(bins) if bins.__class__ is list else _even_edges(data, 10 if bins is None else bins)
    counts = [0] * (len(edges) - 1)
    for number in data:
        if edges[0] <= number <= edges[-1]:
            counts[min(bisect_right(edges, number), len(counts)) - 1] += 1
    return {"counts": counts, "edges": edges}


def _given_edges(bins: list[Any]) -> list[float]:
    edges = [real("histogram", edge) for edge in bins]
    if len(edges) < 2 or not all(low < high for low, high in pairwise(edges)):
        raise RuntimeFault("histogram expects two or more edges in ascending order")
    return edges


_MOST_BINS = 1_000_000


def _even_edges(data: list[float], bins: Any) -> list[float]:
    if bins.__class__ is not int or not 1 <= bins <= _MOST_BINS:
        shown = display(bins) if bins.__class__ is not int or abs(bins) < 10**20 else "an integer of more than 20 digits"
        raise RuntimeFault(f"histogram expects 1 to {_MOST_BINS} bins, or a list of edges, got {shown}")
    if not data:
        raise RuntimeFault("histogram of an empty collection")
    low, high = min(data), max(data)
    if low == high:
        low, high = low - 0.5, high + 0.5
    width = high - low
    if math.isinf(width * bins):
        return [low * (1 - step / bins) + high * (step / bins) for step in range(bins)] + [high]
    return [low + width * step / bins for step in range(bins)] + [high]
