"""Random values. Gate: ``random``. They come from the host's cryptographic source, without bias, unless a generator is
given."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from stdlib.pcg64 import Generator

family = Family("randomness", "Randomness")


@family.builtin("random(g?)", capability="random", context=True, result="num", seeded=1)
def random(ctx: Context, g: Any = None) -> float:
    """A float in [0, 1), each multiple of 2^-53 equally likely. Not meant for secrets.

    With a generator of `rng` it is the next of that generator's sequence and needs no capability: `random(rng(42))` is
    `0.7739560485559633`.
    """
    if g is not None:
        return _generator("random", g).random()
    ctx.check("random", None)
    return (int.from_bytes(ctx.host.random_bytes(7), "big") >> 3) * 2.0**-53


@family.builtin("random_int(lo, hi, end?)", capability="random", context=True, seeded=3)
def random_int(ctx: Context, lo: Any, hi: Any, end: Any = None) -> int:
    """An integer from `lo` to `hi`, both included, each equally likely. Not meant for secrets.

    `random_int(1, 6)` throws a die. `random_int(g, lo, hi)` takes the next of a generator of `rng` and needs no capability:
    `random_int(rng(42), 1, 6)` is `1`.
    """
    source = None
    if end is not None:
        source, lo, hi = _generator("random_int", lo), hi, end
    else:
        ctx.check("random", None)
    for bound in (lo, hi):
        if type(bound) is not int:
            raise RuntimeFault(
                f"random_int expects an integer, got {'float' if type(bound) is float else type_of(bound)}", kind="type"
            )
    if lo > hi:
        from language.values.display import number_text

        raise RuntimeFault(f"random_int: min ({number_text(lo)}) is greater than max ({number_text(hi)})")
    drawn = _below(ctx, hi - lo + 1) if source is None else source.up_to(hi - lo)
    return lo + drawn  # type: ignore[no-any-return]


def _generator(builtin: str, g: Any) -> Generator:
    from stdlib.pcg64 import generator

    return generator(builtin, g)


def _below(ctx: Context, count: int) -> int:
    """An unbiased number below ``count``: as many random bits as needed, drawn again when the number is too large."""
    bits = (count - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(ctx.host.random_bytes(size), "big") >> (size * 8 - bits)
        if drawn < count:
            return drawn


@family.builtin("uuid()", capability="random", context=True)
def uuid(ctx: Context) -> str:
    """A random UUID (RFC 9562, version 4) as lower-case text, 122 of its bits random.

    `uuid()` is a text like `0b54a9f4-6e47-4bb2-9ab1-59b6eb1d1b8e`.
    """
    ctx.check("random", None)
    drawn = bytearray(ctx.host.random_bytes(16))
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    digits = drawn.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
