"""How much of an answer from outside is read before it counts as an error."""

from __future__ import annotations

import os

from language.host.http import MOST_BODY


def most_bytes() -> int:
    """``PLATFORM_HTTP_MAX_BYTES`` of the process environment: the largest body or message, in bytes."""
    value = os.environ.get("PLATFORM_HTTP_MAX_BYTES", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 16 and int(value) > 0 else MOST_BODY
