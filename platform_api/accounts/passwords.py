"""Passwords as Argon2id hashes (RFC 9106) of the ``argon2-cffi`` package's default cost."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from platform_api.refusals import Refusal

MINIMUM, MAXIMUM = 10, 1024
_hasher = PasswordHasher()
P = ParamSpec("P")
R = TypeVar("R")
#: A hash needs 64 MiB, and everybody can cause one by a sign-in. At most two are calculated at a time, in threads of their own.
_threads = ThreadPoolExecutor(2, thread_name_prefix="password")
_nobody: list[str] = []


async def in_turn(step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a function that calculates hashes. Few run at a time, in threads that nothing else needs."""
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(step, *args, **kwargs))


def hash_password(password: str) -> str:
    """The hash of a new password.

    Errors: ``validation`` for one that is too short or too long.
    """
    if not MINIMUM <= len(password) <= MAXIMUM:
        raise Refusal("validation", f"A password has {MINIMUM} to {MAXIMUM} characters.", field="password")
    return _hasher.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether this is the password.

    Without a stored hash it takes the same time and is false, so that an unknown account looks like a wrong password.
    """
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
