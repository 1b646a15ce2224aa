"""Conversions between bytes, text and lists of integers; text in URLs."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Secret, as_map, type_of
from language.values.allowance import refuse_beyond
from language.values.display import display
from language.values.operators import to_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

family = Family("encoding", "Bytes and encodings")

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LARGEST_SIZE = 1 << 30


@family.builtin("bytes(x, enc?)")
def bytes_(x: Any, enc: Any = None) -> Any:
    """Bytes of a text, a list of integers 0..255, or bytes (unchanged); a secret gives a secret of bytes with the same names.

    For text `enc` names how it is read:

    - `"utf8"` (default): the UTF-8 bytes of the text;
    - `"hex"`: two digits a byte, either case, an optional `0x` before them;
    - `"base64"`: RFC 4648 with padding; `"base64url"`: its URL alphabet, padding optional;
    - `"base32"`: RFC 4648, upper case, without padding;
    - `"base58"`: the Bitcoin alphabet.

    Any other text is an error that names the encoding; for a secret the error says nothing more. A number is an error too: see
    `int_to_bytes`.

    `bytes("Hé")` is `bytes(48c3a9)`; `bytes("0x00ff", "hex")` and `bytes([0, 255])` are `bytes(00ff)`.
    """
    encoding = _encoding_name(enc)
    if encoding not in _READERS:
        raise RuntimeFault(
            f'unsupported encoding "{encoding}" for bytes(); use one of: utf8, hex, base64, base64url, base58, base32'
        )
    kind = type(x)
    if kind is str:
        return _READERS[encoding](x)
    if kind is bytes:
        return x
    if kind is list:
        return _bytes_of_list(x)
    if kind is Secret:
        return _sealed_bytes(x, encoding)
    if kind is int or kind is float:
        raise RuntimeFault("Cannot convert number to bytes; use int_to_bytes(n, size) for an integer")
    raise RuntimeFault(f"Cannot convert {type_of(x)} to bytes", kind="type")


def _sealed_bytes(secret: Secret, encoding: str) -> Secret:
    plaintext = secret.plaintext
    if isinstance(plaintext, bytes):
        return secret
    try:
        return Secret(_READERS[encoding](plaintext), secret.names)
    except RuntimeFault:
        raise RuntimeFault(f"bytes(): {secret!r} is no {encoding}", code="E0407") from None


@family.builtin("decode(b, enc?)")
def decode(b: Any, enc: Any = None) -> str:
    """Text of bytes, the way `enc` names:

    - `"utf8"` (default): strict, an error names the offset of the first wrong byte;
    - `"utf8_lossy"`: wrong bytes become U+FFFD;
    - `"hex"`: lower case;
    - `"base64"` with padding, `"base64url"` and `"base32"` without (RFC 4648);
    - `"base58"`: the Bitcoin alphabet.

    `decode(bytes([251, 255]), "base64url")` is `-_8`.
    """
    if type(b) is not bytes:
        raise RuntimeFault(f"decode expects bytes, got {type_of(b)}", kind="type")
    encoding = _encoding_name(enc)
    if encoding not in _WRITERS:
        raise RuntimeFault(
            f'unsupported encoding "{encoding}" for decode(); '
            "use one of: utf8, utf8_lossy, hex, base64, base64url, base58, base32"
        )
    return _WRITERS[encoding](b)


@family.builtin("url_encode(x)", result="str")
def url_encode(x: Any) -> str:
    """The text percent-encoded for a part of a URL: each of its UTF-8 bytes except letters, digits and `-._~` becomes `%` and
    two hexadecimal digits. A map becomes a query, its entries joined with `&`; values that are not text are in display form.

    `url_encode("a b/c?é")` is `a%20b%2Fc%3F%C3%A9`; `url_encode({"q": "a&b", "page": 2})` is `q=a%26b&page=2`.
    """
    if type(x) is str:
        return _percent_encoded(x)
    entries = as_map(x)
    if entries is None:
        raise RuntimeFault(f"url_encode expects a text or a map, got {type_of(x)}", kind="type")
    if any(type(value) is Secret for value in entries.values()):
        raise RuntimeFault("url_encode cannot encode a secret: its text would stand in a URL", kind="type")
    pairs = [f"{_percent_encoded(name)}={_percent_encoded(display(value))}" for name, value in entries.items()]
    refuse_beyond(sum(map(len, pairs)))
    return "&".join(pairs)


@family.builtin("url_decode(t)", result="str")
def url_decode(t: Any) -> str:
    """The percent-decoded text of the URL part `t`, the inverse of `url_encode`. All other characters stay, also `+`, which
    means a blank in the body of a form: use `url_decode(replace(t, "+", " "))` there.

    A `%` without two hexadecimal digits, and bytes that are not UTF-8, are errors that name the position.

    `url_decode("a%20b%2Fc")` is `a b/c`.
    """
    from re import search
    from urllib.parse import unquote_to_bytes

    if type(t) is not str:
        raise RuntimeFault(f"url_decode expects text, got {type_of(t)}", kind="type")
    wrong = search("%(?![0-9A-Fa-f]{2})", t)
    if wrong is not None:
        raise RuntimeFault(f"url_decode: the % at position {wrong.start()} is not followed by two hexadecimal digits")
    try:
        return unquote_to_bytes(t).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RuntimeFault(f"url_decode: invalid UTF-8 at offset {error.start} of the decoded bytes") from None


def _percent_encoded(text: str) -> str:
    from urllib.parse import quote

    refuse_beyond(len(text) if text.isascii() else 3 * len(text.encode("utf-8", "replace")))
    return quote(text, safe="", errors="replace")


@family.builtin("bytes_to_int(b)", result="int")
def bytes_to_int(b: Any) -> int:
    """The non-negative integer of the bytes, most significant byte first (big-endian); no bytes give 0.

    `bytes_to_int(bytes("0100", "hex"))` is 256.
    """
    if type(b) is not bytes:
        raise RuntimeFault(f"bytes_to_int expects bytes, got {type_of(b)}", kind="type")
    return int.from_bytes(b, "big")


@family.builtin("int_to_bytes(n, size?)")
def int_to_bytes(n: Any, size: Any = None) -> bytes:
    """The bytes of a non-negative integer, most significant byte first (big-endian).

    Without `size` as few as possible (0 gives no bytes), else exactly `size`, filled with zero bytes at the front. A value
    that does not fit is an error.

    `int_to_bytes(256, 4)` is `bytes(00000100)`; `int_to_bytes(256)` is `bytes(0100)`.
    """
    return _int_to_bytes("int_to_bytes", n, size, "big")


@family.builtin("int_to_bytes_le(n, size)")
def int_to_bytes_le(n: Any, size: Any) -> bytes:
    """The bytes of a non-negative integer, least significant byte first (little-endian), exactly `size` of them.

    `int_to_bytes_le(256, 4)` is `bytes(00010000)`.
    """
    return _int_to_bytes("int_to_bytes_le", n, to_index(size), "little")


def _int_to_bytes(builtin: str, n: Any, size: Any, order: Any) -> bytes:
    if type(n) is not int or n < 0:
        raise RuntimeFault(f"{builtin}: the value must be a non-negative integer (no floats/decimals/negatives)")
    needed = (n.bit_length() + 7) // 8
    width = needed if size is None else to_index(size)
    if width < 0 or width > _LARGEST_SIZE:
        raise RuntimeFault(f"{builtin}: the size must be between 0 and {_LARGEST_SIZE} bytes, got {width}")
    if needed > width:
        raise RuntimeFault(f"{builtin}: the value needs {needed} bytes and does not fit in size {width}")
    refuse_beyond(width)
    return n.to_bytes(width, order)


def _encoding_name(enc: Any) -> str:
    if enc is None:
        return "utf8"
    if type(enc) is not str:
        raise RuntimeFault(f"encoding must be text, got {type_of(enc)}", kind="type")
    return enc


def _bytes_of_list(items: list[Any]) -> bytes:
    try:
        if set(map(type, items)) <= {int}:
            return bytes(items)
    except ValueError:
        pass
    wrong = next(index for index, item in enumerate(items) if type(item) is not int or not 0 <= item <= 255)
    raise RuntimeFault(f"bytes(list): element {wrong} is not an integer in 0..=255")


def _read_hex(text: str) -> bytes:
    from binascii import Error, unhexlify

    digits = text[2:] if text.startswith(("0x", "0X")) else text
    if len(digits) % 2:
        raise RuntimeFault(
            f"bytes(): invalid hex: odd number of digits ({len(digits)}); bytes take two digits each. "
            f'For a number use int("0x…")',
            code="E0407",
        )
    try:
        return unhexlify(digits)
    except (Error, ValueError):
        raise RuntimeFault(f"bytes(): invalid hex: {_first_outside(digits, '0123456789abcdefABCDEF')}", code="E0407") from None


def _read_base64(text: str) -> bytes:
    return _read_rfc4648(text, text, "base64")


def _read_base64url(text: str) -> bytes:
    bare = text.rstrip("=")
    padding = -len(bare) % 4
    if len(text) - len(bare) not in (0, padding):
        raise RuntimeFault("bytes(): invalid base64url: wrong padding", code="E0407")
    if "+" in bare or "/" in bare:
        raise RuntimeFault("bytes(): invalid base64url: the alphabet has - and _ in place of + and /", code="E0407")
    return _read_rfc4648(bare, bare.replace("-", "+").replace("_", "/") + "=" * padding, "base64url")


def _read_rfc4648(text: str, standard: str, encoding: str) -> bytes:
    from binascii import Error, a2b_base64, b2a_base64

    try:
        data = a2b_base64(standard, strict_mode=True)
    except (Error, ValueError):
        detail = "not a whole number of bytes, or wrong padding"
        extra = "-_" if encoding == "base64url" else "+/"
        body = text.rstrip("=")
        raise RuntimeFault(
            f"bytes(): invalid {encoding}: {_first_outside(body, _ALPHANUMERIC + extra, detail)}", code="E0407"
        ) from None
    if b2a_base64(data, newline=False) != standard.encode():
        raise RuntimeFault(f"bytes(): invalid {encoding}: the last character has bits that belong to no byte", code="E0407")
    return data


def _read_base32(text: str) -> bytes:
    from base64 import b32decode, b32encode

    outside = _first_outside(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "")
    if outside:
        raise RuntimeFault(f"bytes(): invalid base32: {outside} (upper case, no padding)", code="E0407")
    if len(text) % 8 in (1, 3, 6):
        raise RuntimeFault("bytes(): invalid base32: not a whole number of bytes", code="E0407")
    padded = text + "=" * (-len(text) % 8)
    data = b32decode(padded)
    if b32encode(data) != padded.encode():
        raise RuntimeFault("bytes(): invalid base32: the last character has bits that belong to no byte", code="E0407")
    return data


def _read_base58(text: str) -> bytes:
    outside = _first_outside(text, _BASE58, "")
    if outside:
        raise RuntimeFault(f"bytes(): invalid base58: {outside}", code="E0407")
    body = text.lstrip("1")
    number = _base58_number([_BASE58.index(char) for char in body]) if body else 0
    return bytes(len(text) - len(body)) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _base58_number(digits: list[int]) -> int:
    """The number of base58 digits. Divide and conquer needs a few large multiplications instead of one for each digit."""
    if len(digits) <= 64:
        number = 0
        for digit in digits:
            number = number * 58 + digit
        return number
    from language.values.big_arithmetic import power, product

    half = len(digits) // 2
    return product(_base58_number(digits[:-half]), power(58, half)) + _base58_number(digits[-half:])


def _write_base58(data: bytes) -> str:
    body = data.lstrip(b"\0")
    digits = _base58_digits(int.from_bytes(body, "big"), len(body) * 138 // 100 + 1).lstrip("1") if body else ""
    return "1" * (len(data) - len(body)) + digits


def _base58_digits(number: int, width: int) -> str:
    """``number``, below ``58 ** width``, as exactly ``width`` digits, by divide and conquer."""
    if width <= 64:
        digits = []
        for _ in range(width):
            number, digit = divmod(number, 58)
            digits.append(_BASE58[digit])
        return "".join(reversed(digits))
    from language.values.big_arithmetic import power, quotient

    half = width // 2
    high, low = quotient(number, power(58, half))
    return _base58_digits(high, width - half) + _base58_digits(low, half)


_ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def _first_outside(text: str, alphabet: str, otherwise: str = "invalid text") -> str:
    for position, char in enumerate(text):
        if char not in alphabet:
            return f"character '{char}' at position {position}"
    return otherwise


def _write_base64(data: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode()


def _write_base64url(data: bytes) -> str:
    return _write_base64(data).rstrip("=").replace("+", "-").replace("/", "_")


def _write_base32(data: bytes) -> str:
    from base64 import b32encode

    return b32encode(data).decode().rstrip("=")


def _write_utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RuntimeFault(
            f'decode: invalid UTF-8 at byte offset {error.start} (use "utf8_lossy" to replace invalid bytes)', code="E0407"
        ) from None


def _write_utf8_lossy(data: bytes) -> str:
    return data.decode("utf-8", "replace")


_READERS: dict[str, Callable[[str], bytes]] = {
    "utf8": str.encode,
    "hex": _read_hex,
    "base64": _read_base64,
    "base64url": _read_base64url,
    "base58": _read_base58,
    "base32": _read_base32,
}

_WRITERS: dict[str, Callable[[bytes], str]] = {
    "utf8": _write_utf8,
    "utf8_lossy": _write_utf8_lossy,
    "hex": bytes.hex,
    "base64": _write_base64,
    "base64url": _write_base64url,
    "base58": _write_base58,
    "base32": _write_base32,
}
