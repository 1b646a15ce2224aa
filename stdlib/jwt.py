"""JSON Web Tokens (RFC 7519) with HS256 (RFC 7515, 7518). Gate: ``time`` where the clock is read.

PyJWT makes and verifies the signature and refuses keys that are not shared secrets. The form is checked here. The payload is
the language's own JSON in the order of its maps. A token must have the one canonical form. The token does not choose the
algorithm.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import as_map, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("jwt", "JSON Web Tokens")

#: PyJWT's algorithm for HS256, set at the first use: importing the package takes longer than many programs run.
_signer: Any = None

#: The encoded header ``{"alg":"HS256","typ":"JWT"}``.
_HEADER = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
_MOST_LENGTH = 16 * 1024


@family.builtin("jwt_sign(claims, key, opts?)", context=True)
def jwt_sign(ctx: Context, claims: Any, key: Any, opts: Any = None) -> str:
    """A JSON Web Token (RFC 7519) of a map of claims, signed with HMAC-SHA256 (`HS256`).

    The payload is the JSON of the claims in their order, then `iat` (Unix seconds now) unless the claims hold it, then `exp`
    where the option `expires_in` asks for it. `expires_in` is in seconds; 0 or less makes a token that has expired already.
    A secret among the claims is written `"[redacted]"`. `key` is a secret (its plaintext), text or bytes. It is
    an error when it is empty or of another kind: a public or private key, a certificate, a JSON Web Key.
    Needs `time` unless the claims hold `iat` and there is no `expires_in`.

    `jwt_sign({"sub": user.id}, secret("JWT_KEY"), {"expires_in": 3600})`
    """
    from language.values.json_encoding import encode
    from stdlib.json_format import warn_of_secret
    from stdlib.options import option_map, whole_option

    given = as_map(claims)
    if given is None:
        raise RuntimeFault(f"jwt_sign: the claims must be a map, got {type_of(claims)}", kind="type")
    algorithm, secret = _hs256("jwt_sign", key)
    options = option_map("jwt_sign", opts, ("expires_in",))
    lifetime = whole_option("jwt_sign", options, "expires_in", 0)
    expires = "expires_in" in options
    if expires and "exp" in given:
        raise RuntimeFault('jwt_sign: the claims already contain "exp" — leave it out or drop the option "expires_in"')
    payload = dict(given)
    if expires or "iat" not in given:
        from math import floor

        ctx.check("time", None)
        now = floor(ctx.host.now())
        payload.setdefault("iat", now)
        if expires:
            payload["exp"] = now + lifetime
    text = encode(payload, "jwt_sign", warn_of_secret(ctx, "jwt_sign"), "the claims")
    if _read_object(text) is None:
        raise RuntimeFault(
            "jwt_sign: the claims cannot be read back as JSON (NaN, an infinity, more than 4300 digits or 128 levels)"
        )
    signed = f"{_HEADER}.{_base64url(text.encode())}"
    return f"{signed}.{_base64url(algorithm.sign(signed.encode('ascii'), secret))}"


@family.builtin("jwt_verify(token, key, opts?)", context=True)
def jwt_verify(ctx: Context, token: Any, key: Any, opts: Any = None) -> Any:
    """The claims of a JSON Web Token as a map, or `nothing` if the token is invalid for any reason.

    Only `HS256` is accepted, whatever the token says about itself. The token is three parts of base64url without padding, at
    most 16 KiB; its signature is compared in constant time before anything in it is read; header and payload are JSON objects
    without repeated names; a header with `crit` is refused (RFC 7515, 4.1.11). `exp`, when present, is an integer later than
    now, `nbf` an integer not later than now. `iss`, `aud` and `iat` are for the program to check.

    Options: `leeway` (seconds, default 0) widens `exp` and `nbf`; `at` (Unix seconds) replaces the clock. Without `at` it needs
    `time`. A wrong option or key is an error, and so is an empty key, as for `jwt_sign`.

    `jwt_verify(bearer_token, secret("JWT_KEY"))`
    """
    from stdlib.options import moment, option_map, whole_option

    algorithm, secret = _hs256("jwt_verify", key)
    options = option_map("jwt_verify", opts, ("leeway", "at"))
    leeway = whole_option("jwt_verify", options, "leeway", 0, 0)
    now = moment(ctx, "jwt_verify", options)
    if type(token) is not str or len(token) > _MOST_LENGTH or not token.isascii():
        return None
    signed, _, mark = token.rpartition(".")
    parts = signed.split(".")
    if len(parts) != 2:
        return None
    header_bytes, payload_bytes, signature = (_octets(part) for part in (*parts, mark))
    if header_bytes is None or payload_bytes is None or signature is None:
        return None
    if not algorithm.verify(signed.encode("ascii"), secret, signature):
        return None
    header, claims = _read_object(header_bytes), _read_object(payload_bytes)
    if header is None or claims is None or header.get("alg") != "HS256" or "crit" in header:
        return None
    if not _in_time(claims, now, leeway):
        return None
    return claims


def _in_time(claims: dict[str, Any], now: int, leeway: int) -> bool:
    if "exp" in claims and (type(claims["exp"]) is not int or now >= claims["exp"] + leeway):
        return False
    return not ("nbf" in claims and (type(claims["nbf"]) is not int or now < claims["nbf"] - leeway))


def _hs256(builtin: str, value: Any) -> tuple[Any, bytes]:
    """PyJWT's HMAC-SHA256 and the key for it. Raises ``RuntimeFault`` for a key that is not a shared secret."""
    global _signer
    from stdlib.hashing import secret_key

    given = secret_key(builtin, value)
    if _signer is None:
        from jwt.algorithms import HMACAlgorithm

        _signer = HMACAlgorithm(HMACAlgorithm.SHA256)
    from jwt.exceptions import InvalidKeyError

    try:
        return _signer, _signer.prepare_key(given)
    except InvalidKeyError:
        raise RuntimeFault(
            f"{builtin}: the key is a public or private key, a certificate or a JSON Web Key — HS256 needs a shared secret"
        ) from None


def _base64url(data: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode().rstrip("=").replace("+", "-").replace("/", "_")


def _octets(part: str) -> bytes | None:
    """The bytes of base64url without padding, in its one canonical form; ``None`` for anything else."""
    from binascii import Error, a2b_base64

    standard = part.replace("-", "+").replace("_", "/")
    try:
        data = a2b_base64(standard + "=" * (-len(part) % 4))
    except Error:
        return None
    # Encoding it again detects stray bits, padding, invalid characters and the other alphabet.
    return data if _base64url(data) == part else None


def _read_object(text: bytes | str) -> dict[str, Any] | None:
    """The map of a JSON object; ``None`` for other or invalid JSON, and where an object has one name twice."""
    from json import JSONDecoder

    from language.values.json_decoding import decode

    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if text.startswith("\ufeff"):
        return None
    try:
        value = decode(text, "jwt")
        JSONDecoder(object_pairs_hook=_unrepeated, parse_int=str, parse_float=str).decode(text)
    except (RuntimeFault, _RepeatedName):
        return None
    return value if type(value) is dict else None


class _RepeatedName(Exception):
    """An object of JSON that has one name twice."""


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedName
    return members
