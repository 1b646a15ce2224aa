"""Passwords as Argon2id hashes (RFC 9106) of the ``argon2-cffi`` package's default cost."""

from __future__ import annotations

import secrets
import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from platform_api.refusals import Refusal

MINIMUM, MAXIMUM = 10, 1024
_hasher = PasswordHasher()
#: Each hash takes 64 MiB: no more than these are calculated at a time.
_places = threading.BoundedSemaphore(2)
_nobody: list[str] = []


def hash_password(password: str) -> str:
    """The hash of a new password.

    Errors: ``validation`` for one that is too short or too long.
    """
    if not MINIMUM <= len(password) <= MAXIMUM:
        raise Refusal("validation", f"A password has {MINIMUM} to {MAXIMUM} characters.", field="password")
    with _places:
        return _hasher.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether this is the password.

    Without a stored hash it takes the same time and is false: an unknown account cannot be told from a wrong password.
    """
    with _places:
        if not _nobody:
            _nobody.append(_hasher.hash(secrets.token_urlsafe(16)))
        try:
            matches = _hasher.verify(stored or _nobody[0], password[:MAXIMUM])
        except (VerificationError, InvalidHashError):
            return False
    return matches and stored is not None


def is_outdated(stored: str) -> bool:
    """Whether a hash was made with another cost than new ones are."""
    return _hasher.check_needs_rehash(stored)
