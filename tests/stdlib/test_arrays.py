"""Arrays and linear algebra: compared with NumPy's own results, their errors and limits, their ways out of a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import language
from language.shared.value_form import from_text, to_text

np: Any = pytest.importorskip("numpy", reason="NumPy has no release for this Python", exc_type=ImportError)

from language.errors import LimitExceeded, RuntimeFault  # noqa: E402
from language.values import allowance, arrays  # noqa: E402
from language.values.arrays import Array, array_of  # noqa: E402
from language.values.json_decoding import decode  # noqa: E402
from language.values.json_encoding import encode  # noqa: E402
from stdlib import all_builtins, linear_algebra  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
arrays.numpy("test")  # made by hand below, as by any builtin
numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)
calm = st.integers(-99, 99).map(lambda n: n / 4)
shapes = st.lists(st.integers(0, 4), max_size=3)


@st.composite
def tables(draw, elements=numbers, shape=shapes):
    lengths = draw(shape) if hasattr(shape, "example") else shape
    count = int(np.prod(lengths))
    return np.array(draw(st.lists(elements, min_size=count, max_size=count)), dtype=float).reshape(lengths)


@st.composite
def matrices(draw, square=False):
    rows = draw(st.integers(1, 5))
    return draw(tables(calm, [rows, rows if square else draw(st.integers(1, 5))]))


def builtin(name: str, *values: Any, **named: Any) -> Any:
    return all_builtins()[name].function(*values, **named)


def plain(value: Any) -> Any:
    return value.data if type(value) is Array else value


def equal(found: Any, wanted: Any) -> None:
    """The same shape and the same elements; nan is nan."""
    np.testing.assert_array_equal(plain(found), np.asarray(wanted, dtype=float), strict=type(found) is Array)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(plain(found), wanted, rtol=1e-9, atol=1e-9)


def error_of(function: Any, *values: Any, **named: Any) -> str:
    with pytest.raises(RuntimeFault) as caught:
        function(*values, **named)
    return caught.value.message


def ran(source: str, **limits: Any) -> dict[str, Any]:
    answer: dict[str, Any] = language.run(source, **limits)
    return answer


# ---- as NumPy does ---------------------------------------------------------------------------------------------------------

OPERATORS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.remainder, "**": np.power,
}  # fmt: skip


@given(tables(), tables(), st.sampled_from(sorted(OPERATORS)))
@settings(max_examples=40)
def test_operators_of_two_arrays(left, right, sign):
    operator = {
        "+": Array.__add__, "-": Array.__sub__, "*": Array.__mul__, "/": Array.__truediv__, "//": Array.__floordiv__,
        "%": Array.__mod__, "**": Array.__pow__,
    }[sign]  # fmt: skip
    with np.errstate(all="ignore"):
        try:
            wanted = OPERATORS[sign](left, right)
        except ValueError:
            message = error_of(operator, Array(left), Array(right))
            assert f"{list(left.shape)} and {list(right.shape)}" in message
            return
    equal(operator(Array(left), Array(right)), wanted)


@given(tables(), st.one_of(numbers, st.integers(-(10**400), 10**400)), st.sampled_from(sorted(OPERATORS)), st.booleans())
@settings(max_examples=40)
def test_operators_of_an_array_and_a_number(table, number, sign, first):
    from language.values import operators

    operator = getattr(
        operators, {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "power"}[sign]
    )
    try:
        as_float = float(number)
    except OverflowError:
        as_float = float("inf") if number > 0 else float("-inf")
    with np.errstate(all="ignore"):
        if first:
            equal(operator(number, Array(table)), OPERATORS[sign](as_float, table))
        else:
            equal(operator(Array(table), number), OPERATORS[sign](table, as_float))


FUNCTIONS = {
    "sqrt": np.sqrt, "exp": np.exp, "ln": np.log, "log10": np.log10, "log2": np.log2, "abs": np.abs, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip


@given(tables(), st.sampled_from(sorted(FUNCTIONS)))
@settings(max_examples=40)
def test_functions_of_each_element(table, name):
    with np.errstate(all="ignore"):
        equal(builtin(name, Array(table)), FUNCTIONS[name](table))


REDUCTIONS = ["sum", "product", "min", "max", "mean", "median", "argmin", "argmax", "cumsum", "diff"]


@given(tables(), st.sampled_from(REDUCTIONS), st.data())
@settings(max_examples=40)
def test_reductions(table, name, data):
    axis = data.draw(st.one_of(st.none(), st.integers(-table.ndim, table.ndim - 1) if table.ndim else st.none()))
    if name == "diff" and not table.ndim:
        assert "there is no axis -1" in error_of(builtin, name, Array(table))
        return
    if not table.size and name not in ("sum", "product", "cumsum", "diff"):
        assert f"{name} of an empty array" in error_of(builtin, name, Array(table), axis=axis)
        return
    function = getattr(np, "prod" if name == "product" else name)
    with np.errstate(all="ignore"):
        wanted = function(table, axis=-1 if name == "diff" and axis is None else axis)
    equal(builtin(name, Array(table), axis=axis), wanted)


@given(tables(calm), st.sampled_from(["var", "std"]), st.integers(0, 3), st.data())
@settings(max_examples=40)
def test_spread(table, name, ddof, data):
    assume(table.size)
    axis = data.draw(st.one_of(st.none(), st.integers(0, table.ndim - 1) if table.ndim else st.none()))
    found = builtin(name, Array(table), ddof=ddof, axis=axis)
    count = table.size if axis is None else table.shape[axis]
    if count <= ddof:
        assert np.isnan(plain(found)).all()
    else:
        close(found, getattr(np, name)(table, axis=axis, ddof=ddof))


@given(matrices(), matrices())
@settings(max_examples=40)
def test_products(left, right):
    if left.shape[1] != right.shape[0]:
        message = error_of(builtin, "matmul", Array(left), Array(right))
        assert f"the shapes {list(left.shape)} and {list(right.shape)} do not fit" in message
        return
    close(builtin("matmul", Array(left), Array(right)), left @ right)
    close(builtin("matmul", Array(left[0]), Array(right)), left[0] @ right)
    close(builtin("matmul", Array(left), Array(right[:, 0])), left @ right[:, 0])
    found = builtin("matmul", Array(left[0]), Array(right[:, 0]))
    assert type(found) is float
    close(found, left[0] @ right[:, 0])
    assert found == pytest.approx(builtin("dot", Array(left[0]), Array(right[:, 0])))


@given(matrices(square=True), matrices())
@settings(max_examples=40)
def test_solutions_and_what_belongs_to_them(square, other):
    close(builtin("det", Array(square)), np.linalg.det(square))
    close(builtin("trace", Array(square)), np.trace(square))
    close(builtin("norm", Array(other)), np.linalg.norm(other))
    assume(np.linalg.cond(square) < 1e6)
    close(builtin("inv", Array(square)), np.linalg.inv(square))
    if len(square) == len(other):
        close(builtin("solve", Array(square), Array(other)), np.linalg.solve(square, other))
        close(builtin("matmul", Array(square), builtin("solve", Array(square), Array(other[:, 0]))), other[:, 0])
    else:
        assert f"{list(square.shape)} and {list(other.shape)}" in error_of(builtin, "solve", Array(square), Array(other))


@given(matrices(square=True), matrices())
@settings(max_examples=40)
def test_decompositions_make_the_matrix_again(square, other):
    symmetric = square + square.T
    found = builtin("eig", Array(symmetric))
    close(found["values"], np.linalg.eigvalsh(symmetric))
    close(symmetric @ found["vectors"].data, found["vectors"].data * found["values"].data)
    close(found["vectors"].data.T @ found["vectors"].data, np.identity(len(square)))
    parts = builtin("svd", Array(other))
    close(parts["s"], np.linalg.svd(other, compute_uv=False))
    close((parts["u"].data * parts["s"].data) @ parts["vt"].data, other)


def test_eigenvalues_of_other_matrices():
    found = builtin("eig", [[2, 1], [0, 3]])
    close(np.sort(found["values"].data), [2, 3])
    assert "complex eigenvalues" in error_of(builtin, "eig", [[0, 1], [-1, 0]])


@given(shapes, calm, calm, st.integers(0, 20))
@settings(max_examples=40)
def test_makers(shape, start, stop, count):
    equal(builtin("zeros", shape), np.zeros(shape))
    equal(builtin("ones", shape), np.ones(shape))
    equal(builtin("full", shape, start), np.full(shape, start))
    equal(builtin("arange", start, stop), np.arange(start, stop, dtype=float))
    equal(builtin("arange", start, stop, 0.25), np.arange(start, stop, 0.25))
    equal(builtin("arange", stop, start, -0.25), np.arange(stop, start, -0.25))
    equal(builtin("linspace", start, stop, count), np.linspace(start, stop, count))
    equal(builtin("eye", count), np.eye(count))
    assert builtin("identity", count) == builtin("eye", count)


@given(tables(calm), st.data())
@settings(max_examples=40)
def test_shapes_and_places(table, data):
    found = builtin("array", table.tolist())
    if table.size:
        equal(found, table)
        assert (builtin("shape", found), builtin("ndim", found), builtin("size", found)) == (
            list(table.shape), table.ndim, table.size,
        )  # fmt: skip
        place = [data.draw(st.integers(-length, length - 1)) for length in table.shape]
        assert builtin("at", found, place) == table[tuple(place)]
        if table.ndim:
            equal(found[place[0]], table[place[0]])
            assert [builtin("to_list", part) for part in found.iterate()] == table.tolist()
            equal(builtin("slice", found, 1, -1), table[1:-1])
            equal(builtin("reshape", found, [-1, table.shape[0]]), table.reshape(-1, table.shape[0]))
    equal(builtin("transpose", Array(table)), table.T)
    equal(builtin("flatten", Array(table)), table.reshape(-1))
    assert builtin("to_list", Array(table)) == table.tolist()


@given(tables())
@settings(max_examples=40)
def test_every_way_out_and_back(table):
    value = Array(table)
    assert to_text(from_text(to_text(value))) == to_text(value)
    equal(from_text(to_text([value]))[0], table)
    back = decode(encode({"a": value}), allow_nan=True)["a"] if np.isfinite(table).all() else table.tolist()
    np.testing.assert_array_equal(np.array(back, dtype=float).reshape(table.shape), table)


# ---- errors and limits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('array([[1, 2], [3, "a"]])', "array: element [1][1] is text, must be a number"),
        ("array([1, nothing])", "array: element [1] is nothing, must be a number; nan stands for a missing one"),
        ("array([1.5d])", "array: element [0] is decimal, must be a number: float(x)"),
        ("array([true])", "array: element [0] is bool, must be a number"),
        ("array([[1, 2], [3]])", "array: [1] is a list of 1, must be a list of 2"),
        ("array([[1], 2])", "array: [1] is number, must be a list of 1"),
        ("array({})", "array: element one is map, must be a number"),
        ("zeros([2, 3]) + zeros(4)", "arrays of the shapes [2, 3] and [4] do not fit together"),
        ("array([1]) + true", "Unsupported operation: array + bool"),
        ("array([1]) * 2d", "Unsupported operation: array * decimal"),
        ("array([1]) < array([2])", "Unsupported operation: array < array"),
        ("array([1]) + complex(1, 1)", "Unsupported operation: array + complex"),
        ("array([1])[1]", "Index 1 out of bounds (array length 1)"),
        ("array([1]).x", "Cannot access property 'x' of array"),
        ("array(5)[0]", "an array without dimensions has no length"),
        ("length(array(5))", "an array without dimensions has no length"),
        ("at(zeros([2, 2]), [0, 2])", "at: [0, 2] lies outside of an array of the shape [2, 2]"),
        ("zeros(-1)", "zeros: a dimension has 0 or more elements, got -1"),
        ("zeros([1.5])", "index must be an integer, got 1.5"),
        ("full(2, \"a\")", "full expects a number, got text"),
        ("reshape(arange(6), [4, -1])", "reshape: the elements of the shape [6] do not fill the shape [4, -1]"),
        ("reshape(arange(6), [-1, -1])", "reshape: the elements of the shape [6] do not fill the shape [-1, -1]"),
        ("sum(zeros(2), axis = 1)", "sum: there is no axis 1 in an array of the shape [2]"),
        ("arange(0, 1, 0)", "arange: the step must not be zero"),
        ("arange(0, 1 / 3, nan)", "arange: start, stop and step must be finite"),
        ("linspace(0, nan)", "linspace: start and stop must be finite"),
        ("solve([[1, 2], [2, 4]], [1, 2])", "solve: the matrix is singular"),
        ("inv([[1, 2], [2, 4]])", "inv: the matrix is singular"),
        ("inv([[1, 2]])", "inv expects a square matrix, got an array of the shape [1, 2]"),
        ("det([[nan]])", "det: the matrix holds nan or an infinity"),
        ("trace([1])", "trace expects a matrix, got an array of the shape [1]"),
        ("dot([1], [1, 2])", "dot: the shapes [1] and [2] do not fit"),
        ("matmul(zeros([1, 1, 1]), [1])", "each must have one or two dimensions"),
        ("eig(zeros([1001, 1001]))", "eig: a side of the matrix is at most 1000 long, got the shape [1001, 1001]"),
        ("svd(zeros([4001, 1000]))", "svd: the matrix has 4001000 elements, more than 4000000"),
        ("zeros([10000, 10000])", "would have 100000000 elements, more than 50000000"),
        ("zeros([10000, 1]) + zeros([1, 10000])", "would have 100000000 elements, more than 50000000"),
        ("matmul(ones([10000, 1]), ones([1, 10000]))", "would have 100000000 elements, more than 50000000"),
        ("let a be zeros(2)\nset a[0] to 1", "Cannot set index on array"),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(source, message):
    (error,) = ran(source)["errors"]
    assert message in error


def test_a_program_with_arrays():
    source = """
