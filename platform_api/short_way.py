"""The short way to an answer that is kept: nothing on it waits, and no route is looked for.

An answer is kept behind all checks of the gateway and of its route. What another request for the same path may fail is checked
here again: its headers, its token, the limit of its rate. Whatever is not plain goes the long way, which refuses it.
"""

from __future__ import annotations

import re
from time import perf_counter
from typing import TYPE_CHECKING, Any

from platform_api.identifiers import request_id
from platform_api.service_log import log_request

if TYPE_CHECKING:
    from collections.abc import Collection, MutableMapping

    from platform_api.kept_answers import Kept
    from platform_api.platform import Platform

_BEARER = re.compile(rb"[Bb]earer +([\x21-\x7e]+)")
#: Headers of a request with a body.
_OF_A_BODY = frozenset({b"content-length", b"transfer-encoding"})


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

    def answer(self, scope: MutableMapping[str, Any]) -> tuple[bytes, bytes] | None:
        """The header lines of the answer to a request and its body; ``None`` where it has to go the long way.

        It is counted and logged with that. Its status is 200. What a server says beside, such as the date, is not among it.

        Args:
            scope: as ASGI has it.
        """
        started, headers = perf_counter(), dict(scope["headers"])
        found = self._find(scope, headers)
        if found is None:
            return None
        kept, account = found
        own = request_id(headers.get(b"x-request-id", b""))
        seconds = perf_counter() - started
        self._metrics.answered_at_once("GET", kept.route, 200, seconds)
        log_request(own, "GET", kept.route, 200, seconds, account)
        return b"%bx-request-id: %b\r\n" % (kept.lines, own.encode()), kept.body

    def _find(self, scope: MutableMapping[str, Any], headers: dict[bytes, bytes]) -> tuple[Kept, str] | None:
        if scope["method"] != "GET" or len(headers) < len(scope["headers"]) or not headers.keys().isdisjoint(_OF_A_BODY):
            return None
        bearer = _BEARER.fullmatch(headers.get(b"authorization", b""))
        if bearer is None or headers.get(b"host", b"").lower() not in self._hosts:
            return None
        found = self._credentials.known(bearer[1].decode("ascii"))
        if found is None or (version := self._credentials.version) is None:
            return None
        principal, use_is_news = found
        kept = self._kept_answers.find(version, (principal.token_id, scope["path"], scope["query_string"]))
        if kept is None or use_is_news:
            return None
        if self._limits is not None and not self._limits.tokens.count_here(str(principal.token_id)):
            return None
        return kept, principal.account_id
