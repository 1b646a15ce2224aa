"""Seeded generators: the same numbers in every run and in every build, those of NumPy's ``default_rng``. Pure: no entropy
enters.

``random(g)`` and ``random_int(g, lo, hi)`` are declared with ``random``.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.pcg64 import Generator

family = Family("seeded_random", "Seeded random numbers")

#: The most bits of a seed.
_SEED_BITS = 1024
_MOST_CHILDREN = 100_000


@family.builtin("rng(seed)")
def rng(seed: Any) -> Generator:
    """A generator of random numbers whose sequence the seed (an integer, 0 or more) decides: PCG64, as
    `numpy.random.default_rng(seed)`.

    `g()` or `random(g)` draws a float in [0, 1), `random_int(g, lo, hi)` an integer with both ends included. A generator is a
    handle: each draw advances it for all variables that hold it. A worker of `parallel_map` and an agent get a copy at the same
    point of the sequence; `rng_spawn` makes one for each. No capability is needed, because no randomness comes from outside.
    Not for secrets.

    `random(rng(42))` is `0.7739560485559633`.
    """
    from stdlib.options import whole
    from stdlib.pcg64 import Generator

    number = whole(seed)
    if number is None:
        raise RuntimeFault(f"rng expects an integer as the seed, got {type_of(seed)}", kind="type")
    if number < 0 or number.bit_length() > _SEED_BITS:
        raise RuntimeFault(f"rng expects a seed from 0 to 2 ** {_SEED_BITS} - 1")
    return Generator(number)


@family.builtin("random_normal(g, mean = 0, std = 1)", named=("mean", "std"), result="num")
def random_normal(g: Any, mean: Any = None, std: Any = None) -> float:
    """A float of the normal distribution with that mean and standard deviation, drawn from a generator.

    `random_normal(rng(42))` is `0.30471707975443135`.
    """
    drawn = _generator("random_normal", g).normal()
    if mean is None and std is None:
        return drawn
    middle, width = (_number(name, value) for name, value in (("mean", mean or 0), ("std", 1 if std is None else std)))
    if width < 0:
        raise RuntimeFault("random_normal: std must not be negative")
    return middle + width * drawn


@family.builtin("shuffle(g, list)", result="list", fresh=True, keeps="items")
def shuffle(g: Any, items: Any) -> list[Any]:
    """A new list with the items in random order, each order equally likely; the list itself stays as it is.

    `shuffle(rng(2), [1, 2, 3, 4])` is `[4, 3, 1, 2]`.
    """
    shuffled = list(_list("shuffle", items))
    _generator("shuffle", g).shuffle(shuffled)
    return shuffled


@family.builtin("sample(g, list, n)", result="list", fresh=True, keeps="items")
def sample(g: Any, items: Any, n: Any) -> list[Any]:
    """`n` items at different places of the list, in random order. More items than the list has is an error.

    `sample(rng(1), ["a", "b", "c", "d"], 2)` is `["b", "c"]`.
    """
    from stdlib.options import whole

    source = _list("sample", items)
    count = whole(n)
    if count is None or not 0 <= count <= len(source):
        shown = f", got {count}" if count is not None and count.bit_length() < 64 else ""
        raise RuntimeFault(f"sample: n must be an integer from 0 to {len(source)}, the length of the list{shown}")
    return [source[place] for place in _generator("sample", g).places(count, len(source))]


@family.builtin("choice(g, list)")
def choice(g: Any, items: Any) -> Any:
    """One item of the list, each place equally likely. An empty list is an error.

    `choice(rng(1), ["heads", "tails"])` is `heads`.
    """
    source = _list("choice", items)
    if not source:
        raise RuntimeFault("choice: the list is empty")
    return source[_generator("choice", g).up_to(len(source) - 1)]


@family.builtin("rng_spawn(g, n)", result="list", fresh=True)
def rng_spawn(g: Any, n: Any) -> list[Any]:
    """`n` generators whose sequences are independent of each other and of `g`, for parallel work. This draws nothing from `g`;
    later calls give other generators.

    `parallel_map((own) => random(own), rng_spawn(rng(1), 4))`
    """
    from stdlib.options import whole

    parent = _generator("rng_spawn", g)
    count = whole(n)
    if count is None or not 0 <= count <= _MOST_CHILDREN:
        raise RuntimeFault(f"rng_spawn: n must be an integer from 0 to {_MOST_CHILDREN}")
    return list(parent.spawn(count))


def _generator(builtin: str, g: Any) -> Generator:
    from stdlib.pcg64 import generator

    return generator(builtin, g)


def _list(builtin: str, items: Any) -> list[Any]:
    if items.__class__ is not list:
        raise RuntimeFault(f"{builtin} expects a generator and a list, got {type_of(items)} as the list", kind="type")
    return items


def _number(name: str, value: Any) -> float:
    from language.values.operators import is_decimal, to_float

    if value.__class__ is int or value.__class__ is float:
        return to_float(value)
    if is_decimal(value):
        return value.to_float()  # type: ignore[no-any-return]
    raise RuntimeFault(f"random_normal: {name} must be a number, got {type_of(value)}", kind="type")
