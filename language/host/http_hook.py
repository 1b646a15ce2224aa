"""HTTP through the ``http`` hook of an embedder: a function that is given a request as a dict and returns a response as a
dict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from language.capabilities.scopes import bracketed
from language.host.http import MOST_BODY, HttpReply, HttpRequest, TransportFailure, too_large

_COROUTINE = "the http hook is a coroutine function: lend a plain function and run the program in a thread (asyncio.to_thread)"


class HookedHttp:
    """The HTTP client over a hook. Every fault of the hook becomes a ``TransportFailure``."""

    def __init__(self, hook: Callable[[dict[str, Any]], Any]) -> None:
        self._hook = hook

    def exchange(self, request: HttpRequest) -> HttpReply:
        try:
            answer = self._hook(_payload(request))
        except Exception as error:
            raise TransportFailure(f"{type(error).__name__}: {error}") from error
        if hasattr(answer, "__await__"):
            if hasattr(answer, "close"):
                answer.close()
            raise TransportFailure(_COROUTINE)
        if not isinstance(answer, Mapping):
            raise TransportFailure("the http hook gave no answer")
        if answer.get("error") is not None:
            raise TransportFailure(str(answer["error"]))
        body = _body(answer)
        most = MOST_BODY if request.most is None else min(request.most, MOST_BODY)
        if len(body) > most:
            raise too_large(most)
        return HttpReply(_status(answer.get("status")), _headers(answer.get("headers")), body)


def _payload(request: HttpRequest) -> dict[str, Any]:
    target = request.target
    place = bracketed(target.host) if target.port is None else f"{bracketed(target.host)}:{target.port}"
    payload: dict[str, Any] = {
        "method": request.method,
        "url": f"{target.scheme}://{place}{request.path}",
        "headers": [[name, value.decode("utf-8", "replace")] for name, value in request.headers],
        "timeout": request.timeout,
    }
    if request.body is None:
        payload["body"] = None
        return payload
    try:
        payload["body"] = request.body.decode("utf-8")
    except UnicodeDecodeError:
        from binascii import b2a_base64

        payload["body_base64"] = b2a_base64(request.body, newline=False).decode()
    return payload


def _status(status: Any) -> int:
    if not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 999:
        raise TransportFailure("the http hook gave no status")
    return int(status)


def _headers(headers: Any) -> list[tuple[str, str]]:
    if headers is None:
        return []
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    try:
        return [(_text(name), _text(value)) for name, value in pairs]
    except (TypeError, ValueError):
        raise TransportFailure("the http hook gave headers that are neither pairs nor a map") from None


def _text(value: Any) -> str:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise TypeError
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _body(answer: Mapping[str, Any]) -> bytes:
    encoded = answer.get("body_base64")
    if encoded is not None:
        return _base64(str(encoded))
    body = answer.get("body")
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode("utf-8", "replace")
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    raise TransportFailure(f"the http hook gave a body that is neither text nor bytes: {type(body).__name__}")


def _base64(text: str) -> bytes:
    """The bytes of standard or URL-safe base64. Characters of neither alphabet are ignored; padding is optional."""
    from binascii import a2b_base64

    standard = text.replace("-", "+").replace("_", "/")
    digits = "".join(c for c in standard if c.isascii() and (c.isalnum() or c in "+/"))
    if len(digits) % 4 == 1:
        raise TransportFailure("the http hook gave a body that is no base64")
    return a2b_base64(digits + "=" * (-len(digits) % 4))
