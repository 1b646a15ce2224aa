"""Delivers the webhook of human gates. The host configured its URL, so it needs no capability of the program."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from urllib.parse import unquote_to_bytes

from language.capabilities.reserved_addresses import reserved_address
from language.capabilities.scopes import net_target
from language.errors import RuntimeFault
from language.host.http import HttpRequest, TransportFailure
from language.native.http import NativeHttp

SECONDS = 10


def post(url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
    """Sends one ``POST`` within ten seconds, follows no redirect and ignores the body of the response.

    Returns ``None``, or the reason of a failure. A reserved address is connected to only where the URL itself names it.
    """

    def answered(status: int, _: list[tuple[str, str]]) -> Callable[[bytes], bool]:
        raise _Answered(status)

    try:
        target = net_target(url, "webhook")

        def check(address: str, port: int) -> None:
            if not reserved_address(target.host):
                raise TransportFailure(f"the host {target.host} leads to {reserved_address(address)}, {address}")

        sent = [(name, value.encode()) for name, value in headers.items()]
        if target.userinfo is not None:
            sent.append(("Authorization", b"Basic " + b64encode(unquote_to_bytes(target.userinfo))))
        request = HttpRequest(
            "POST", target, target.path_and_query, sent, body, SECONDS, check, total=float(SECONDS), enough=answered
        )
        NativeHttp().exchange(request)
    except _Answered as answer:
        return None if 200 <= answer.status <= 299 else f"HTTP {answer.status}"
    except RuntimeFault:
        return "the URL has no host"
    except TransportFailure as failure:
        return str(failure)
    return "no answer"


class _Answered(Exception):
    """The response has begun; its body is not read."""

    def __init__(self, status: int) -> None:
        self.status = status
