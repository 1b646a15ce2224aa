"""The master keys of an installation, and what is derived from them: encryption and fingerprints.

The keys are texts of at least 32 characters, separated by white space or commas: from ``PLATFORM_MASTER_KEY``, else from the
file ``master.key`` in the data folder, which is made at the first start. The first key encrypts; the others only decrypt.
To change the key: put the new one first, run the rotation, remove the old one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

if TYPE_CHECKING:
    from pathlib import Path

    from platform_api.settings import Settings

SHORTEST = 32
_ID, _NONCE = 8, 12


class KeyMissing(Exception):
    """The key of an encrypted value is missing, or the value was changed."""


class _Ring:
    """The ciphers of some master keys by their ids, the current one first."""

    def __init__(self, masters: Sequence[str]) -> None:
        if not masters or any(len(master) < SHORTEST for master in masters):
            raise ValueError(f"a master key has at least {SHORTEST} characters (`openssl rand -base64 32` makes one)")
        self.ciphers = {
            _derived(master, "key id")[: _ID // 2].hex(): AESGCM(_derived(master, "encryption")) for master in masters
        }
        self.current = next(iter(self.ciphers))
        self.fingerprints = _derived(masters[0], "fingerprints")


class Keys:
    """Encrypts with the first master key and decrypts with any.

    Args:
        load: returns the master keys, the current one first. It is called again for a value of an unknown key, because
            another process may have added that key to the file.

    Errors: ``ValueError`` for no master key, or one that is too short.
    """

    def __init__(self, load: Callable[[], Sequence[str]]) -> None:
        self._load = load
        self._ring = _Ring(load())

    @property
    def current(self) -> str:
        """The id of the key that encrypts."""
        return self._ring.current

    def reload(self) -> None:
        """Takes the master keys as they are now."""
        self._ring = _Ring(self._load())

    def seal(self, plain: bytes, *context: str) -> bytes:
        """Encrypts with AES-GCM. The result begins with the id of the key.

        Args:
            context: the kind and the owner of the value. Decryption needs the same context, so a value cannot be moved to
                another place.
        """
        ring, nonce = self._ring, secrets.token_bytes(_NONCE)
        sealed = ring.ciphers[ring.current].encrypt(nonce, plain, _associated(ring.current, context))
        return ring.current.encode() + nonce + sealed

    def open(self, blob: bytes, *context: str) -> bytes:
        """Decrypts a value of ``seal``.

        Errors: ``KeyMissing`` if its key is missing, or if the value or the context was changed.
        """
        key_id = self.key_id(blob)
        if key_id not in self._ring.ciphers:
            self.reload()
        cipher = self._ring.ciphers.get(key_id)
        if cipher is None:
            raise KeyMissing(f"{' '.join(context)}: encrypted with the master key {key_id}, which is not given any more")
        try:
            return cipher.decrypt(blob[_ID : _ID + _NONCE], blob[_ID + _NONCE :], _associated(key_id, context))
        except InvalidTag:
            raise KeyMissing(f"{' '.join(context)}: does not open with the master key {key_id}") from None

    def is_outdated(self, blob: bytes) -> bool:
        """Whether a blob was encrypted with another key than the current one."""
        return self.key_id(blob) != self.current

    @staticmethod
    def key_id(blob: bytes) -> str:
        """The id of the key that a blob was encrypted with."""
        return blob[:_ID].decode("ascii", "replace")

    def has(self, key_id: str) -> bool:
        """Whether what was encrypted with that key opens."""
        return key_id in self._ring.ciphers

    def fingerprint(self, value: str) -> str:
        """12 hex digits that are equal for equal values of this installation. Without its key they do not help to guess a
        value.
        """
        return self._mac(b"value", value.encode())[:6].hex()

    def number(self, content: bytes) -> int:
        """A number from 1 to 2^63 - 1 that is the same for equal content."""
        return int.from_bytes(self._mac(b"content", content)[:8], "big") % (2**63 - 1) + 1

    def _mac(self, use: bytes, content: bytes) -> bytes:
        return hmac.new(self._ring.fingerprints, use + b"\0" + content, hashlib.sha256).digest()


def load_keys(settings: Settings) -> Keys:
    """The master keys of these settings. Without any, a new one is written to a file.

    Errors: ``ValueError`` for an invalid key, ``PermissionError`` for a file that others may read.
    """
    given = settings.master_key
    if given is not None:
        return Keys(lambda: _split(given))
    path = key_file(settings)
    if not path.exists():
        _make(path)
    return Keys(lambda: _read(path))


def key_file(settings: Settings) -> Path:
    """Where the master keys lie that the service makes itself."""
    return settings.data / "master.key"


def add_key(path: Path) -> None:
    """Puts a new current key before those of a file."""
    fresh = secrets.token_urlsafe(32)
    _write(path, f"{fresh}\n{path.read_text(encoding='ascii')}", replace=True)


def _read(path: Path) -> list[str]:
    if os.name == "posix" and (mode := path.stat().st_mode & 0o077):
        raise PermissionError(f"{path} may be read by others (mode {mode | 0o600:04o}): chmod 600 {path}")
    return _split(path.read_text(encoding="ascii"))


def _split(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write(path, secrets.token_urlsafe(32) + "\n", replace=False)


def _write(path: Path, text: str, *, replace: bool) -> None:
    # Written to a temporary file and then renamed: no process reads half a key, and of two simultaneous starts one wins.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(beside, path)
        else:
            try:
                os.link(beside, path)
            except FileExistsError:
                return
    finally:
        beside.unlink(missing_ok=True)


def _derived(master: str, use: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=f"platform {use}".encode()).derive(master.encode())


def _associated(key_id: str, context: tuple[str, ...]) -> bytes:
    return json.dumps([key_id, *context]).encode()
