"""Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Seconds between two comments that keep a connection open; whether the token still holds is looked at as often.
HEARTBEAT = 15.0
#: Seconds that a client may take to accept what was sent, before its connection is given up.
PATIENCE = 30.0
COMMENT = b":\n\n"


def event_bytes(name: str, data: Mapping[str, Any], number: str) -> bytes:
    """One event.

    Args:
        name: what kind of event it is.
        number: what a client sends as ``Last-Event-ID`` when it comes back.
    """
    # JSON has no line ends outside of texts and escapes those inside: the data is one line.
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
