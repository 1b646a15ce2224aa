"""The heads of requests and replies, read in one way only (RFC 9112).

What two readers could see differently is refused: the ingress writes every head anew, and nothing that was not understood goes
on. It has its own strict parser instead of a lenient one with checks after it: what these few rules do not allow is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: Bytes of a request's head. Less than what programs take, for the fields that are added on the way.
LONGEST_HEAD: Final = 28 * 1024
LONGEST_REPLY_HEAD: Final = 256 * 1024
MOST_FIELDS: Final = 128
END: Final = b"\r\n\r\n"

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_REQUEST_LINE = re.compile(rb"(%b{1,32}) ([!\"$-~\x80-\xff]{1,%d}) HTTP/1\.([01])\r\n" % (_TOKEN, LONGEST_HEAD))
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: ([\t -~\x80-\xff]*))?\r\n")
_FIELD = re.compile(rb"(%b{1,256}):([\t -~\x80-\xff]*)\r\n" % _TOKEN)
_AUTHORITY = re.compile(rb"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_ABSOLUTE = re.compile(rb"https?://([^/?]*)(.*)", re.IGNORECASE)

Fields = tuple[tuple[bytes, bytes], ...]


class Malformed(Exception):
    """A message that is not forwarded.

    Args:
        status: what a client is answered with.
        reason: for a person.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Framing:
    """How long a body is: ``length`` bytes, or in chunks, or (a reply alone) until the connection ends."""

    length: int = 0
    chunked: bool = False
    until_end: bool = False


