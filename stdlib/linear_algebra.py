"""Linear algebra over arrays, calculated by NumPy."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values.display import display
from language.waits import cancellation_point
from stdlib.arrays import array_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.values.arrays import Array

family = Family("linear_algebra", "Linear algebra", pure=True)

#: Multiplications in one call of NumPy. A program can be cancelled between two calls.
_AT_ONCE = 500_000_000
#: The most rows and columns of a matrix that is solved, inverted, or whose determinant is computed.
_MOST_SOLVED = 2000
#: The most rows and columns for eigenvalues, of a symmetric matrix and of another; of the shorter side for `svd`.
_MOST_SYMMETRIC = 1000
_MOST_EIGEN = 500
#: The most elements of a matrix for `svd`.
_MOST_ELEMENTS = 4_000_000
#: Matrices of up to this many elements are calculated in the program's own thread.
_SMALL = 10_000


@family.builtin("dot(a, b)", profile="native", result="num")
def dot(a: Any, b: Any) -> float:
    """The sum of the products of two vectors of one length. `dot([1, 2], [3, 4])` is `11.0`; of matrices see `matmul`."""
    left, right = _arrays("dot", a, b)
    if left.data.ndim != 1 or left.shape != right.shape:
        raise _misfit("dot", left, right, "they must be two vectors of one length (for matrices: matmul)")
    with _numpy("dot").errstate(all="ignore"):
        return float(left.data @ right.data)


@family.builtin("matmul(a, b)", profile="native")
def matmul(a: Any, b: Any) -> Any:
    """The product of two matrices, of a matrix and a vector, or of two vectors (a number).

    `matmul([[1, 2], [3, 4]], [10, 1])` is `[12, 34]`.
    """
    left, right = _arrays("matmul", a, b)
    if not 1 <= left.data.ndim <= 2 or not 1 <= right.data.ndim <= 2:
        raise _misfit("matmul", left, right, "each must have one or two dimensions")
    if left.data.shape[-1] != right.data.shape[0]:
        raise _misfit("matmul", left, right, "the last length of the first must be the first length of the second")
    module, np = array_module("matmul"), _numpy("matmul")
    first = left.data if left.data.ndim == 2 else left.data[None, :]
    second = right.data if right.data.ndim == 2 else right.data[:, None]
    module.check_size("matmul", [len(first), second.shape[1]])
    made = np.empty((len(first), second.shape[1]))
    step = max(1, _AT_ONCE // max(1, second.size))
    with np.errstate(all="ignore"):
        for start in range(0, len(first), step):
            cancellation_point()
            np.matmul(first[start : start + step], second, out=made[start : start + step])
    return module.result(made.reshape(left.data.shape[:-1] + right.data.shape[1:]))


@family.builtin("solve(a, b)", profile="native")
def solve(a: Any, b: Any) -> Array:
    """The `x` for which `matmul(a, x)` is `b`: `a` is a square matrix of at most 2,000 rows, `b` a vector or matrix of as many
    rows. A singular matrix is an error.

    `solve([[2, 0], [0, 4]], [2, 2])` is `[1, 0.5]`.
    """
    left, right = _arrays("solve", a, b)
    _need_square("solve", left, _MOST_SOLVED)
    if not 1 <= right.data.ndim <= 2 or right.data.shape[0] != left.data.shape[0]:
        raise _misfit("solve", left, right, "the second must have as many rows as the first")
    array_module("solve").check_size("solve", right.shape, 2)
    there = right.data if right.data.ndim == 2 else right.data[:, None]
    made = _calculated("solve", left, lambda linalg: linalg.solve(left.data, there))
    return array_module("solve").Array(made.reshape(right.data.shape))  # type: ignore[no-any-return]


@family.builtin("inv(a)", profile="native")
def inv(a: Any) -> Array:
    """The inverse of a square matrix of at most 2,000 rows; a singular one is an error. `solve(a, b)` is quicker and more exact
    than `matmul(inv(a), b)`.

    `inv([[2, 0], [0, 4]])` is `[[0.5, 0], [0, 0.25]]`.
    """
    (found,) = _arrays("inv", a)
    _need_square("inv", found, _MOST_SOLVED)
    return array_module("inv").Array(_calculated("inv", found, lambda linalg: linalg.inv(found.data)))  # type: ignore[no-any-return]


@family.builtin("det(a)", profile="native", result="num")
def det(a: Any) -> float:
    """The determinant of a square matrix of at most 2,000 rows. `det([[1, 2], [3, 4]])` is about `-2.0`."""
    (found,) = _arrays("det", a)
    _need_square("det", found, _MOST_SOLVED)
    return float(_calculated("det", found, lambda linalg: linalg.det(found.data)))


@family.builtin("norm(a)", profile="native", result="num")
def norm(a: Any) -> float:
    """The root of the sum of all squares: the length of a vector, the Frobenius norm of a matrix. `norm([3, 4])` is `5.0`."""
    (found,) = _arrays("norm", a)
    array_module("norm").check_size("norm", found.shape)
    with _numpy("norm").errstate(all="ignore"):
        return float(_numpy("norm").linalg.norm(found.data.reshape(-1)))


@family.builtin("trace(a)", profile="native", result="num")
def trace(a: Any) -> float:
    """The sum of the diagonal of a matrix. `trace([[1, 2], [3, 4]])` is `5.0`."""
    (found,) = _arrays("trace", a)
    _need_matrix("trace", found)
    return float(found.data.trace())


@family.builtin("eig(a)", profile="native", result="map", fresh=True)
def eig(a: Any) -> dict[str, Any]:
    """The eigenvalues of a square matrix, and its eigenvectors as the columns of a matrix: `{values, vectors}`.

    For a symmetric matrix (at most 1,000 rows) the values ascend and the vectors are orthonormal. Any other matrix (at most 500
    rows) must have real eigenvalues: complex ones are an error, because arrays hold real numbers.

    `eig([[2, 0], [0, 1]]).values` is `[1, 2]`.
    """
    (found,) = _arrays("eig", a)
    data = found.data
    _need_square("eig", found, _MOST_SYMMETRIC)
    if (data == data.T).all():
        values, vectors = _calculated("eig", found, lambda linalg: linalg.eigh(data))
    else:
        _need_square("eig", found, _MOST_EIGEN)
        values, vectors = _calculated("eig", found, lambda linalg: linalg.eig(data))
        if values.dtype.kind == "c":
            raise RuntimeFault(
                "eig: the matrix has complex eigenvalues, and arrays hold real numbers; those of a symmetric matrix are real",
                kind="value",
            )
    made = array_module("eig").Array
    return {"values": made(values), "vectors": made(vectors)}


@family.builtin("svd(a)", profile="native", result="map", fresh=True)
def svd(a: Any) -> dict[str, Any]:
    """The singular value decomposition of a matrix: `{u, s, vt}`, where `matmul(u * s, vt)` is the matrix again.

    `s` has the singular values, descending: as many as the shorter side of the matrix, which is at most 1,000 long. `u` and
    `vt` have no more columns and rows than that (NumPy's `full_matrices=False`). The matrix has at most 4,000,000 elements.

    `svd([[3, 0], [0, 4]]).s` is `[4, 3]`.
    """
    (found,) = _arrays("svd", a)
    _need_matrix("svd", found)
    if min(found.data.shape) > _MOST_SYMMETRIC:
        raise _too_large("svd", found, _MOST_SYMMETRIC, "the shorter side")
    if found.data.size > _MOST_ELEMENTS:
        raise RuntimeFault(f"svd: the matrix has {found.data.size} elements, more than {_MOST_ELEMENTS}", kind="resources")
    array_module("svd").check_size("svd", found.shape, 4)
    u, s, vt = _calculated("svd", found, lambda linalg: linalg.svd(found.data, full_matrices=False))
    made = array_module("svd").Array
    return {"u": made(u), "s": made(s), "vt": made(vt)}


# --- parts ------------------------------------------------------------------------------------------------------------------


def _numpy(builtin: str) -> Any:
    return array_module(builtin).numpy(builtin)


def _arrays(builtin: str, *values: Any) -> list[Any]:
    module = array_module(builtin)
    return [module.array_of(builtin, value) for value in values]


def _misfit(builtin: str, left: Any, right: Any, rule: str) -> RuntimeFault:
    return RuntimeFault(
        f"{builtin}: the shapes {display(left.shape)} and {display(right.shape)} do not fit: {rule}", kind="value"
    )


def _need_matrix(builtin: str, found: Any) -> None:
    if found.data.ndim != 2:
        raise RuntimeFault(f"{builtin} expects a matrix, got an array of the shape {display(found.shape)}", kind="value")


def _need_square(builtin: str, found: Any, most: int) -> None:
    if found.data.ndim != 2 or found.data.shape[0] != found.data.shape[1]:
        raise RuntimeFault(f"{builtin} expects a square matrix, got an array of the shape {display(found.shape)}", kind="value")
    if len(found.data) > most:
        raise _too_large(builtin, found, most, "a side")
    array_module(builtin).check_size(builtin, found.shape, 3)


def _too_large(builtin: str, found: Any, most: int, side: str) -> RuntimeFault:
    return RuntimeFault(
        f"{builtin}: {side} of the matrix is at most {most} long, got the shape {display(found.shape)}", kind="resources"
    )


def _calculated(builtin: str, found: Any, work: Callable[[Any], Any]) -> Any:
    """The result of a function of ``numpy.linalg``. For a large matrix it runs in a thread of its own, so that the program can
    be cancelled meanwhile.
    """
    module, np = array_module(builtin), _numpy(builtin)
    if not np.isfinite(found.data).all():
        raise RuntimeFault(f"{builtin}: the matrix holds nan or an infinity", kind="value")

    def calculate() -> Any:
        with np.errstate(all="ignore"):
            return work(np.linalg)

    try:
        return calculate() if found.data.size <= _SMALL else module.aside(calculate)
    except np.linalg.LinAlgError as error:
        what = "the matrix is singular" if "ingular" in str(error) else str(error)
        raise RuntimeFault(f"{builtin}: {what}", kind="value") from None
