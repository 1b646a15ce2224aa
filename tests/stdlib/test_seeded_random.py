"""Seeded generators: number by number the sequences of NumPy's ``default_rng``."""

from __future__ import annotations

import random

import pytest

from language import run
from language.errors import RuntimeFault
from stdlib.pcg64 import Generator
from stdlib.seeded_random import choice, random_normal, rng, rng_spawn, sample, shuffle

numpy = pytest.importorskip("numpy", reason="NumPy has no release for this Python", exc_type=ImportError)

SPECIAL = [0, 1, 42, 2**32 - 1, 2**32, 2**64 + 5, 2**127 + 9, 2**128, 2**200 + 77]
SEEDS = SPECIAL + [random.Random(1).getrandbits(bits) for bits in range(1, 160, 4)]
RANGES = [0, 1, 5, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 3 * 2**30, 2**40 + 1, 2**62]


def draw(own: Generator, theirs, source: random.Random):
    """The same draw from both."""
    kind = source.randrange(7)
    if kind == 0:
        return own.random(), theirs.random()
    if kind == 1:
        low = source.randrange(-(2**61), 2**40)
        most = source.choice(RANGES)
        return low + own.up_to(most), int(theirs.integers(low, low + most, endpoint=True))
    if kind == 2:
        return random_normal(own, 2, 0.5), theirs.normal(2, 0.5)
    if kind == 3:
        items = list(range(source.randrange(40)))
        shuffled = items[:]
        theirs.shuffle(shuffled)
        return shuffle(own, items), shuffled
    if kind == 4:
        items = list(range(source.randrange(1, 60)))
        count = source.randrange(len(items) + 1)
        return sample(own, items, count), theirs.choice(items, count, replace=False).tolist()
    if kind == 5:
        items = list(range(source.randrange(1, 60)))
        return choice(own, items), int(theirs.choice(items))
    count = source.randrange(1, 4)
    return [child() for child in rng_spawn(own, count)], [child.random() for child in theirs.spawn(count)]


@pytest.mark.parametrize("seed", SEEDS)
def test_any_mix_of_draws_is_numpy_s(seed):
    own, theirs, source = rng(seed), numpy.random.default_rng(seed), random.Random(seed)
    for number in range(150):
        mine, expected = draw(own, theirs, source)
        assert mine == expected, number


def test_children_of_children_are_numpy_s():
    own, theirs = rng(2**70), numpy.random.default_rng(2**70)
    for _ in range(6):
        own, theirs = rng_spawn(own, 3)[2], theirs.spawn(3)[2]
        assert [own() for _ in range(5)] == theirs.random(5).tolist()


def test_long_normal_sequences_reach_every_step_of_the_table():
    own, theirs = rng(3), numpy.random.default_rng(3)
    assert [own.normal() for _ in range(50_000)] == theirs.standard_normal(50_000).tolist()


@pytest.mark.parametrize(("size", "count"), [(10_001, 5), (10_001, 201), (10_001, 10_001), (10_000, 9_999)])
def test_samples_of_long_lists_are_numpy_s(size, count):
    own, theirs = rng(5), numpy.random.default_rng(5)
    assert sample(own, list(range(size)), count) == theirs.choice(size, count, replace=False).tolist()
    assert own.next64() == int(theirs.bit_generator.random_raw())


def test_integers_beyond_64_bits_are_even():
    most, counts, source = 3 * 2**70 - 1, [0, 0, 0], rng(1)
    for _ in range(3000):
        counts[source.up_to(most) >> 70] += 1
    assert min(counts) > 900


def test_a_generator_is_a_handle_and_a_worker_gets_a_copy():
    answer = run(
        "let g be rng(7)\nlet same be g\nlet a be g()\nlet b be same()\n"
        "let h be rng(7)\nprint([a, b] == [random(h), random(h)])\n"
        "print(parallel_map((x) => g(), [1, 2]) == [g(), h()])\n"
        "print(random_int(rng(42), 1, 6), type_of(g), g, g == g, shuffle(g, []))\n"
    )
    assert answer["output"] == ["true", "true", "1 generator generator true []"], answer


def test_entropy_needs_the_capability_and_a_generator_does_not():
    assert run("print(random(rng(42)))")["output"] == ["0.7739560485559633"]
    assert "random" in str(run("print(random())"))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: rng(-1), "a seed from 0"),
        (lambda: rng(2**1024), "a seed from 0"),
        (lambda: rng("x"), "an integer as the seed, got text"),
        (lambda: choice(rng(1), []), "the list is empty"),
        (lambda: sample(rng(1), [1], 2), "from 0 to 1"),
        (lambda: shuffle([1], rng(1)), "a generator and a list"),
        (lambda: shuffle(1, [1]), "a generator made by rng(seed), got number"),
        (lambda: random_normal(rng(1), 0, -1), "must not be negative"),
        (lambda: rng_spawn(rng(1), 10**6), "from 0 to 100000"),
    ],
)
def test_refusals(call, why):
    with pytest.raises(RuntimeFault) as caught:
        call()
    assert why in caught.value.message
