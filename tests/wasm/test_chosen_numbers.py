"""Numbers chosen to share one hash on 32 bits cost no more than any others in the web build."""

from __future__ import annotations

import time

import pytest

from language.wasm import WebBuild
from tests.wasm.web_build import web_build

# Python's hash of a number, where a word has 32 bits, is what is left of it by division with this.
MODULUS = 2**31 - 1
MANY = 12_000


@pytest.fixture(scope="module")
def build() -> WebBuild:
    return WebBuild(web_build())


def seconds(build: WebBuild, numbers: str, operation: str) -> float:
    """Processor time of the operation over the numbers, the best of three."""
    source = f"""
let xs be apply(range(1, {MANY}), {numbers})
let rows be apply(xs, (x) => {{"x": x}})
print(length({operation}))
"""
    taken = []
    for _ in range(3):
        started = time.thread_time()
        answer = build.run(source)
        taken.append(time.thread_time() - started)
        assert answer["errors"] == []
    return min(taken)


@pytest.mark.parametrize("operation", ["unique(xs)", "group_by(xs, (x) => x)", 'join(rows, rows, "x", "semi")'])
@pytest.mark.parametrize(
    "numbers", ["(x) => x * {}", "(x) => 0 - x * {}", "(x) => x * {} * 2 ** 40", "(x) => decimal(x * {})", "(x) => [x * {}]"]
)
def test_numbers_of_one_hash(build: WebBuild, numbers: str, operation: str) -> None:
    seconds(build, numbers.format(MODULUS + 2), operation)  # the first run of an instance
    others = seconds(build, numbers.format(MODULUS + 2), operation)
    assert seconds(build, numbers.format(MODULUS), operation) < 0.1 + 20 * others
