"""Arrays of numbers: creating, reading and reshaping them. Functions that calculate with arrays are with those for numbers."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import type_of
from language.values.display import display
from language.values.operators import is_decimal, to_float, to_index
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.values.arrays import Array

family = Family("arrays", "Arrays", pure=True)


def array_module(builtin: str) -> Any:
    """The module of arrays, with NumPy loaded. Raises ``RuntimeFault`` in a build without NumPy, or if it is not installed."""
    try:
        from language.values import arrays
    except ImportError:
        raise native_only(builtin, "this build has no NumPy") from None
    arrays.numpy(builtin)
    return arrays


# --- made -------------------------------------------------------------------------------------------------------------------


@family.builtin("array(nested)", profile="native")
def array(nested: Any) -> Array:
    """An array of the numbers of nested lists, in any number of dimensions. It needs NumPy:
    `pip install 'ceiling-lang[numpy]'`.

    The elements are 64-bit floats, whatever was given; a text, bool, decimal or `nothing` among them is an error that names its
    position. An array never changes. `a[i]` is the element at a position of the first dimension, negative ones from the end: a
    number, or an array of one dimension less. `each` walks over those, `length(a)` counts them, `slice` cuts them.

    `+ - * / // % **` and `-a` calculate element by element, also with a number. Different shapes are broadcast as in NumPy: a
    dimension of length 1 is repeated. A division by zero gives `inf` or `nan`. `sqrt`, `exp`, `ln`, `log10`, `log2`, `abs`,
    `sin`, `cos`, `tan`, `tanh` and similar functions are applied to each element. `sum`, `product`, `min`, `max`, `mean`,
    `median`, `var`, `std`, `argmin`, `argmax`, `cumsum` and `diff` combine all elements, or with `axis = 0` those along one
    dimension; `var` and `std` are those of a sample (`ddof = 1`). `==` compares whole arrays: shape and elements.

    In JSON an array is nested lists. An array of more than 100 elements is displayed as its shape. It has at most 50,000,000
    elements.

    `array([[1, 2], [3, 4]]) * 10 + array([1, 2])` is `[[11, 22], [31, 42]]`, `sum(array([[1, 2], [3, 4]]), axis = 0)` is
    `[4, 6]`.
    """
    return array_module("array").array_of("array", nested)  # type: ignore[no-any-return]


@family.builtin("zeros(shape)", profile="native")
def zeros(shape: Any) -> Array:
    """An array of zeros. `shape` is the list of the lengths of its dimensions, or one length.

    `zeros([2, 3])` is `[[0, 0, 0], [0, 0, 0]]`.
    """
    return _filled("zeros", shape, 0.0)


@family.builtin("ones(shape)", profile="native")
def ones(shape: Any) -> Array:
    """An array of ones. `ones(3)` is `[1, 1, 1]`."""
    return _filled("ones", shape, 1.0)


@family.builtin("full(shape, v)", profile="native")
def full(shape: Any, v: Any) -> Array:
    """An array that holds `v` in every place. `full([1, 2], 7)` is `[[7, 7]]`."""
    return _filled("full", shape, v)


@family.builtin("arange(start, stop?, step?)", profile="native")
def arange(start: Any, stop: Any = None, step: Any = None) -> Array:
    """The numbers from `start` in steps of `step` (1), `stop` excluded; with one argument from 0 up to that. With fractional
    steps, rounding can add a number at the end; `linspace` takes the count instead.

    `arange(0, 1, 0.25)` is `[0, 0.25, 0.5, 0.75]`.
    """
    from math import ceil

    module = array_module("arange")
    first, last = (0.0, _number("arange", start)) if stop is None else (_number("arange", start), _number("arange", stop))
    stride = 1.0 if step is None else _number("arange", step)
    if not stride:
        raise RuntimeFault("arange: the step must not be zero")
    spans = (last - first) / stride
    if spans - spans != 0:
        raise RuntimeFault("arange: start, stop and step must be finite, and the step not so small")
    count = max(0, ceil(spans))
    module.check_size("arange", [count], 2)
    np = module.numpy("arange")
    return module.Array(first + np.arange(count, dtype=float) * stride)  # type: ignore[no-any-return]


@family.builtin("linspace(start, stop, n?)", profile="native")
def linspace(start: Any, stop: Any, n: Any = None) -> Array:
    """`n` (50) numbers at equal distances from `start` to `stop`, both included. `linspace(0, 1, 3)` is `[0, 0.5, 1]`."""
    module = array_module("linspace")
    first, last = _number("linspace", start), _number("linspace", stop)
    if first - first != 0 or last - last != 0:
        raise RuntimeFault("linspace: start and stop must be finite")
    (count,) = _shape("linspace", 50 if n is None else n)
    module.check_size("linspace", [count], 3)
    np = module.numpy("linspace")
    with np.errstate(all="ignore"):
        return module.Array(np.linspace(first, last, count))  # type: ignore[no-any-return]


@family.builtin("identity(n)", profile="native")
def identity(n: Any) -> Array:
    """The matrix of `n` rows and columns with ones on its diagonal and zeros elsewhere. `identity(2)` is `[[1, 0], [0, 1]]`."""
    return _identity("identity", n)


@family.builtin("eye(n)", profile="native")
def eye(n: Any) -> Array:
    """The same as `identity(n)`."""
    return _identity("eye", n)


# --- looked at --------------------------------------------------------------------------------------------------------------


@family.builtin("shape(a)", profile="native", result="list", fresh=True)
def shape(a: Any) -> list[int]:
    """The lengths of the dimensions of an array, or of nested lists. `shape(zeros([2, 3]))` is `[2, 3]`."""
    return array_module("shape").array_of("shape", a).shape  # type: ignore[no-any-return]


@family.builtin("ndim(a)", profile="native", result="int")
def ndim(a: Any) -> int:
    """The number of dimensions of an array. `ndim(zeros([2, 3]))` is `2`."""
    return array_module("ndim").array_of("ndim", a).data.ndim  # type: ignore[no-any-return]


@family.builtin("size(a)", profile="native", result="int")
def size(a: Any) -> int:
    """The number of elements of an array. `size(zeros([2, 3]))` is `6`."""
    return array_module("size").array_of("size", a).data.size  # type: ignore[no-any-return]


@family.builtin("to_list(a)", profile="native")
def to_list(a: Any) -> Any:
    """The elements of an array as nested lists of floats; an array without dimensions gives its number.

    `to_list(arange(2))` is `[0.0, 1.0]`.
    """
    return array_module("to_list").array_of("to_list", a).to_list()


@family.builtin("at(a, place)", profile="native")
def at(a: Any, place: Any) -> Any:
    """The element of an array at a list of positions, one for each dimension; negative ones count from the end. Fewer positions
    give the subarray there.

    `at(array([[1, 2], [3, 4]]), [1, 0])` is `3.0`.
    """
    found = array_module("at").array_of("at", a)
    if place.__class__ is not list:
        raise RuntimeFault(f"at expects a list of positions, got {type_of(place)}", kind="type")
    positions = [to_index(position) for position in place]
    lengths = found.shape
    if len(positions) > len(lengths) or not all(-most <= each < most for each, most in zip(positions, lengths)):
        raise RuntimeFault(
            f"at: {display(positions)} lies outside of an array of the shape {display(lengths)}", kind="key", code="E0402"
        )
    return array_module("at").result(found.data[tuple(positions)])


# --- given another shape ----------------------------------------------------------------------------------------------------


@family.builtin("reshape(a, shape)", profile="native")
def reshape(a: Any, shape: Any) -> Array:
    """The same elements, row by row, in another shape; one length may be -1, which is computed from the others.
    `reshape(arange(6), [2, -1])` is `[[0, 1, 2], [3, 4, 5]]`.
    """
    module = array_module("reshape")
    found = module.array_of("reshape", a)
    lengths = _shape("reshape", shape, least=-1)
    open_ones = lengths.count(-1)
    known = module.check_size("reshape", [length for length in lengths if length >= 0], 0)
    if open_ones == 1 and known and found.data.size % known == 0:
        lengths[lengths.index(-1)] = found.data.size // known
    elif open_ones or known != found.data.size:
        raise RuntimeFault(
            f"reshape: the elements of the shape {display(found.shape)} do not fill the shape {display(lengths)}",
            kind="value",
        )
    module.check_size("reshape", lengths)
    return module.Array(found.data.reshape(lengths))  # type: ignore[no-any-return]


@family.builtin("transpose(a)", profile="native")
def transpose(a: Any) -> Array:
    """The array with its dimensions in the reverse order: rows become columns. `transpose(array([[1, 2], [3, 4]]))` is
    `[[1, 3], [2, 4]]`.
    """
    module = array_module("transpose")
    return module.Array(module.array_of("transpose", a).data.T)  # type: ignore[no-any-return]


# --- parts ------------------------------------------------------------------------------------------------------------------


def _filled(builtin: str, shape: Any, value: Any) -> Array:
    module = array_module(builtin)
    lengths, number = _shape(builtin, shape), _number(builtin, value)
    module.check_size(builtin, lengths)
    return module.Array(module.numpy(builtin).full(lengths, number))  # type: ignore[no-any-return]


def _identity(builtin: str, n: Any) -> Array:
    module = array_module(builtin)
    if n.__class__ is list:
        raise RuntimeFault(f"{builtin} expects the number of rows, got list", kind="type")
    (count,) = _shape(builtin, n)
    module.check_size(builtin, [count, count])
    return module.Array(module.numpy(builtin).identity(count))  # type: ignore[no-any-return]


def _shape(builtin: str, value: Any, least: int = 0) -> list[int]:
    """The lengths of dimensions. Raises ``RuntimeFault``."""
    lengths = [to_index(length) for length in value] if value.__class__ is list else [to_index(value)]
    if len(lengths) > array_module(builtin).MOST_DIMENSIONS:
        raise RuntimeFault(f"{builtin}: an array has at most {array_module(builtin).MOST_DIMENSIONS} dimensions")
    for length in lengths:
        if length < least:
            raise RuntimeFault(f"{builtin}: a dimension has 0 or more elements, got {length}")
    return lengths


def _number(builtin: str, value: Any) -> float:
    kind = value.__class__
    if kind is not int and kind is not float:
        cure = ": float(x)" if is_decimal(value) else ""
        raise RuntimeFault(f"{builtin} expects a number, got {type_of(value)}{cure}", kind="type")
    return to_float(value)
