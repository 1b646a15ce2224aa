"""NumPy's default generator: PCG64, its seeding, and the draws of ``numpy.random.Generator``, number by number.

The algorithms are those of NumPy: ``SeedSequence``, PCG XSL-RR 128/64, Lemire's bounded integers, the ziggurat of 256 steps.
"""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_M32 = (1 << 32) - 1
_M64 = (1 << 64) - 1
_M128 = (1 << 128) - 1
_STEP = 0x2360ED051FC65DA44385DF649FCCF645
_NORMAL_R = 3.6541528853610087963519472518
_NORMAL_INVERSE_R = 0.27366123732975827203338247596
_POOL = 4


class Generator:
    """A generator of random numbers. It is a handle: all variables that hold it draw from one sequence.

    ``seed`` and ``path`` are what it was made from: the number, and for a spawned generator the positions among the children of
    its ancestors.
    """

    __slots__ = ("_half", "_increment", "_state", "children", "path", "seed")

    language_type = "generator"

    def __init__(self, seed: int, path: tuple[int, ...] = ()) -> None:
        self.seed = seed
        self.path = path
        self.children = 0
        first, second, third, fourth = _seeds(_words(seed), path)
        self._increment = ((third << 64 | fourth) << 1 | 1) & _M128
        self._state = 0
        self.next64()
        self._state = self._state + (first << 64 | second) & _M128
        self.next64()
        #: the upper half of the number whose lower half was drawn last as a number of 32 bits
        self._half: int | None = None

    def display(self) -> str:
        """The display form. It does not contain the state, so that programs cannot depend on that."""
        return "generator"

    __repr__ = display

    def rebuilt(self, _: Any) -> Generator:
        """A copy at the same point of the sequence, for a worker: two threads never draw from one generator."""
        copy = Generator.__new__(Generator)
        for name in Generator.__slots__:
            setattr(copy, name, getattr(self, name))
        return copy

    def __call__(self) -> float:
        return self.random()

    def spawn(self, count: int) -> list[Generator]:
        """``count`` independent generators; later calls return others."""
        first = self.children
        self.children += count
        return [Generator(self.seed, (*self.path, number)) for number in range(first, first + count)]

    def next64(self) -> int:
        """64 random bits."""
        state = self._state = (self._state * _STEP + self._increment) & _M128
        bits = (state >> 64) ^ (state & _M64)
        turn = state >> 122
        return (bits >> turn | bits << (64 - turn)) & _M64

    def next32(self) -> int:
        """32 random bits: the lower half of 64, then the upper one."""
        if self._half is not None:
            half, self._half = self._half, None
            return half
        bits = self.next64()
        self._half = bits >> 32
        return bits & _M32

    def random(self) -> float:
        """A float in [0, 1)."""
        return (self.next64() >> 11) * 2.0**-53

    def up_to(self, most: int) -> int:
        """An unbiased integer from 0 to ``most``, as ``Generator.integers`` draws it; beyond 64 bits word by word, with
        rejection.
        """
        if most == 0:
            return 0
        if most > _M64:
            return self._large(most)
        bits = 32 if most <= _M32 else 64
        draw, mask = (self.next32, _M32) if bits == 32 else (self.next64, _M64)
        if most == mask:
            return draw()
        count = most + 1
        product = draw() * count
        if (product & mask) < count:
            threshold = (mask - most) % count
            while (product & mask) < threshold:
                product = draw() * count
        return product >> bits

    def _large(self, most: int) -> int:
        bits = most.bit_length()
        words = -(-bits // 64)
        while True:
            drawn = 0
            for _ in range(words):
                drawn = drawn << 64 | self.next64()
            drawn >>= words * 64 - bits
            if drawn <= most:
                return drawn

    def normal(self) -> float:
        """A float of the standard normal distribution."""
        from math import exp, log1p

        from stdlib.normal_tables import tables

        bounds, widths, heights = tables()
        while True:
            bits = self.next64()
            step = bits & 0xFF
            distance = bits >> 9 & 0xFFFFFFFFFFFFF
            x = distance * widths[step]
            if bits & 0x100:
                x = -x
            if distance < bounds[step]:
                return x
            if step == 0:
                while True:
                    tail = -_NORMAL_INVERSE_R * log1p(-self.random())
                    limit = -log1p(-self.random())
                    if limit + limit > tail * tail:
                        return -(_NORMAL_R + tail) if distance >> 8 & 1 else _NORMAL_R + tail
            if (heights[step - 1] - heights[step]) * self.random() + heights[step] < exp(-0.5 * x * x):
                return x

    def shuffle(self, items: list[Any]) -> None:
        """Shuffles a list in place, as ``Generator.shuffle`` does a list."""
        for at in range(len(items) - 1, 0, -1):
            other = self._masked(at)
            items[at], items[other] = items[other], items[at]

    def _masked(self, most: int) -> int:
        mask = (1 << most.bit_length()) - 1
        draw = self.next32 if most <= _M32 else self.next64
        while (drawn := draw() & mask) > most:
            pass
        return drawn

    def places(self, count: int, size: int) -> list[int]:
        """``count`` different places below ``size``, as ``Generator.choice`` without replacement draws them."""
        if size > 10_000 and count > size // 50:
            places = list(range(size))
            self._swap(places, max(size - count, 1))
            return places[size - count :]
        found: set[int] = set()
        places = []
        for last in range(size - count, size):
            drawn = self.up_to(last)
            if drawn in found:
                drawn = last
            found.add(drawn)
            places.append(drawn)
        self._swap(places, 1)
        return places

    def _swap(self, places: list[int], first: int) -> None:
        for at in range(len(places) - 1, first - 1, -1):
            other = self.up_to(at)
            places[at], places[other] = places[other], places[at]


def _words(number: int) -> list[int]:
    """The 32-bit words of an integer, the lowest first; zero has one."""
    words = []
    while True:
        words.append(number & _M32)
        number >>= 32
        if not number:
            return words


def _seeds(entropy: list[int], path: tuple[int, ...]) -> list[int]:
    """Four words of 64 bits, as ``SeedSequence(entropy, spawn_key=path).generate_state(4, uint64)`` gives them."""
    if path:
        entropy = entropy + [0] * (_POOL - len(entropy))
        for number in path:
            entropy += _words(number)
    constant = 0x43B0D7E5

    def hashed(value: int) -> int:
        nonlocal constant
        value ^= constant
        constant = constant * 0x931E8875 & _M32
        value = value * constant & _M32
        return value ^ value >> 16

    def mixed(left: int, right: int) -> int:
        value = (0xCA01F9DD * left - 0x4973F715 * right) & _M32
        return value ^ value >> 16

    pool = [hashed(entropy[at] if at < len(entropy) else 0) for at in range(_POOL)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in entropy[_POOL:]:
        for target in range(_POOL):
            pool[target] = mixed(pool[target], hashed(word))
    constant = 0x8B51F9DD
    halves = []
    for at in range(8):
        value = pool[at % _POOL] ^ constant
        constant = constant * 0x58F38DED & _M32
        value = value * constant & _M32
        halves.append(value ^ value >> 16)
    return [halves[at] | halves[at + 1] << 32 for at in range(0, 8, 2)]


def generator(builtin: str, value: Any) -> Generator:
    """The value as a generator. Raises ``RuntimeFault`` for anything else."""
    if value.__class__ is not Generator:
        from language.values import type_of

        raise RuntimeFault(f"{builtin} expects a generator made by rng(seed), got {type_of(value)}", kind="type")
    return value
