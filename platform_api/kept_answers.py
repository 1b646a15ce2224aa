"""Answers that are given again as long as nothing has changed since they were made.

A route that declares ``opt=FROM_THE_STORE`` answers from its caller, its path, its query and the main store alone: no clock, no
header and no other store is looked at. Its answer is kept until anybody commits anything, in this process or another, which the
store tells (SQLite). With PostgreSQL, which does not tell, nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]
    Send = Callable[[Message], Awaitable[None]]

#: The options of a route whose answers are kept.
FROM_THE_STORE = {"from_the_store": True}
#: Who asks (the id of a token), the path, the query.
Asked: TypeAlias = "tuple[str | None, str, bytes]"
#: What the store says beside its content: another one after each commit.
Version: TypeAlias = "tuple[int, int]"
#: Bytes of all answers that are kept at a time, their number, and the bytes of one.
_MOST_BYTES, _MOST, _LARGEST = 16 * 1024 * 1024, 5_000, 1024 * 1024


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer.

    Attributes:
        route: the path template of its route.
        headers: without those that are of one request.
        lines: the same as they are sent.
    """

    route: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    lines: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", b"".join(b"%b: %b\r\n" % header for header in self.headers))


class KeptAnswers:
    """The answers of one version of the store. For the event loop."""

    def __init__(self) -> None:
        self._version: Version | None = None
        self._answers: dict[Asked, Kept] = {}
        self._bytes = 0

    def find(self, version: Version, asked: Asked) -> Kept | None:
        """The answer that was made of this version; ``None`` where it has to be made.

        Args:
            version: of the store, read since the request came in.
        """
        return self._answers.get(asked) if version == self._version else None

    def keep(self, version: Version, asked: Asked, kept: Kept) -> None:
        """Keeps an answer of status 200.

        Args:
            version: of the store, read before what the answer is made of: it may be older than the answer, never younger.
        """
        size = len(kept.body)
        if size > _LARGEST or (self._version is not None and version < self._version):
            return
        if version != self._version or len(self._answers) >= _MOST or self._bytes + size > _MOST_BYTES:
            self._version, self._answers, self._bytes = version, {}, 0
        self._answers[asked] = kept
        self._bytes += size


class Noted:
    """Passes an answer on and remembers it, if it is one that can be kept: of status 200, and sent in one piece."""

    __slots__ = ("_headers", "_send", "kept")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._headers: tuple[tuple[bytes, bytes], ...] | None = None
        self.kept: tuple[tuple[tuple[bytes, bytes], ...], bytes] | None = None

    async def __call__(self, message: Message) -> None:
        """Sends a message of the answer."""
        if message["type"] == "http.response.start":
            self._headers = tuple(message["headers"]) if message["status"] == 200 else None
        elif self._headers is not None and not message.get("more_body", False):
            self.kept, self._headers = (self._headers, message.get("body", b"")), None
        else:
            self._headers = None  # in several pieces
        await self._send(message)
