"""The target of ``proxy to``: parses its address and checks the capability."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

#: Host, port, base path.
Target = tuple[str, int, str]


class Proxied:
    """The value that a handler with ``proxy to`` gives."""

    __slots__ = ("target",)

    def __init__(self, target: Target) -> None:
        self.target = target


def parse_target(value: Any, route: str = "") -> Target:
    """The target that a value of the language names. Raises ``RuntimeFault`` for anything but an ``http`` URL. The message
    names ``route`` if it is not empty.
    """
    from urllib.parse import urlsplit

    def refuse(why: str) -> RuntimeFault:
        return RuntimeFault(f"proxy to: {why}" + (f' (route "{route}")' if route else ""), code="E0702")

    if type(value) is not str:
        raise refuse(f"the target must be a text, got {type_of(value)}")
    if any(ord(c) <= 0x20 or ord(c) == 0x7F for c in value):
        raise refuse("the target must not hold blanks or control characters")
    try:
        parts = urlsplit(value)
        port = parts.port or 80
        name = parts.hostname or ""
        name = name if name.isascii() else name.encode("idna").decode("ascii")
    except ValueError as error:
        raise refuse(str(error)) from None
    if parts.scheme != "http":
        raise refuse(f"only http:// targets, got '{value}'")
    if not name or parts.username is not None or parts.query or parts.fragment:
        raise refuse("the target must be http://host[:port][/base]")
    from language.serve.shaping import ascii_url

    return name, port, ascii_url(parts.path.rstrip("/"))


def check_target(context: Context, target: Target) -> None:
    """Checks that the program has the capability to connect to the target. Raises ``RuntimeFault`` if it is not granted."""
    from language.capabilities.reserved_addresses import reserved_address
    from language.capabilities.scopes import bracketed, net_target

    host, port, _ = target
    wanted = net_target(f"http://{bracketed(host)}:{port}/", "proxy to")
    context.check_net(wanted)
    if reserved_address(wanted.host):  # the addresses of a host name are checked with each connection
        context.check_address(wanted.host, port)