NO_BODY: Final = Framing()
CHUNKED: Final = Framing(chunked=True)
UNTIL_END: Final = Framing(until_end=True)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request without its body.

    Attributes:
        target: in origin form, or ``*``.
        old: HTTP/1.0.
        fields: names in lower case, as they came otherwise, in order.
        host: the value of ``Host``, in lower case; ``b""`` where an HTTP/1.0 client named none.
        keep_alive: whether the client goes on with this connection.
        websocket: whether it asks to go on with that protocol.
        expects: whether it waits for ``100 Continue``.
    """

    method: bytes
    target: bytes
    old: bool
    fields: Fields
    host: bytes
    framing: Framing
    keep_alive: bool
    websocket: bool
    expects: bool


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """A reply without its body. ``keep_alive``: whether the program keeps this connection open."""

    status: int
    reason: bytes
    fields: Fields
    framing: Framing
    keep_alive: bool
    websocket: bool


def read_request(head: bytes) -> RequestHead:
    """The request in a head; ``head`` ends with the empty line.

    Errors: ``Malformed``.
    """
    line = _REQUEST_LINE.match(head)
    if line is None:
        raise Malformed(400, "the request line is not one of HTTP/1.1")
    method, target, minor = line.groups()
    fields = _fields(head, line.end())
    old = minor == b"0"
    noted = _noted(fields, ("host", "content-length", "transfer-encoding", "connection", "upgrade", "expect"))
    hosts = noted["host"]
    if len(hosts) > 1:
        raise Malformed(400, "there is more than one Host")
    if not hosts and not old:
        raise Malformed(400, "there is no Host")
    host = hosts[0].lower() if hosts else b""
    if hosts and not _AUTHORITY.fullmatch(host):
        raise Malformed(400, "Host is not a host")
    if method == b"CONNECT":
        raise Malformed(501, "CONNECT is not implemented")
    words = _words(noted["connection"])
    framing = _request_framing(noted["content-length"], noted["transfer-encoding"], old)
    expects = noted["expect"]
    if expects and (len(expects) > 1 or expects[0].lower() != b"100-continue"):
        raise Malformed(417, "that expectation is not known")
    return RequestHead(
        method=method,
        target=_origin_form(method, target, host),
        old=old,
        fields=fields,
        host=host,
        framing=framing,
        keep_alive=b"close" not in words and (not old or b"keep-alive" in words),
        # An upgrade with a body, or in HTTP/1.0, is ignored: RFC 9110 section 7.8 allows the one and demands the other.
        websocket=(
            method == b"GET"
            and not old
            and framing == NO_BODY
            and b"upgrade" in words
            and [value.lower() for value in noted["upgrade"]] == [b"websocket"]
        ),
        expects=bool(expects) and not old and framing != NO_BODY,
    )


def read_reply(head: bytes, method: bytes) -> ReplyHead:
    """The reply in a head.

    Args:
        method: that of the request, which says whether there is a body.

    Errors: ``Malformed``.
    """
    line = _STATUS_LINE.match(head)
    if line is None:
        raise Malformed(502, "the answer is not one of HTTP/1.1")
    minor, digits, reason = line.groups()
    status = int(digits)
    fields = _fields(head, line.end(), status=502)
    noted = _noted(fields, ("content-length", "transfer-encoding", "connection", "upgrade"))
    words = _words(noted["connection"])
    websocket = status == 101 and [value.lower() for value in noted["upgrade"]] == [b"websocket"] and b"upgrade" in words
    if status < 200 or status in (204, 304) or method == b"HEAD":
        framing = NO_BODY
    elif noted["transfer-encoding"]:
        if noted["content-length"]:
            raise Malformed(502, "the answer has two lengths")
        if [value.lower() for value in noted["transfer-encoding"]] != [b"chunked"] or minor == b"0":
            raise Malformed(502, "the answer has a transfer coding that is not implemented")
        framing = CHUNKED
    elif noted["content-length"]:
        framing = Framing(_length(noted["content-length"], 502))
    else:
        framing = UNTIL_END
    keep = b"close" not in words and minor == b"1" and not framing.until_end
    return ReplyHead(status, reason or b"", fields, framing, keep, websocket)


def connection_names(fields: Fields) -> frozenset[bytes]:
    """The names that ``Connection`` declares to be for one hop alone."""
    return frozenset(_words([value for name, value in fields if name == b"connection"]))


def _fields(head: bytes, start: int, status: int = 400) -> Fields:
    found = []
    end = len(head) - 2
    while start < end:
        field = _FIELD.match(head, start)
        if field is None:
            raise Malformed(status, "a header field is malformed")
        found.append((field[1].lower(), field[2].strip(b" \t")))
        start = field.end()
        if len(found) > MOST_FIELDS:
            raise Malformed(431 if status == 400 else status, f"there are more than {MOST_FIELDS} header fields")
    if start != end or head[start:] != b"\r\n":
        raise Malformed(status, "a header field is malformed")
    return tuple(found)


def _noted(fields: Fields, names: tuple[str, ...]) -> dict[str, list[bytes]]:
    noted: dict[bytes, list[bytes]] = {name.encode(): [] for name in names}
    for name, value in fields:
        if name in noted:
            noted[name].append(value)
    return {name.decode(): values for name, values in noted.items()}


def _words(values: list[bytes]) -> set[bytes]:
    return {word.strip(b" \t").lower() for value in values for word in value.split(b",")}


def _request_framing(lengths: list[bytes], codings: list[bytes], old: bool) -> Framing:
    if codings:
        if lengths:
            raise Malformed(400, "there are both Content-Length and Transfer-Encoding")
        if old:
            raise Malformed(400, "there is a Transfer-Encoding in HTTP/1.0")
        if [coding.lower() for coding in codings] != [b"chunked"]:
            raise Malformed(501, "that transfer coding is not implemented")
        return CHUNKED
    return Framing(_length(lengths, 400)) if lengths else NO_BODY


def _length(values: list[bytes], status: int) -> int:
    if len(values) > 1 or not _LENGTH.fullmatch(values[0]):
        raise Malformed(status, "Content-Length is not one number")
    return int(values[0])


def _origin_form(method: bytes, target: bytes, host: bytes) -> bytes:
    if target.startswith(b"/"):
        return target
    if target == b"*":
        if method != b"OPTIONS":
            raise Malformed(400, "the target * is for OPTIONS")
        return target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or not host or absolute[1].lower() != host:
        raise Malformed(400, "the target names another host")
    rest = absolute[2]
    return rest if rest.startswith(b"/") else b"/" + rest
