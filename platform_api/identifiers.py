"""Identifiers of records: a prefix that names the kind, then a ULID (https://github.com/ulid/spec) in lower case."""

from __future__ import annotations

import re
import secrets
import threading
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID = re.compile(rf"[a-z]+_[{_ALPHABET}]{{26}}")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_lock = threading.Lock()
_last = 0


def new_id(prefix: str) -> str:
    """A new identifier such as ``prj_01jx...``: unique, and sorted by creation within this process.

    Args:
        prefix: ``prj``, ``dep``, ``run``, ``apr``, ``usr``, ``tok`` or another short word.
    """
    global _last
    made = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    with _lock:
        _last = made = made if made > _last else _last + 1
    digits = []
    for _ in range(26):
        made, digit = divmod(made, 32)
        digits.append(_ALPHABET[digit])
    return f"{prefix}_{''.join(reversed(digits))}"


def is_id(text: str) -> bool:
    """Whether a text is an identifier of some record."""
    return _ID.fullmatch(text) is not None


def request_id(given: bytes) -> str:
    """What a request is called in its answer and in the log: what the client calls it, where that is 8 to 64 plain characters.

    Args:
        given: its ``X-Request-Id``, or nothing.
    """
    return given.decode("ascii") if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
