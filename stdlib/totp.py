"""One-time codes from the time (TOTP, RFC 6238). Gate: ``time`` where the clock is read.

pyotp makes the codes. The comparison here takes the same time whichever code of the window matches.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import to_bool, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("totp", "One-time codes")

_OPTIONS = ("algo", "digits", "period", "at")
# The counter of a code has eight bytes, including the window on either side.
_LATEST = (1 << 63) - 1


@family.builtin("totp(key, opts?)", context=True)
def totp(ctx: Context, key: Any, opts: Any = None) -> str:
    """The one-time code of a moment (RFC 6238) as text, leading zeros kept.

    `key` is a secret (its plaintext), text (its UTF-8 bytes) or bytes, and not empty; the base32 seed of an authenticator app
    is `bytes(seed, "base32")`. Options: `algo` (`"sha1"`, the default and what apps use, or `"sha256"`), `digits` (6 to 8,
    default 6), `period` (1 to 3600 seconds, default 30), `at` (Unix seconds; default now, which needs `time`).

    `totp("12345678901234567890", {"at": 59})` is `287082`.
    """
    from stdlib.hashing import secret_key
    from stdlib.options import moment, option_map

    secret = secret_key("totp", key)
    options = option_map("totp", opts, _OPTIONS)
    algorithm, digits, period = _shape("totp", options)
    return _code(secret, moment(ctx, "totp", options, _LATEST) // period, algorithm, digits)


@family.builtin("totp_verify(key, code, opts?)", context=True)
def totp_verify(ctx: Context, key: Any, code: Any, opts: Any = None) -> Bool:
    """Whether `code` is the one-time code of the current period or of one close to it.

    `code` is text; blanks around it are dropped. `window` (0 to 10, default 1) says how many periods before and after count;
    the other options are those of `totp`. All codes of the window are made and compared in constant time. The program itself
    must ensure that a code is accepted only once.

    `totp_verify(bytes(user.seed, "base32"), request.json.code)`
    """
    from hmac import compare_digest

    from stdlib.hashing import secret_key
    from stdlib.options import moment, option_map, whole_option
    from stdlib.text import WHITE_SPACE

    secret = secret_key("totp_verify", key)
    options = option_map("totp_verify", opts, (*_OPTIONS, "window"))
    algorithm, digits, period = _shape("totp_verify", options)
    window = whole_option("totp_verify", options, "window", 1, 0, 10)
    now = moment(ctx, "totp_verify", options, _LATEST) // period
    if type(code) is not str:
        raise RuntimeFault(f"totp_verify: the code must be text, got {type_of(code)}", kind="type")
    given = code.strip(WHITE_SPACE)
    if len(given) != digits or not (given.isascii() and given.isdigit()):
        return to_bool(False)
    found = False
    for counter in range(max(0, now - window), now + window + 1):
        found |= compare_digest(_code(secret, counter, algorithm, digits), given)
    return to_bool(found)


def _shape(builtin: str, options: dict[str, Any]) -> tuple[str, int, int]:
    from stdlib.options import whole_option

    algorithm = options.get("algo", "sha1")
    if algorithm.__class__ is not str or algorithm not in ("sha1", "sha256"):
        raise RuntimeFault(f'{builtin}: option "algo" must be "sha1" or "sha256"')
    return algorithm, whole_option(builtin, options, "digits", 6, 6, 8), whole_option(builtin, options, "period", 30, 1, 3600)


def _code(key: bytes, counter: int, algorithm: str, digits: int) -> str:
    from stdlib.one_time_codes import Codes

    return Codes(key, algorithm, digits).generate_otp(counter)
