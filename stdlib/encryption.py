"""Encryption, key agreement and signatures. Gate: ``sign`` of the names of a private key, where it acts for its owner.

The primitives are those of the package ``cryptography``; HKDF uses Python's HMAC and is in every build. A private key must be a
secret. A value derived from a secret is a secret with the same names.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import MISSING, Family
from language.values import Secret, to_bool, type_of
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("encryption", "Encryption, key agreement and signatures")

_NONCE = 12
_TAG = 16
_HASH = 32
_MOST_DERIVED = 255 * _HASH
#: NIST SP 800-38D, 5.2.1.1; the package takes less than its 2^36 - 32 bytes.
_MOST_DATA = (1 << 31) - 1
#: The curves by name: bytes of a private key and of a public key.
_CURVES = {"x25519": (32, 32), "p256": (32, 65), "p384": (48, 97)}
_CURVE_NAMES = ", ".join(_CURVES)
#: The Ed25519 public keys of small order, without the sign bit. For these, signatures can be forged without a private key.
_SMALL_ORDER = frozenset(
    bytes.fromhex(digits)
    for digits in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)


# --- encryption with one key ------------------------------------------------------------------------------------------------


@family.builtin("aes_gcm_encrypt(key, nonce, data, aad?)", profile="native", context=True)
def aes_gcm_encrypt(ctx: Context, key: Any, nonce: Any, data: Any, aad: Any = None) -> bytes:
    """Encrypts data with AES-GCM (NIST SP 800-38D): the result is the ciphertext and its tag of 16 bytes.

    `key` is a secret or bytes: 16, 24 or 32 of them, by which it is AES-128, AES-192 or AES-256. With `nothing` as `nonce` a
    random nonce of 12 bytes is made and prepended to the result, where `aes_gcm_decrypt` finds it; this is the safe choice. A
    nonce given as 12 bytes must never be used twice with the same key, and is not part of the result. `data` is text (its UTF-8
    bytes) or bytes; a secret needs `require reveal("NAME")`, because whoever decrypts the data has its plaintext. `aad`
    (additional authenticated data) is text or bytes that the tag covers but the result does not contain.

    One key should encrypt at most 2^32 messages with random nonces.

    `aes_gcm_decrypt(key, nothing, aes_gcm_encrypt(key, nothing, "text"))` is the bytes of `text`.
    """
    cipher = _cipher("aes_gcm_encrypt", key)
    beside = _beside("aes_gcm_encrypt", aad)
    given = None if nonce is None else _nonce("aes_gcm_encrypt", nonce)
    plain = data
    if type(data) is Secret:
        from stdlib.sealing import unsealed

        plain = unsealed(ctx, data)
    content = _octets("aes_gcm_encrypt", "data", plain)
    _refuse_large("aes_gcm_encrypt", content)
    if given is not None:
        return cipher.encrypt(given, content, beside)  # type: ignore[no-any-return]
    made = ctx.host.random_bytes(_NONCE)
    return made + cipher.encrypt(made, content, beside)  # type: ignore[no-any-return]


@family.builtin("aes_gcm_decrypt(key, nonce, data, aad?, default?)", profile="native")
def aes_gcm_decrypt(key: Any, nonce: Any, data: Any, aad: Any = None, default: Any = MISSING) -> Any:
    """The bytes that `aes_gcm_encrypt` encrypted, with the same `key`, `nonce` and `aad`; `nothing` as `nonce` for a result
    that begins with it.

    Data that was changed, truncated, or made with another key, nonce or `aad` is an error that does not say which of these it
    is. With `default`, that is the result instead. The result is plaintext: `as_secret(bytes, "NAME")` seals it again.

    `aes_gcm_decrypt(secret("DATA_KEY"), nothing, read_file_bytes("box"), "box", nothing)`
    """
    cipher = _cipher("aes_gcm_decrypt", key)
    beside = _beside("aes_gcm_decrypt", aad)
    given = None if nonce is None else _nonce("aes_gcm_decrypt", nonce)
    if type(data) is not bytes:
        raise RuntimeFault(f"aes_gcm_decrypt: the data must be bytes, got {type_of(data)}", kind="type")
    _refuse_large("aes_gcm_decrypt", data)
    from cryptography.exceptions import InvalidTag

    if given is None:
        given, data = data[:_NONCE], data[_NONCE:]
    if len(given) == _NONCE and len(data) >= _TAG:
        try:
            return cipher.decrypt(given, data, beside)
        except InvalidTag:
            pass
    if default is not MISSING:
        return default
    raise RuntimeFault("aes_gcm_decrypt: the data is not authentic; give a default as the last argument to go on without it")


@family.builtin("hkdf_sha256(ikm, salt, info, length)")
def hkdf_sha256(ikm: Any, salt: Any, info: Any, length: Any) -> Any:
    """Derives a key of `length` bytes (1 to 8160) from `ikm` with HKDF-SHA256 (RFC 5869).

    `ikm`, the key to start from, and `salt` are text, bytes or secrets; `nothing` as `salt` means no salt. `info` is text or
    bytes that says what the key is for, `nothing` for none: another `info` gives another key. From a secret comes a secret with
    the same names, else bytes.

    `hkdf_sha256(secret("MASTER_KEY"), nothing, "files", 32)` is a key for `aes_gcm_encrypt`. A password is not strong enough to
    derive a key from: see `password_hash`.
    """
    from hmac import digest

    from stdlib.hashing import key_bytes
    from stdlib.options import whole

    size = whole(length)
    if size is None or not 1 <= size <= _MOST_DERIVED:
        raise RuntimeFault(f"hkdf_sha256: the length must be an integer from 1 to {_MOST_DERIVED}")
    material = key_bytes("hkdf_sha256", ikm, "ikm")
    if not material:
        raise RuntimeFault("hkdf_sha256: the ikm is empty")
    grain = b"" if salt is None else key_bytes("hkdf_sha256", salt, "salt")
    purpose = b"" if info is None else _octets("hkdf_sha256", "info", info)
    extracted = digest(grain or bytes(_HASH), material, "sha256")
    block, blocks = b"", []
    for number in range(1, -(-size // _HASH) + 1):
        block = digest(extracted, block + purpose + bytes((number,)), "sha256")
        blocks.append(block)
    derived = b"".join(blocks)[:size]
    names = tuple(dict.fromkeys(name for part in (ikm, salt) if type(part) is Secret for name in part.names))
    return Secret(derived, names) if names else derived


# --- agreeing on a key ------------------------------------------------------------------------------------------------------


@family.builtin("ecdh_keypair(curve)", capability="random", profile="native", context=True)
def ecdh_keypair(ctx: Context, curve: Any) -> dict[str, Any]:
    """A new key pair for key agreement (ECDH): `{curve, private, public}`.

    `curve` is `"x25519"` (RFC 7748; the best choice unless another one is required), `"p256"` or `"p384"` (NIST SP 800-186).
    `private` is a secret named `ecdh`, `public` the bytes for the other side: 32 for X25519, else the uncompressed point (65 or
    97 bytes). Needs `random`.

    `let mine be ecdh_keypair("x25519")`
    """
    name = _curve("ecdh_keypair", curve)
    _need("ecdh_keypair")
    ctx.check("random", None)
    while True:
        private = ctx.host.random_bytes(_CURVES[name][0])
        key = _private_key(name, private)
        if key is not None:
            return {"curve": name, "private": Secret(private, ("ecdh",)), "public": _public_bytes(name, key)}


@family.builtin("ecdh_public(private, curve?)", profile="native")
def ecdh_public(private: Any, curve: Any = None) -> bytes:
    """The public key that belongs to a private one, a secret of bytes; `curve` as for `ecdh_keypair`, `"x25519"` unless given.

    `ecdh_public(mine.private) == mine.public` is `true`.
    """
    name = "x25519" if curve is None else _curve("ecdh_public", curve)
    _need("ecdh_public")
    return _public_bytes(name, _own_key("ecdh_public", name, private))


@family.builtin("ecdh_shared_secret(private, public)", capability="sign", profile="native", context=True)
def ecdh_shared_secret(ctx: Context, private: Any, public: Any) -> Secret:
    """The shared secret of two key pairs (ECDH): from the private key of one and the public key of the other.

    `private` is a secret of bytes, `public` bytes; the length of `public` determines the curve. A point that is not on the
    curve, or that would give a publicly known result, is an error. The result is a secret with the names of `private`. It is
    not yet a key: derive one with `hkdf_sha256`. Needs `require sign("NAME")` for every name of `private`: `sign("ecdh")` for a
    key of `ecdh_keypair`.

    `hkdf_sha256(ecdh_shared_secret(mine.private, theirs), nothing, "chat", 32)`
    """
    _need("ecdh_shared_secret")
    _check_sign(ctx, "ecdh_shared_secret", private)
    if type(public) is not bytes:
        raise RuntimeFault(f"ecdh_shared_secret: the public key must be bytes, got {type_of(public)}", kind="type")
    name = next((name for name, (_, size) in _CURVES.items() if len(public) == size), "")
    if not name:
        sizes = ", ".join(f"{size} ({name})" for name, (_, size) in _CURVES.items())
        raise RuntimeFault(f"ecdh_shared_secret: a public key has one of these numbers of bytes: {sizes}; got {len(public)}")
    key = _own_key("ecdh_shared_secret", name, private)
    try:
        if name == "x25519":
            from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

            agreed = key.exchange(X25519PublicKey.from_public_bytes(public))
        else:
            from cryptography.hazmat.primitives.asymmetric.ec import ECDH, EllipticCurvePublicKey

            agreed = key.exchange(ECDH(), EllipticCurvePublicKey.from_encoded_point(_nist_curve(name), public))
    except ValueError:
        raise RuntimeFault(f"ecdh_shared_secret: the public key is no valid point of {name}") from None
    return Secret(agreed, private.names)


# --- signatures -------------------------------------------------------------------------------------------------------------


@family.builtin("ed25519_pubkey(private)", profile="native")
def ed25519_pubkey(private: Any) -> bytes:
    """The public key (32 bytes) of an Ed25519 private key (RFC 8032), which is a secret of 32 bytes.

    `as_secret(random_bytes(32), "signer")` is a new private key, `bytes(secret("SIGNER"), "hex")` one from the environment.
    """
    _need("ed25519_pubkey")
    return _raw_public(_signing_key("ed25519_pubkey", private))


@family.builtin("ed25519_sign(private, data)", capability="sign", profile="native", context=True)
def ed25519_sign(ctx: Context, private: Any, data: Any) -> bytes:
    """The Ed25519 signature (RFC 8032, 64 bytes) of text (its UTF-8 bytes) or bytes. Needs `require sign("NAME")` for every
    name of the private key, which is a secret of 32 bytes.

    `ed25519_sign(bytes(secret("SIGNER"), "hex"), "message")` needs `sign("SIGNER")`.
    """
    _need("ed25519_sign")
    _check_sign(ctx, "ed25519_sign", private)
    key = _signing_key("ed25519_sign", private)
    message = _octets("ed25519_sign", "data", data)
    return key.sign(message)  # type: ignore[no-any-return]


@family.builtin("ed25519_verify(public, data, signature)", profile="native")
def ed25519_verify(public: Any, data: Any, signature: Any) -> Bool:
    """Whether a signature of the data was made with the private key that belongs to `public` (32 bytes).

    A signature of another length, or that is not bytes, gives `false`; so does every signature of a public key of small order,
    for which anybody could forge one. A public key that is not 32 bytes is an error.

    `ed25519_verify(public, "message", signature)`
    """
    _need("ed25519_verify")
    if type(public) is not bytes or len(public) != 32:
        got = f"{len(public)} bytes" if type(public) is bytes else type_of(public)
        raise RuntimeFault(f"ed25519_verify: the public key must be 32 bytes, got {got}", kind="type")
    message = _octets("ed25519_verify", "data", data)
    if type(signature) is not bytes or len(signature) != 64 or public[:31] + bytes((public[31] & 0x7F,)) in _SMALL_ORDER:
        return to_bool(False)
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return to_bool(False)
    return to_bool(True)


# --- parts ------------------------------------------------------------------------------------------------------------------


def _need(builtin: str) -> None:
    """Raises ``RuntimeFault`` if the package is not installed, before anything else is checked."""
    try:
        __import__("cryptography")
    except ImportError:
        import sys

        if sys.platform in ("wasi", "emscripten"):
            raise native_only(builtin, "this build has no cryptography library") from None
        raise RuntimeFault(
            f"{builtin}: the package cryptography is not installed: pip install 'ceiling-lang[crypto]'", kind="unsupported"
        ) from None


def _check_sign(ctx: Context, builtin: str, private: Any) -> None:
    """Checks ``sign`` of every name of a private key, before anything is done with it."""
    _refuse_open(builtin, private)
    for name in private.names:
        ctx.check("sign", name)


def _octets(builtin: str, what: str, value: Any) -> bytes:
    if type(value) is bytes:
        return value
    if type(value) is str:
        return value.encode("utf-8", "replace")
    if type(value) is Secret:
        raise RuntimeFault(f"{builtin}: the {what} cannot be a secret: it would be known in clear", kind="type")
    raise RuntimeFault(f"{builtin}: the {what} must be text or bytes, got {type_of(value)}", kind="type")


def _refuse_large(builtin: str, content: bytes) -> None:
    from language.values.allowance import refuse_beyond

    if len(content) > _MOST_DATA - _NONCE - _TAG:
        raise RuntimeFault(f"{builtin}: at most {_MOST_DATA - _NONCE - _TAG} bytes at once: encrypt large data in parts")
    refuse_beyond(2 * len(content))


def _cipher(builtin: str, key: Any) -> Any:
    _need(builtin)
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    octets = key.plaintext if type(key) is Secret else key
    if type(octets) is not bytes or len(octets) not in (16, 24, 32):
        given = "" if type(key) is Secret else f", got {f'{len(key)} bytes' if type(key) is bytes else type_of(key)}"
        raise RuntimeFault(
            f"{builtin}: the key must be 16, 24 or 32 bytes or a secret of them{given}; "
            'bytes(secret("NAME"), "base64") makes one of a text',
            kind="type",
        )
    return AESGCM(octets)


def _nonce(builtin: str, nonce: Any) -> bytes:
    if type(nonce) is not bytes or len(nonce) != _NONCE:
        got = f"{len(nonce)} bytes" if type(nonce) is bytes else type_of(nonce)
        raise RuntimeFault(f"{builtin}: the nonce must be nothing or {_NONCE} bytes, got {got}", kind="type")
    return nonce


def _beside(builtin: str, aad: Any) -> bytes | None:
    return None if aad is None else _octets(builtin, "aad", aad)


def _curve(builtin: str, curve: Any) -> str:
    if type(curve) is not str or curve not in _CURVES:
        raise RuntimeFault(f"{builtin}: the curve must be one of {_CURVE_NAMES}")
    return curve


def _nist_curve(name: str) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1

    return SECP256R1() if name == "p256" else SECP384R1()


def _private_key(name: str, octets: bytes) -> Any:
    """The key; ``None`` if the bytes are not a private key of the curve."""
    if name == "x25519":
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return X25519PrivateKey.from_private_bytes(octets)
    from cryptography.hazmat.primitives.asymmetric.ec import derive_private_key

    try:
        return derive_private_key(int.from_bytes(octets, "big"), _nist_curve(name))
    except ValueError:
        return None  # 0, or not below the order


def _refuse_open(builtin: str, private: Any) -> None:
    if type(private) is not Secret:
        raise RuntimeFault(
            f'{builtin}: a private key must be a secret, got {type_of(private)}; bytes(secret("NAME"), "hex") is one from the '
            'environment, as_secret(key, "NAME") seals bytes',
            kind="type",
        )


def _sealed_bytes(builtin: str, private: Any, size: int) -> bytes:
    """The bytes of a private key. Raises ``RuntimeFault``, which shows none of the bytes, for anything but a secret of ``size``
    bytes.
    """
    _refuse_open(builtin, private)
    octets = private.plaintext
    if type(octets) is not bytes or len(octets) != size:
        raise RuntimeFault(
            f'{builtin}: the private key {private!r} must hold {size} bytes; bytes(secret, "hex") or bytes(secret, "base64") '
            "reads them of a text",
            kind="type",
        )
    return octets


def _own_key(builtin: str, name: str, private: Any) -> Any:
    key = _private_key(name, _sealed_bytes(builtin, private, _CURVES[name][0]))
    if key is None:
        raise RuntimeFault(f"{builtin}: the private key {private!r} is none of {name}")
    return key


def _signing_key(builtin: str, private: Any) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(_sealed_bytes(builtin, private, 32))


def _public_bytes(name: str, key: Any) -> bytes:
    if name == "x25519":
        return _raw_public(key)
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)  # type: ignore[no-any-return]


def _raw_public(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)  # type: ignore[no-any-return]
