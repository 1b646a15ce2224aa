"""Arrays: immutable n-dimensional tables of real numbers, on top of NumPy."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread

from language.errors import RuntimeFault
from language.values import type_of
from language.values.allowance import refuse_beyond
from language.values.display import display, number_text
from language.values.operators import no_fields, positions, to_float, to_index
from language.waits import interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

#: The most elements of one array, of 8 bytes each, so that one call ends within seconds even without a memory limit.
MOST_ELEMENTS = 50_000_000
#: The most dimensions.
MOST_DIMENSIONS = 32
#: An array of more elements is displayed by its shape alone.
_SHOWN = 100
_BYTES = 8
#: Bytes of a Python number in a list.
_ITEM_BYTES = 40
#: Elementwise functions whose name in the language differs from NumPy's.
_FUNCTIONS = {
    "ln": "log",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "abs": "absolute",
}
#: Reductions that are defined for an array without elements.
_OF_NONE = ("sum", "product", "cumsum", "diff")
_loaded: list[Any] = []


def numpy(builtin: str) -> Any:
    """The package NumPy. Raises ``RuntimeFault`` that names the extra if it is not installed."""
    if not _loaded:
        # A cancellation may be delivered at any point, and NumPy cannot be imported again after an interrupted import.
        _loaded.append(aside(_load))
    if _loaded[0] is None:
        raise RuntimeFault(
            f"{builtin}: the package numpy is not installed: pip install 'ceiling-lang[numpy]'", kind="unsupported"
        )
    return _loaded[0]


def _load() -> Any:
    try:
        return __import__("numpy.linalg")
    except ImportError:
        return None


def aside(work: Callable[[], Any]) -> Any:
    """Runs ``work`` in a thread of its own and returns its result. The waiting program can be cancelled meanwhile. Raises what
    ``work`` raises.
    """
    over = allocate_lock()
    over.acquire()
    results: list[Any] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)
        finally:
            over.release()

    try:
        start_new_thread(run, ())
    except RuntimeError:  # no further thread
        run()
    interruptible_wait(over)
    if failures:
        raise failures[0]
    return results[0]


class Array:
    """``data`` is a NumPy array of doubles. It is never written to, because arrays may share their elements."""

    __slots__ = ("data",)

    language_type = "array"

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    def shape(self) -> list[int]:
        """The lengths of its dimensions."""
        return list(self.data.shape)

    def display(self) -> str:
        """Nested lists; for more than 100 elements the shape: ``array(shape=[2, 100], 200 elements)``."""
        if self.data.size > _SHOWN:
            return f"array(shape={display(self.shape)}, {self.data.size} elements)"
        return _text(self.data.tolist())

    __repr__ = display

    def to_list(self) -> Any:
        """Nested lists of floats; for an array without dimensions its number."""
        refuse_beyond(self.data.size * _ITEM_BYTES)
        return self.data.tolist()

    def length(self) -> int:
        """The length of the first dimension. Raises ``RuntimeFault`` where there is none."""
        if not self.data.ndim:
            raise RuntimeFault("an array without dimensions has no length: size(a) counts its elements", kind="type")
        return int(self.data.shape[0])

    __len__ = length

    def iterate(self) -> Iterator[Any]:
        """Its elements along the first dimension: numbers, or arrays of one dimension less."""
        return map(self.item, range(self.length()))

    def item(self, position: int) -> Any:
        """The element at a position of the first dimension, negative ones from the end. Raises ``RuntimeFault``."""
        size = self.length()
        if not -size <= position < size:
            raise RuntimeFault(
                f"Index {position} out of bounds (array length {size})", kind="key", code="E0402", help=positions(size)
            )
        return result(self.data[position])

    def __getitem__(self, position: Any) -> Any:
        if position.__class__ is str:
            raise no_fields("array", position)
        return self.item(position if position.__class__ is int else to_index(position))

    def sliced(self, start: int | None, end: int | None) -> Array:
        """The part along the first dimension."""
        self.length()
        return Array(self.data[start:end])

    def flattened(self) -> Array:
        """All elements in one dimension."""
        refuse_beyond(self.data.nbytes)
        return Array(self.data.reshape(-1))

    # ---- operators ------------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self.data.size)

    def __eq__(self, other: Any) -> bool:
        return other.__class__ is Array and bool(_loaded[0].array_equal(self.data, other.data))

    __hash__ = None  # type: ignore[assignment]

    def _with(self, other: Any, function: str, swapped: bool = False) -> Any:
        kind = other.__class__
        if kind is Array:
            check_size("the result", broadcast(self.data.shape, other.data.shape))
            there = other.data
        elif kind is int or kind is float:
            refuse_beyond(self.data.nbytes)
            there = to_float(other)
        else:
            return NotImplemented
        np = _loaded[0]
        with np.errstate(all="ignore"):
            made = getattr(np, function)(*((there, self.data) if swapped else (self.data, there)))
        return Array(np.asarray(made))

    def __add__(self, other: Any) -> Any:
        return self._with(other, "add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, "subtract")

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, "subtract", swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, "multiply")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, "divide")

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, "divide", swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, "floor_divide")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, "floor_divide", swapped=True)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, "remainder")

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, "remainder", swapped=True)

    def __pow__(self, other: Any) -> Any:
        return self._with(other, "power")

    def __rpow__(self, other: Any) -> Any:
        return self._with(other, "power", swapped=True)

    def __neg__(self) -> Array:
        return self.mapped("negative")

    def __pos__(self) -> Array:
        return self

    # ---- functions ------------------------------------------------------------------------------------------------------

    def mapped(self, name: str) -> Array:
        """Applies a function of numbers to each element."""
        np = _loaded[0]
        refuse_beyond(self.data.nbytes)
        with np.errstate(all="ignore"):
            return Array(np.asarray(getattr(np, _FUNCTIONS.get(name, name))(self.data)))

    def reduced(self, name: str, axis: Any = None, ddof: int = 0) -> Any:
        """A reduction of all elements, or along one dimension: a number or an array.

        ``name`` is the builtin: ``sum``, ``product``, ``min``, ``max``, ``mean``, ``median``, ``var``, ``std``, ``argmin``,
        ``argmax``, ``cumsum``, ``diff``. Raises ``RuntimeFault``.
        """
        np, data = _loaded[0], self.data
        along = None if axis is None else axis_of(name, axis, data.shape)
        if along is None and (name == "diff" or (name == "cumsum" and data.ndim == 1)):
            along = axis_of(name, data.ndim - 1, data.shape)
        count = data.size if along is None else data.shape[along]
        if not data.size and name not in _OF_NONE:
            raise RuntimeFault(f"{name} of an empty array", kind="value")
        refuse_beyond(2 * data.nbytes)
        with np.errstate(all="ignore"):
            if name in ("var", "std"):
                made = getattr(np, name)(data, axis=along, ddof=ddof if count > ddof else 0)
                if count <= ddof:
                    made = made * np.nan
            else:
                made = getattr(np, "prod" if name == "product" else name)(data, axis=along)
        if made.ndim == 0 and name in ("argmin", "argmax"):
            return int(made)
        return result(np.asarray(made, dtype=float))


def result(data: Any) -> Any:
    """A NumPy result as a value: a number if it has no dimensions, otherwise an array."""
    return Array(data) if data.ndim else float(data)


def _text(value: Any) -> str:
    if value.__class__ is list:
        return "[" + ", ".join(map(_text, value)) + "]"
    return number_text(value).removesuffix(".0")


# ---- shapes ----------------------------------------------------------------------------------------------------------------


def check_size(what: str, shape: Any, copies: int = 1) -> int:
    """The number of elements of a shape. Raises ``RuntimeFault`` for too many, ``LimitExceeded`` if ``copies`` of them would
    exceed the memory limit.
    """
    count = 1
    for length in shape:
        count *= length
    if count > MOST_ELEMENTS:
        raise RuntimeFault(
            f"{what}: an array of the shape {display(list(shape))} would have {count} elements, more than {MOST_ELEMENTS}",
            kind="resources",
        )
    refuse_beyond(count * _BYTES * copies)
    return count


def broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> list[int]:
    """The shape of an elementwise result. Raises ``RuntimeFault`` for shapes that cannot be broadcast together."""
    count = max(len(left), len(right))
    shape = []
    for mine, theirs in zip((1,) * (count - len(left)) + left, (1,) * (count - len(right)) + right):
        if mine != theirs and 1 not in (mine, theirs):
            raise RuntimeFault(
                f"arrays of the shapes {display(list(left))} and {display(list(right))} do not fit together: from the last "
                "dimension on, two lengths must be equal or one of them 1",
                kind="value",
            )
        shape.append(theirs if mine == 1 else mine)
    return shape


def axis_of(builtin: str, axis: Any, shape: tuple[int, ...]) -> int:
    """The dimension that ``axis`` names, negative ones from the end. Raises ``RuntimeFault``."""
    at = to_index(axis)
    if not -len(shape) <= at < len(shape):
        raise RuntimeFault(
            f"{builtin}: there is no axis {at} in an array of the shape {display(list(shape))}: it has {len(shape)} dimensions",
            kind="value",
        )
    return at % len(shape)


def array_of(builtin: str, value: Any) -> Array:
    """The array of a number or of nested lists of numbers; an array is returned unchanged. Raises ``RuntimeFault`` that names
    the wrong element.
    """
    np = numpy(builtin)
    if value.__class__ is Array:
        return value
    shape = _shape_of(builtin, value)
    refuse_beyond(check_size(builtin, shape) * _ITEM_BYTES)
    numbers: list[float] = []
    _collect(builtin, value, shape, [], numbers)
    return Array(np.array(numbers, dtype=float).reshape(shape))


def _shape_of(builtin: str, value: Any) -> list[int]:
    shape: list[int] = []
    while True:
        if value.__class__ is Array:  # a list of arrays
            return shape + value.shape
        if value.__class__ is not list:
            return shape
        if len(shape) == MOST_DIMENSIONS:
            raise RuntimeFault(f"{builtin}: lists lie in each other more than {MOST_DIMENSIONS} deep", kind="resources")
        shape.append(len(value))
        if not value:
            return shape
        value = value[0]


def _collect(builtin: str, value: Any, shape: list[int], place: list[int], numbers: list[float]) -> None:
    if value.__class__ is Array:
        value = value.to_list()
    if len(place) == len(shape):
        kind = value.__class__
        if kind is float:
            numbers.append(value)
        elif kind is int:
            numbers.append(to_float(value))
        else:
            cure = "; nan stands for a missing one" if value is None else ": float(x)" if type_of(value) == "decimal" else ""
            at = "".join(f"[{step}]" for step in place)
            raise RuntimeFault(f"{builtin}: element {at or 'one'} is {type_of(value)}, must be a number{cure}", kind="type")
        return
    if value.__class__ is not list or len(value) != shape[len(place)]:
        got = f"a list of {len(value)}" if value.__class__ is list else type_of(value)
        at = "".join(f"[{step}]" for step in place)
        raise RuntimeFault(
            f"{builtin}: {at} is {got}, must be a list of {shape[len(place)]}: the lists of one depth have one length",
            kind="value",
        )
    for number, item in enumerate(value):
        _collect(builtin, item, shape, [*place, number], numbers)