let a be array([[1, 2], [3, 4]])
each row in a
    print(row, row[0], type_of(row))
print(a == array([[1.0, 2], [3, 4]]), a == [[1, 2], [3, 4]], a != a, a in [1, a], unique([a, a]))
when zeros(0)
    print("never")
print(zeros([11, 10]), "x" + array([0.5, 1]), `{array(1)} {array([1e20, nan, -inf])}`)
state_set("a", a)
print(state_get("a") == a, parallel_map((x) => sum(x), [a, a]), json_encode({"a": a, "z": array(2)}))
print(sort([sum(a), mean(a)]), corr(a[0], a[1]), percentile(a[0], 50), histogram(a[0], 1).counts, shape(array([a, a])))
"""
    assert ran(source)["output"] == [
        "[1, 2] 1.0 array",
        "[3, 4] 3.0 array",
        "true false false true [[[1, 2], [3, 4]]]",
        "array(shape=[11, 10], 110 elements) x[0.5, 1] 1 [1e+20, nan, -inf]",
        'true [10.0, 10.0] {"a": [[1.0, 2.0], [3.0, 4.0]], "z": 2.0}',
        "[2.5, 10.0] 1.0 1.5 [2] [2, 2, 2]",
    ]


def test_no_element_is_lost_on_the_way_to_a_database():
    source = 'require db(":memory:")\ndb_open(":memory:")\nprint(length(json_decode(sql("SELECT ? AS v", [zeros(500)])[0].v)))'
    answer = language.run(source, host=language.NativeHost())
    assert answer["output"] == ["500"], answer["errors"]


@pytest.mark.parametrize(
    "work",
    [
        "zeros(20000000)", "zeros([3000, 1]) + zeros([1, 3000])", "matmul(zeros([3000, 1]), zeros([1, 3000]))",
        "identity(4000)", "let a be zeros(6000000)\nsqrt(a)", "let a be zeros(6000000)\nvar(a)", "to_list(zeros(3000000))",
        "let a be zeros(6000000)\nflatten(a)\n-a", "linspace(0, 1, 20000000)", "arange(20000000)",
    ],
)  # fmt: skip
def test_memory_is_asked_for_before_it_is_taken(work):
    answer = language.Program(work, limits={"memory_bytes": 64_000_000}).run()
    assert answer["limit"] == "memory_bytes", answer


def test_work_in_a_thread_of_its_own_gives_its_result_and_its_error():
    big = np.random.default_rng(1).normal(size=(150, 150))
    assert big.size > linear_algebra._SMALL
    close(builtin("inv", Array(big)), np.linalg.inv(big))
    assert "singular" in error_of(builtin, "inv", Array(np.zeros((150, 150))))


def test_a_product_in_pieces_is_that_of_the_whole(monkeypatch):
    left, right = (np.random.default_rng(seed).normal(size=(40, 40)) for seed in (1, 2))
    monkeypatch.setattr(linear_algebra, "_AT_ONCE", 5000)
    close(builtin("matmul", Array(left), Array(right)), left @ right)
    close(builtin("matmul", Array(left.T), Array(right)), left.T @ right)


def test_without_numpy_the_error_names_the_extra():
    source = "import sys\nsys.modules['numpy'] = None\nimport language\nprint(language.run('zeros(2)')['errors'][0])"
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert "zeros: the package numpy is not installed: pip install 'ceiling-lang[numpy]'" in done.stdout


def test_a_list_of_other_things_is_refused_before_it_is_copied():
    assert error_of(array_of, "array", [[]] * 3 + [[1]]) == (
        "array: [3] is a list of 1, must be a list of 0: the lists of one depth have one length"
    )
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    assert "more than 32 deep" in error_of(array_of, "array", deep)
    allowance.set_memory_limit(allowance.Allowance(64_000_000))
    try:
        with pytest.raises(LimitExceeded):
            array_of("array", [[[0.0] * 100] * 100] * 1000)
    finally:
        allowance.set_memory_limit(None)
