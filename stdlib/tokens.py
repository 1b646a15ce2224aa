"""Random bytes and tokens for keys, sessions and links. Gate: ``random``."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import type_of
from language.values.display import number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("tokens", "Random bytes and tokens")


@family.builtin("random_bytes(n)", capability="random", context=True)
def random_bytes(ctx: Context, n: Any) -> bytes:
    """`n` random bytes, 1 to 65536, of the operating system's generator, suitable for keys.

    `random_bytes(32)` is a key for `hmac`.
    """
    ctx.check("random", None)
    return ctx.host.random_bytes(_count("random_bytes", n, 1, 65536))


@family.builtin("token(n?)", capability="random", context=True)
def token(ctx: Context, n: Any = None) -> str:
    """An unguessable text of `n` random bytes, 16 to 256 (default 32), as base64url without padding (RFC 4648).

    `token()` has 43 characters, `token(16)` 22. It is suitable for session ids, single-use links and API keys.
    """
    from binascii import b2a_base64

    ctx.check("random", None)
    drawn = ctx.host.random_bytes(32 if n is None else _count("token", n, 16, 256))
    return b2a_base64(drawn, newline=False).decode().rstrip("=").replace("+", "-").replace("/", "_")


def _count(builtin: str, n: Any, least: int, most: int) -> int:
    from stdlib.options import whole

    count = whole(n)
    if count is None or not least <= count <= most:
        got = number_text(n) if type_of(n) in ("number", "decimal") else type_of(n)
        raise RuntimeFault(f"{builtin}: n must be between {least} and {most} bytes, got {got}")
    return count
