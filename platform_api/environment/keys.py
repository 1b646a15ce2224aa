"""The master keys of an installation, and what is derived from them: encryption and fingerprints.

The keys are texts of at least 32 characters, separated by white space or commas: from ``PLATFORM_MASTER_KEY``, else from the
file ``master.key`` in the data folder, which is made at the first start. The first key encrypts; the others only open what was
encrypted with them. To change the key: put the new one first, run the rotation, take the old one out.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
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
    """What was encrypted with a key that is not there any more, or has been changed since."""


class Keys:
    """Encrypts with the first master key and opens with any.

    Args:
        masters: the master keys, the current one first.

    Errors: ``ValueError`` for none, or one that is too short.
    """

    def __init__(self, masters: tuple[str, ...]) -> None:
        if not masters or any(len(master) < SHORTEST for master in masters):
            raise ValueError(f"a master key has at least {SHORTEST} characters (`openssl rand -base64 32` makes one)")
        self._ciphers = {
            _derived(master, "key id")[: _ID // 2].hex(): AESGCM(_derived(master, "encryption")) for master in masters
        }
        self.current = next(iter(self._ciphers))
        self._fingerprints = _derived(masters[0], "fingerprints")

    def seal(self, plain: bytes, *context: str) -> bytes:
        """Encrypts with AES-GCM. The result begins with the id of the key.

        Args:
            context: what it is and whose; the same must be given to open it, so that it cannot be put in another place.
        """
        nonce = secrets.token_bytes(_NONCE)
        sealed = self._ciphers[self.current].encrypt(nonce, plain, _associated(self.current, context))
        return self.current.encode() + nonce + sealed

    def open(self, blob: bytes, *context: str) -> bytes:
        """What ``seal`` was given.

        Errors: ``KeyMissing`` where its key is not among these, or where the blob or the context is another.
        """
        key_id = self.key_id(blob)
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise KeyMissing(f"{' '.join(context)}: encrypted with the master key {key_id}, which is not given any more")
        try:
            return cipher.decrypt(blob[_ID : _ID + _NONCE], blob[_ID + _NONCE :], _associated(key_id, context))
        except InvalidTag:
            raise KeyMissing(f"{' '.join(context)}: does not open with the master key {key_id}") from None

    @staticmethod
    def key_id(blob: bytes) -> str:
        """The id of the key that a blob was encrypted with."""
        return blob[:_ID].decode("ascii", "replace")

    def has(self, key_id: str) -> bool:
        """Whether what was encrypted with that key opens."""
        return key_id in self._ciphers

    def fingerprint(self, value: str) -> str:
        """12 hex digits: the same for equal values of this installation, and of no use to guess them elsewhere."""
        return self._mac(b"value", value.encode())[:6].hex()

    def number(self, content: bytes) -> int:
        """A number from 1 to 2^63 - 1 that is the same for equal content."""
        return int.from_bytes(self._mac(b"content", content)[:8], "big") % (2**63 - 1) + 1

    def _mac(self, use: bytes, content: bytes) -> bytes:
        return hmac.new(self._fingerprints, use + b"\0" + content, hashlib.sha256).digest()


def load_keys(settings: Settings) -> Keys:
    """The master keys of these settings; a new one in a file of its own where there are none.

    Errors: ``ValueError`` for a key that cannot be one, ``PermissionError`` for a file that others may read.
    """
    if settings.master_key is not None:
        return Keys(tuple(settings.master_key.replace(",", " ").split()))
    path = settings.data / "master.key"
    if not path.exists():
        _make(path)
    if os.name == "posix" and (mode := path.stat().st_mode & 0o077):
        raise PermissionError(f"{path} may be read by others (mode {mode | 0o600:04o}): chmod 600 {path}")
    return Keys(tuple(path.read_text(encoding="ascii").replace(",", " ").split()))


def add_key(path: Path) -> None:
    """Puts a new current key before those of a file."""
    fresh = secrets.token_urlsafe(32)
    _write(path, f"{fresh}\n{path.read_text(encoding='ascii')}", replace=True)


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write(path, secrets.token_urlsafe(32) + "\n", replace=False)


def _write(path: Path, text: str, *, replace: bool) -> None:
    # Written beside it and then given its name: nobody ever reads half a key, and of two that start at once one wins.
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
