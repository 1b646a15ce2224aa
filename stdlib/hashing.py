"""Hashes and message authentication codes."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Secret, to_bool, type_of
from language.values.display import display, raw_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.values import Bool

family = Family("hashing", "Hashes and message authentication codes")

_MAC_LENGTH = {"sha256": 32, "sha512": 64}


def plain_bytes(value: Any) -> bytes | None:
    """The bytes of a text (UTF-8), of bytes, or of a secret's plaintext; ``None`` for any other type."""
    kind = type(value)
    if kind is Secret:
        value = value.plaintext
        kind = type(value)
    if kind is str:
        return value.encode()  # type: ignore[no-any-return]
    return value if kind is bytes else None


def key_bytes(builtin: str, value: Any, what: str = "key") -> bytes:
    """The bytes of a key or password argument of ``builtin``. Raises ``RuntimeFault`` for other types."""
    data = plain_bytes(value)
    if data is None:
        raise RuntimeFault(f"{builtin}: the {what} must be a secret, text or bytes, got {type_of(value)}", kind="type")
    return data


def secret_key(builtin: str, value: Any) -> bytes:
    """The bytes of a key argument of ``builtin``. Raises ``RuntimeFault`` for other types and for an empty key.

    With an empty key, left by an unset variable for example, anybody could make a valid signature.
    """
    key = key_bytes(builtin, value)
    if not key:
        raise RuntimeFault(f"{builtin}: the key is empty")
    return key


def mac(builtin: str, data: Any, key: Any, algorithm: Any) -> bytes:
    """The HMAC (RFC 2104) of language values. Raises ``RuntimeFault`` for a wrong or empty key and a wrong algorithm."""
    import hmac as rfc2104

    name = "sha256" if algorithm is None else raw_text(algorithm)
    if name not in _MAC_LENGTH:
        if name in ("sha1", "SHA1", "sha-1", "SHA-1"):
            raise RuntimeFault(f"{builtin}: SHA-1 is not supported (weak); use sha256 or sha512")
        raise RuntimeFault(f"{builtin}: unknown algorithm '{name}' (use sha256 or sha512)")
    secret = secret_key(builtin, key)
    message = plain_bytes(data)
    return rfc2104.digest(secret, display(data).encode() if message is None else message, name)


def _hashed(builtin: str, value: Any) -> bytes:
    if type(value) is str:
        return value.encode()
    if type(value) is bytes:
        return value
    raise RuntimeFault(f"{builtin} expects text or bytes, got {type_of(value)}", kind="type")


@family.builtin("sha256(x)")
def sha256(x: Any) -> bytes:
    """The SHA-256 hash (FIPS 180-4) of a text (its UTF-8 bytes) or of bytes: 32 bytes.

    A secret is an error: use `hmac` with the secret as the key.

    `decode(sha256("abc"), "hex")` is `ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad`.
    """
    from hashlib import sha256

    return sha256(_hashed("sha256", x)).digest()


@family.builtin("sha512(x)")
def sha512(x: Any) -> bytes:
    """The SHA-512 hash (FIPS 180-4) of a text (its UTF-8 bytes) or of bytes: 64 bytes. A secret is an error."""
    from hashlib import sha512

    return sha512(_hashed("sha512", x)).digest()


@family.builtin("sha512_256(x)")
def sha512_256(x: Any) -> bytes:
    """The SHA-512/256 hash (FIPS 180-4) of a text (its UTF-8 bytes) or of bytes: 32 bytes. A secret is an error.

    It is a function of its own, not the first half of `sha512(x)`.
    """
    from stdlib.hash_functions import sha512_256

    return sha512_256(_hashed("sha512_256", x))


@family.builtin("keccak256(x)")
def keccak256(x: Any) -> bytes:
    """The Keccak-256 hash of a text (its UTF-8 bytes) or of bytes: 32 bytes. A secret is an error.

    This is Keccak with the padding from before the standard, as Ethereum uses it; SHA3-256 of FIPS 202 gives other values.

    `hex(keccak256(""))` is `0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470`.
    """
    from stdlib.hash_functions import keccak256

    return keccak256(_hashed("keccak256", x))


