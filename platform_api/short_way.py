"""The short way to an answer that is kept: nothing on it waits, and no route is looked for.

An answer is kept behind all checks of the gateway and of its route. What another request for the same path may fail is checked
here again: its headers, its token, the limit of its rate. Whatever is not plain goes the long way, which refuses it.

Clients that ask again send the same bytes again. What such bytes say, a function of them alone, is remembered by their hash, so
that they need not be parsed again. Whether the token still holds, what is kept and how often is asked is looked at each time.
"""

from __future__ import annotations

import asyncio
import re
from hashlib import sha256
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from platform_api.accounts.tokens import digest
from platform_api.identifiers import request_id
from platform_api.service_log import log_request, write_waiting

if TYPE_CHECKING:
    from collections.abc import Collection, MutableMapping

    from platform_api.kept_answers import Kept
    from platform_api.platform import Platform

_BEARER = re.compile(rb"[Bb]earer +([\x21-\x7e]+)")
#: Headers of a request with a body.
_OF_A_BODY = frozenset({b"content-length", b"transfer-encoding"})
#: Requests that are remembered at a time, and the bytes of one.
_MOST, _LARGEST = 5_000, 2_048


class Asked(NamedTuple):
    """What a plain request says.

    Attributes:
        token: its hash.
        request_id: how its client calls it; empty where it does not.
    """

    token: bytes
    path: str
    query: bytes
    request_id: bytes


class ShortWay:
    """For the event loop.

    Args:
        hosts: what a request may name as its host.
    """

    def __init__(self, platform: Platform, hosts: Collection[str]) -> None:
        self._credentials = platform.credentials
        self._kept_answers = platform.kept_answers
        self._limits = platform.limits
        self._metrics = platform.metrics
        self._hosts = frozenset(host.encode("latin-1") for host in hosts)
        self._remembered: dict[bytes, Asked] = {}
        self._lines_wait = False

    def read(self, scope: MutableMapping[str, Any]) -> Asked | None:
        """What a request asks; ``None`` where it has to go the long way.

        Args:
            scope: as ASGI has it.
        """
        headers = dict(scope["headers"])
        if scope["method"] != "GET" or len(headers) < len(scope["headers"]) or not headers.keys().isdisjoint(_OF_A_BODY):
            return None
        bearer = _BEARER.fullmatch(headers.get(b"authorization", b""))
        if bearer is None or headers.get(b"host", b"").lower() not in self._hosts:
            return None
        own = digest(bearer[1].decode("ascii"))
        return Asked(own, scope["path"], scope["query_string"], headers.get(b"x-request-id", b""))

    def remember(self, data: bytes, asked: Asked) -> None:
        """Remembers what a request asks, unless its client calls each one by a name of its own.

        Args:
            data: all bytes of one request, and no other.
        """
        if len(data) > _LARGEST or not data.startswith(b"GET ") or asked.request_id:
            return
        if len(self._remembered) >= _MOST:
            self._remembered = {}
        self._remembered[sha256(data).digest()] = asked

    def recall(self, data: bytes) -> Asked | None:
        """What these bytes ask, if a request of the same bytes is remembered."""
        return self._remembered.get(sha256(data).digest()) if len(data) <= _LARGEST else None

    def answer(self, asked: Asked, *, begun_before_this_turn: bool = False) -> tuple[bytes, bytes] | None:
        """The header lines of the answer to a request and its body; ``None`` where it has to go the long way.

        It is counted and logged with that. Its status is 200. What a server says beside, such as the date, is not among it.

        Args:
            begun_before_this_turn: whether some of the request had arrived when this turn of the event loop began.
        """
        started = perf_counter()
        found = self._find(asked, begun_before_this_turn)
        if found is None:
            return None
        kept, account = found
        own = request_id(asked.request_id)
        seconds = perf_counter() - started
        self._metrics.answered_at_once("GET", kept.route, 200, seconds)
        log_request(own, "GET", kept.route, 200, seconds, account, may_wait=True)
        if not self._lines_wait:  # one piece for all that are answered in this turn
            self._lines_wait = True
            asyncio.get_running_loop().call_soon(self._write_lines)
        return b"%bx-request-id: %b\r\n" % (kept.lines, own.encode()), kept.body

    def _write_lines(self) -> None:
        self._lines_wait = False
        write_waiting()

    def _find(self, asked: Asked, begun_before_this_turn: bool) -> tuple[Kept, str] | None:
        credentials = self._credentials
        found = credentials.known_in_turn(asked.token) if begun_before_this_turn else credentials.known(asked.token)
        if found is None or (version := credentials.version) is None:
            return None
        principal, use_is_news = found
        kept = self._kept_answers.find(version, (principal.token_id, asked.path, asked.query))
        if kept is None or use_is_news:
            return None
        if self._limits is not None and not self._limits.tokens.count_here(str(principal.token_id)):
            return None
        return kept, principal.account_id
