"""Password hashes: Argon2 (RFC 9106) in PHC strings."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import to_bool, type_of
from language.values.allowance import refuse_beyond

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

    #: Variant (0, 1, 2 for d, i, id), version (16 or 19), KiB of memory, passes, lanes.
    Work = tuple[int, int, int, int, int]

family = Family("passwords", "Passwords")

_WORK = (2, 19, 19456, 2, 1)
_SALT_BYTES, _HASH_BYTES = 16, 32

#: Resource limits: the most memory (KiB) and passes that a stored hash may demand of the machine that checks it.
MOST_MEMORY, MOST_TIME = 1 << 20, 64
#: The most KiB written in all passes together, which takes a few seconds: libsodium's strongest setting (1 GiB, four passes) is
#: accepted. OWASP and RFC 9106 recommend far less for logins.
MOST_WORK = 4 << 20
#: More work than this is done in a thread of its own, because a call of the C library cannot be cancelled.
_MOMENT = 1 << 16

# The C library takes the length of the password as 32 bits.
_MOST_PASSWORD = (1 << 32) - 1
_KINDS = {"argon2d": 0, "argon2i": 1, "argon2id": 2}
# The least lengths of the reference implementation, in bytes.
_LEAST_SALT, _LEAST_HASH = 8, 4
_MOST_LANES = (1 << 24) - 1


@family.builtin("password_hash(pw)", context=True)
def password_hash(ctx: Context, pw: Any) -> str:
    """The hash of a password for storing: a PHC string of Argon2id (RFC 9106), different at each call.

    `pw` is a secret (its plaintext), text (its UTF-8 bytes) or bytes. The parameters are 19 MiB of memory, two passes, one
    lane, 16 random bytes of salt and 32 bytes of hash: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`. The salt needs no
    capability.
    """
    from binascii import b2a_base64

    password = _password("password_hash", pw)
    salt = ctx.host.random_bytes(_SALT_BYTES)
    made = _argon2("password_hash", password, _WORK, salt, _HASH_BYTES)
    texts = [b2a_base64(part, newline=False).decode().rstrip("=") for part in (salt, made)]
    return f"$argon2id$v=19$m=19456,t=2,p=1${texts[0]}${texts[1]}"


@family.builtin("password_verify(pw, phc)", context=True)
def password_verify(ctx: Context, pw: Any, phc: Any) -> Bool:
    """Whether `pw` is the password of the stored hash `phc`, compared in constant time.

    `phc` is a PHC string of argon2id, argon2i or argon2d, with its own parameters. Any other text, or a hash of another scheme
    (bcrypt, scrypt), is an error and never `false`, so that a damaged record does not look like a wrong password. A hash that
    requires more than 1 GiB of memory (`m` above 1048576), more than 64 passes (`t`), or more than 4 GiB in all passes together
    (`m` times `t` above 4194304) is an error too.

    `password_verify(request.json.password, user.password_hash)`
    """
    from hmac import compare_digest

    password = _password("password_verify", pw)
    if type(phc) is not str:
        raise RuntimeFault(f"password_verify: the stored hash must be text, got {type_of(phc)}", kind="type")
    work, salt, stored = read_phc(phc)
    made = _argon2("password_verify", password, work, salt, len(stored))
    return to_bool(compare_digest(made, stored))


def _password(builtin: str, value: Any) -> bytes:
    from stdlib.hashing import key_bytes

    return key_bytes(builtin, value, "password")


def read_phc(text: str) -> tuple[Work, bytes, bytes]:
    """The parameters, the salt and the hash of a PHC string as the reference implementation writes and reads them.

    ``$argon2id$v=19$m=<KiB>,t=<passes>,p=<lanes>$<salt>$<hash>``: decimal numbers without leading zeros, in this order; base64
    without padding and without stray bits; no ``v=`` means version 16, the first. Raises ``RuntimeFault``.
    """
    parts = text.split("$")
    scheme = parts[1] if len(parts) > 1 else ""
    if parts[0] or scheme not in _KINDS:
        raise _invalid("expected $argon2id$, $argon2i$ or $argon2d$")
    version = 16
    if len(parts) == 6:
        found = {"v=16": 16, "v=19": 19}.get(parts.pop(2))
        if found is None:
            raise _invalid("the version is neither v=16 nor v=19")
        version = found
    if len(parts) != 5:
        raise _invalid("expected $<scheme>$v=19$m=…,t=…,p=…$<salt>$<hash>")
    numbers = parts[2].split(",")
    if len(numbers) != 3:
        raise _invalid("expected the parameters m=…,t=…,p=…")
    memory, time, lanes = (_number(text, name) for text, name in zip(numbers, "mtp"))
    if memory > MOST_MEMORY or time > MOST_TIME:
        raise _too_much(f"m={MOST_MEMORY} (1 GiB) and t={MOST_TIME} are computed")
    if memory * time > MOST_WORK:
        raise _too_much(f"4 GiB in all passes is computed, m times t being {MOST_WORK}")
    if time < 1 or not 1 <= lanes <= _MOST_LANES or memory < 8 * lanes:
        raise _invalid("parameters that Argon2 does not have (t and p from 1, m from 8 times p)")
    salt, stored = _base64(parts[3]), _base64(parts[4])
    if len(salt) < _LEAST_SALT or len(stored) < _LEAST_HASH:
        raise _invalid("the salt or the hash is too short")
    return (_KINDS[scheme], version, memory, time, lanes), salt, stored


def _too_much(most: str) -> RuntimeFault:
    return RuntimeFault(f"password_verify: the stored hash asks for too much work: at most {most}")


def _number(text: str, name: str) -> int:
    digits = text.removeprefix(name + "=")
    plain = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
    if digits == text or not plain or len(digits) > 10:
        raise _invalid(f"the parameter {name} is not a decimal number")
    return int(digits)


def _base64(text: str) -> bytes:
    from binascii import Error, a2b_base64, b2a_base64

    try:
        data = a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except (Error, ValueError):
        raise _invalid("salt and hash must be base64 without padding") from None
    if b2a_base64(data, newline=False).decode().rstrip("=") != text:
        raise _invalid("salt and hash must be base64 without padding")
    return data


def _invalid(detail: str) -> RuntimeFault:
    return RuntimeFault(f"password_verify: the stored hash is not a valid PHC string ({detail})")


def _argon2(builtin: str, password: bytes, work: Work, salt: bytes, length: int) -> bytes:
    """The raw hash. Lanes are computed sequentially: a stored hash must not decide how many threads are started."""
    kind, version, memory, time, lanes = work
    refuse_beyond(memory * 1024)
    if len(password) > _MOST_PASSWORD:
        raise RuntimeFault(f"{builtin}: the password is too long")
    try:
        from argon2.low_level import core, error_to_str, ffi
    except ImportError:
        return _built_in(builtin, password, work, salt, length)
    out = ffi.new("uint8_t[]", length)
    # from_buffer makes no second copy of the password in memory. The objects must outlive the call.
    secret, spice = ffi.from_buffer("uint8_t[]", password), ffi.from_buffer("uint8_t[]", salt)
    context = ffi.new(
        "argon2_context *",
        {
            "out": out,
            "outlen": length,
            "pwd": ffi.cast("uint8_t *", secret),
            "pwdlen": len(password),
            "salt": ffi.cast("uint8_t *", spice),
            "saltlen": len(salt),
            "secret": ffi.NULL,
            "secretlen": 0,
            "ad": ffi.NULL,
            "adlen": 0,
            "t_cost": time,
            "m_cost": memory,
            "lanes": lanes,
            "threads": 1,
            "version": version,
            "allocate_cbk": ffi.NULL,
            "free_cbk": ffi.NULL,
            "flags": 0,
        },
    )
    failure = core(context, kind) if memory * time <= _MOMENT else _beside(lambda: core(context, kind))
    if failure:
        raise RuntimeFault(f"{builtin}: {error_to_str(failure)}")
    return bytes(ffi.buffer(out, length))


def _built_in(builtin: str, password: bytes, work: Work, salt: bytes, length: int) -> bytes:
    """:func:`_argon2` with the module that is built into the WebAssembly builds."""
    from _argon2 import raw

    try:
        return raw(*work, password, salt, length)  # type: ignore[no-any-return]
    except ValueError as error:
        raise RuntimeFault(f"{builtin}: {error}") from None


def _beside(act: Callable[[], int]) -> int:
    """The result of ``act``, run in a thread of its own where there are threads, so that waiting for it can be cancelled."""
    from language.runtime.threads import run_in_threads

    found: list[int] = []
    run_in_threads(lambda: found.append(act()), 1)
    return found[0]
