"""Values that hold the same lists and maps again and again: small in memory, without end when written out."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import language
from language.errors import RuntimeFault
from language.values.display import display
from language.values.json_encoding import encode
from language.values.operators import eq
from language.values.unfolding import unfolds_beyond

DOUBLED = """
let x be [1]
let y be [1]
let z be [2]
let m be {"k": 1}
each i in range(60)
    set x to [x, x]
    set y to [y, y]
    set z to [z, z]
    set m to {"a": m, "b": m}
"""
REFUSED = (
    "the value is too large to be written out: it holds the same lists or maps again and again, "
    "more than 20000000 values in all"
)


def ended(source: str) -> tuple[list[str], list[str]]:
    """Output and errors of a program that must not take long."""
    start = time.process_time()
    result = language.run(DOUBLED + source, limits={"time_ms": 30_000})
    assert time.process_time() - start < 10
    return result["output"], result["errors"]


@pytest.mark.parametrize(
    ("source", "prefix"),
    [
        ("print(x)", ""),
        ("print(m)", ""),
        ("let t be text([1, {\"a\": x}])", ""),
        ("let t be `{x}`", ""),
        ("let t be \"\" + json_encode([x])", "json_encode: "),
        ("let t be json_encode(m)", "json_encode: "),
        ("let t be json_encode([nothing, [1.5d, x]])", "json_encode: "),
        ("let t be toml_encode({\"x\": x})", "toml_encode: "),
    ],
)  # fmt: skip
def test_writing_it_out_is_refused(source: str, prefix: str) -> None:
    output, errors = ended(source)
    assert output == [] and len(errors) == 1 and errors[0].endswith(prefix + REFUSED), errors


def test_the_refusal_can_be_caught() -> None:
    assert ended('try\n    print(x)\nrecover e\n    print("caught")') == (["caught"], [])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x == y", "true"),
        ("x == z", "false"),
        ("[z, x] == [z, y]", "true"),
        ("[x, z] != [y, x]", "true"),
        ('m == {"b": m.b, "a": m["a"]}', "true"),
        ("y in [z, x]", "true"),
        ("length(unique([x, y, z]))", "2"),
        ("index_of([z, x], y)", "1"),
        ("length(sort([x, y, z], desc = true))", "3"),
        ("sort([z, x])[0] == x", "true"),
        ("parallel_map((n) => x == y, [1])[0]", "true"),
        ('length(parallel_map((n) => [x, as_secret("s")], [1])[0])', "2"),
        ('length(state_set("k", [x, m]))', "2"),
        ("length(group_by([1, 2], (n) => x))", "1"),
    ],
)
def test_comparing_and_copying_it_ends(expression: str, expected: str) -> None:
    assert ended(f"print({expression})") == ([expected], [])


def test_what_is_shared_and_not_large_is_written_out_whole() -> None:
    source = """
let x be [1]
each i in range(12)
    set x to [x, x]
print(length(text(x)), length(json_encode(x)), x == json_decode(json_encode(x)))
"""
    assert language.run(source)["output"] == [f"{4096 * 3 + 4095 * 4} {4096 * 3 + 4095 * 4} true"]


def test_what_is_large_and_not_shared_is_written_out_whole() -> None:
    value = [[number, 1, 2, 3, 4] for number in range(500_000)]
    assert display(value).endswith(", [499999, 1, 2, 3, 4]]") and encode(value).endswith(", [499999, 1, 2, 3, 4]]")
    assert eq(value, [[number, 1, 2, 3, 4] for number in range(500_000)])


scalars = st.integers(0, 3) | st.text(max_size=1)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=1), inner, max_size=3), max_leaves=30
)


def counted(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(counted, value.values()))
    return 1 + (sum(map(counted, value)) if isinstance(value, list) else 0)


@given(trees, st.booleans())
def test_the_weight_is_that_of_a_plain_count(tree: Any, doubled: bool) -> None:
    value = [tree, {"again": tree}] if doubled else tree
    weight = counted(value)
    assert not unfolds_beyond(value, weight)
    assert unfolds_beyond(value, weight - 1)


def test_a_deep_value_needs_no_recursion() -> None:
    value: list[Any] = []
    for _ in range(200_000):
        value = [value]
    assert unfolds_beyond(value, 200_000) and not unfolds_beyond(value, 200_001)
    with pytest.raises((RuntimeFault, RecursionError)):
        display(value)
