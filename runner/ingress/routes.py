"""A project as the ingress serves it, and what it keeps of the heads of its replies."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, Final

from runner.ingress.heads import (
    ReplyHead,
    RequestHead,
    read_reply,
)
from runner.ingress.rewriting import ToClient, to_client

if TYPE_CHECKING:
    from runner.backends import Backend
    from runner.ingress.cookies import CookieRules
    from runner.ingress.programs import ProgramConnections

#: Heads of replies whose form for the client is kept, and their bytes at most.
MOST_KEPT_HEADS: Final = 64
LONGEST_KEPT_HEAD: Final = 2048


@dataclass(slots=True)
class Route:
    """A project as the ingress serves it.

    Attributes:
        shared_host: whether other projects have the same host, and other ports.
        held: requests that wait for the program.
        heads: of replies that came lately, what was made of them: those of one second differ in nothing, often.
    """

    backend: Backend
    programs: ProgramConnections
    cookies: CookieRules
    shared_host: bool
    held: int = 0
    heads: dict[tuple[bytes, bool, bool, bool], tuple[ReplyHead, ToClient]] = field(default_factory=dict)

    def reply(self, head: bytes, request: RequestHead) -> tuple[ReplyHead, ToClient]:
        """A reply and how it goes to the client. Errors: ``Malformed``."""
        key = (head, request.method == b"HEAD", request.old, request.keep_alive)
        found = self.heads.get(key)
        if found is None:
            reply = read_reply(head, request.method)
            found = reply, to_client(reply, request, self.cookies, shared_host=self.shared_host, date=date_line)
            if len(head) < LONGEST_KEPT_HEAD and any(name == b"date" for name, _ in reply.fields):  # no date of ours grows old
                if len(self.heads) >= MOST_KEPT_HEADS:
                    self.heads.clear()
                self.heads[key] = found
        return found


_date: tuple[int, bytes] = (0, b"")


def date_line() -> bytes:
    """``Date: ...`` of this second."""
    global _date
    now = int(time.time())
    if _date[0] != now:
        _date = (now, f"date: {formatdate(now, usegmt=True)}\r\n".encode("ascii"))
    return _date[1]
