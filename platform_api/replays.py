"""Writes with an ``Idempotency-Key``: carried out once, answered alike as often as they are sent.

Plain ASGI between the gateway and the routes. Answers are kept encrypted, since some of them hold what is shown once.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from platform_api.accounts.idempotency import abandon, begin, finish
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from platform_api.accounts.principal import Principal
    from platform_api.platform import Platform

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

HEADER = b"idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,128}")
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
PURPOSE = "idempotent answer"


def is_replayable(method: str, headers: dict[bytes, bytes]) -> bool:
    """Whether a request asks to be carried out once."""
    return method in _WRITES and HEADER in headers


async def once(
    platform: Platform,
    principal: Principal,
    application: Callable[..., Awaitable[None]],
    scope: MutableMapping[str, Any],
    headers: dict[bytes, bytes],
    receive: Receive,
    send: Send,
) -> None:
    """Carries a request out, or repeats the answer that it has had within a day.

    Errors: ``validation`` for a key that cannot be one, ``conflict`` as of ``begin``.
    """
    key = headers[HEADER].decode("latin-1")
    if not _KEY.fullmatch(key):
        raise Refusal("validation", "An Idempotency-Key has 1 to 128 visible ASCII characters.", field="Idempotency-Key")
    account, main = principal.account_id, platform.store.main
    body = await _body(receive)
    row = await main.write(begin, account, key, _request_hash(principal, scope, body))
    if row is not None:
        stored = platform.keys.open(row.response, PURPOSE, account, key)
        await _send(send, row.status, [(b"content-type", b"application/json"), (b"idempotent-replayed", b"true")], stored)
        return
    answer = _Answer()
    stays = False
    try:
        await application(scope, _again(body, receive), answer)
        stays = answer.whole and answer.status < 500 and answer.status != 429
        if stays:
            sealed = platform.keys.seal(bytes(answer.body), PURPOSE, account, key)
            await main.write(finish, account, key, answer.status, sealed)
    finally:
        if not stays:
            await main.write(abandon, account, key)
    if answer.whole:
        await _send(send, answer.status, answer.headers, bytes(answer.body))


class _Answer:
    """Holds an answer back until it is stored."""

    def __init__(self) -> None:
        self.status = 500
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.whole = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")
            self.whole = not message.get("more_body", False)


def _request_hash(principal: Principal, scope: MutableMapping[str, Any], body: bytes) -> bytes:
    # With what the token may do: a lesser token is not told what a greater one was answered.
    about = [scope["method"], scope["path"], scope["query_string"].decode("latin-1"), principal.project_id]
    return hashlib.sha256(json.dumps([*about, *sorted(principal.scopes)]).encode() + b"\0" + body).digest()


async def _body(receive: Receive) -> bytes:
    received = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal("bad_request", "The request ended before its body did.")
        received += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(received)


def _again(body: bytes, receive: Receive) -> Receive:
    given = False

    async def once_more() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once_more


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    if not any(name.lower() == b"content-length" for name, _ in headers):
        headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