@family.builtin("hmac(data, key, algo?)")
def hmac(data: Any, key: Any, algo: Any = None) -> bytes:
    """The message authentication code HMAC (RFC 2104) of `data` under `key`, as bytes.

    `algo` is `"sha256"` (default, 32 bytes) or `"sha512"` (64 bytes). `data`: text (its UTF-8 bytes), bytes, or a secret (its
    plaintext); any other value is converted to its display text. `key`: a secret (its plaintext), text or bytes; an empty key
    is an error. The result is not secret. To check a code that came from outside use `verify_hmac`, which compares in constant
    time.

    `decode(hmac("msg", secret("KEY")), "hex")` is the usual way to sign a message.
    """
    return mac("hmac", data, key, algo)


@family.builtin("hmac_sha256(data, key)")
def hmac_sha256(data: Any, key: Any) -> str:
    """Deprecated: use `hmac`. The HMAC-SHA256 of `data` under `key` as lower-case hex text.

    `hmac_sha256("msg", "key")` is `decode(hmac("msg", "key"), "hex")`.
    """
    return mac("hmac_sha256", data, key, None).hex()


# Its result differs from that of hmac, so it has a declaration of its own and is marked here.
family.builtins["hmac_sha256"].alias_of = "hmac"


@family.builtin("verify_hmac(data, signature, key, algo?)")
def verify_hmac(data: Any, signature: Any, key: Any, algo: Any = None) -> Bool:
    """Whether `signature` is the HMAC of `data` under `key`, compared in constant time.

    `signature` is text as services send it: blanks around it and a leading `sha256=` or `sha512=` are dropped, the rest
    is read as hex (either case) or as standard base64 (padding optional), whichever has the length of the code. Bytes are taken
    as the code itself. A signature that cannot be read is `false`, never an error; an empty key is an error. `algo` is
    `"sha256"` (default) or `"sha512"`; `data` and `key` as for `hmac`.

    `verify_hmac(body, headers["x-signature"], secret("HOOK_KEY"))`
    """
    from hmac import compare_digest

    expected = mac("verify_hmac", data, key, algo)
    for candidate in _signature_readings(signature):
        if len(candidate) == len(expected):
            return to_bool(compare_digest(candidate, expected))
    return to_bool(False)


def _signature_readings(signature: Any) -> list[bytes]:
    from binascii import Error, a2b_base64, unhexlify

    if type(signature) is Secret:
        signature = signature.plaintext
    if type(signature) is bytes:
        return [signature]
    if type(signature) is not str or not signature.isascii():
        return []
    text = signature.strip()
    if text.startswith(("sha256=", "sha512=")):
        text = text[7:]
    bare = text.rstrip("=")
    return _readable(lambda: unhexlify(text), Error) + _readable(
        lambda: a2b_base64(bare + "=" * (-len(bare) % 4), strict_mode=True), Error
    )


def _readable(read: Callable[[], bytes], unreadable: type[Exception]) -> list[bytes]:
    try:
        return [read()]
    except unreadable:
        return []


@family.builtin("constant_time_eq(a, b)")
def constant_time_eq(a: Any, b: Any) -> Bool:
    """Whether two values have the same bytes, compared in constant time.

    Each side is text (its UTF-8 bytes), bytes, or a secret (its plaintext). Different lengths give `false`. An empty secret is
    an error, because a program whose secret is not set would accept an empty input.

    `constant_time_eq(given, secret("API_KEY"))`
    """
    from hmac import compare_digest

    left, right = plain_bytes(a), plain_bytes(b)
    if left is None or right is None:
        wrong = type_of(a if left is None else b)
        raise RuntimeFault(f"constant_time_eq expects text, bytes or a secret on either side, got {wrong}")
    for side, data in ((a, left), (b, right)):
        if type(side) is Secret and not data:
            raise RuntimeFault(f"constant_time_eq: the secret {side.names[0]} is empty")
    return to_bool(compare_digest(left, right))
