"""Parses the bytes of a connection into requests, in whatever parts they arrive (RFC 9112).

llhttp, the parser of Node.js, parses the bytes. This module adds what it leaves to a server: limits, and the rules for
``Host``, for the request target and for transfer codings. A message whose length two parsers could read differently is refused,
and the connection is closed. This prevents request smuggling.
"""

from __future__ import annotations

import re
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
    HttpRequestParser,
)

from language.native.server.body_storage import Body
from language.serve.request import Request, split_target

if TYPE_CHECKING:
    from language.serve.reply import Reply

#: The most bytes of a request line with its header fields, and of a chunked body's framing.
LONGEST_HEAD = 32 * 1024
#: The bytes of framing allowed for each byte of a chunked body: a client may send chunks of one byte.
_CHUNK_OVERHEAD = 16

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+;=-]*)(?::[0-9]*)?")
_METHOD = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,32}")
#: The method that llhttp is given in place of one that it does not know.
_PLAIN = b"POST"
#: Methods that llhttp knows only in RTSP and HTTP/2.
_OF_OTHER_PROTOCOLS = (
    b"ANNOUNCE ", b"DESCRIBE ", b"FLUSH ", b"GET_PARAMETER ", b"PAUSE ", b"PLAY ", b"PRI ", b"RECORD ", b"REDIRECT ", b"SETUP ",
    b"SET_PARAMETER ", b"TEARDOWN ",
)  # fmt: skip
_NOTED = frozenset({"host", "content-length", "transfer-encoding", "expect", "connection", "upgrade"})
#: Field names as received → in lower case. Its size is bounded.
_NAMES: dict[bytes, str] = {}
_MOST_NAMES = 1000


class Refusal(NamedTuple):
    """The last reply of a connection from which no more requests are read."""

    status: int
    message: str


class Policy(Protocol):
    """Questions of the parser about a request, before its body is read."""

    def client(self, request: Request) -> None:
        """Sets the client's address and whether it came over TLS."""

    def body_limit(self, request: Request) -> int | None:
        """The largest accepted body in bytes; ``None`` for no limit."""

    def too_large(self, request: Request) -> Reply:
        """The reply to a larger body."""

    def spill(self) -> str:
        """The folder for bodies that are not kept in memory. Raises ``OSError``."""

    def report(self, failure: OSError) -> None:
        """Reports to the operator why a body could not be stored."""


class Incoming:
    """One request to be answered. ``refused`` is the reply when that is known without asking the program."""

    __slots__ = ("body", "keep_alive", "old", "refused", "request", "upgrade")

    def __init__(self, request: Request, keep_alive: bool, old: bool) -> None:
        self.request = request
        self.keep_alive = keep_alive
        #: HTTP/1.0
        self.old = old
        #: the client asks for another protocol, and this request is complete
        self.upgrade = False
        self.body: Body | None = None
        self.refused: Reply | None = None


class _Stop(Exception):
    """Leaves the parser after a refusal."""


class RequestReader:
    """Parses one connection.

    After each :meth:`feed` the complete requests are in ``requests``, in order, followed by ``refusal``, if any.
    ``wants_continue``: the client waits for ``100 Continue`` before it sends the body. ``rest`` holds the bytes after a
    request for an upgrade: they are parsed as requests by :meth:`resume`, or given to the new protocol.

    An upgrade that is announced with a body, or in HTTP/1.0, is ignored and the body is read as usual. RFC 9110 section 7.8
    allows that for the body and demands it for HTTP/1.0. Clients that support HTTP/2 announce that upgrade with their first
    request.
    """

    __slots__ = (
        "_begins_feed",
        "_body_behind_upgrade",
        "_current",
        "_data",
        "_fields",
        "_framing",
        "_good_host",
        "_head",
        "_held",
        "_method",
        "_noted",
        "_parser",
        "_policy",
        "_url",
        "refusal",
        "requests",
        "rest",
        "wants_continue",
    )

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._parser = HttpRequestParser(self)
        self._url = b""
        self._fields: list[tuple[str, str]] = []
        self._noted: dict[str, str] = {}
        #: the bytes being parsed
        self._data = b""
        #: all bytes since the beginning of an incomplete head
        self._head = b""
        #: whether that head begins at the start of them
        self._begins_feed = False
        self._framing = 0
        #: a method whose following blank has not arrived
        self._held = b""
        self._method = ""
        self._good_host = ""
        self._current: Incoming | None = None
        self._body_behind_upgrade = False
        self.requests: list[Incoming] = []
        self.refusal: Refusal | None = None
        self.wants_continue = False
        self.rest = b""

    # ---- what the connection asks ---------------------------------------------------------------------------------------

    @property
    def at_start(self) -> bool:
        """Whether no byte of a further request has arrived."""
        return self._current is None and not self._head and not self._held

    @property
    def in_body(self) -> bool:
        return self._current is not None

    def body_progress(self) -> tuple[float, int]:
        """When the head of the incomplete body was complete, in monotonic seconds, and how many bytes of the body have
        arrived.
        """
        return (0.0 if self._current is None else self._current.request.arrived), self._body_bytes()

    def feed(self, data: bytes) -> None:
        """Parses the next bytes. Nothing is parsed once ``refusal`` is set or ``rest`` is not empty."""
        if self._held:
            data, self._held = self._held + data, b""
        self._data = data
        if self._current is not None:
            self._framing += len(data)
        elif self._head:
            self._head += data
        else:
            self._head = data
            self._begins_feed = True
        self._parse(data)
        if self.refusal is not None or self.rest:
            return
        if self._current is None:
            if len(self._head) > LONGEST_HEAD:
                self._fail(431, "request header fields too large")
        elif self._framing > LONGEST_HEAD + _CHUNK_OVERHEAD * self._body_bytes():
            self._fail(400, "malformed request: more framing than body")

    def _parse(self, data: bytes) -> None:
        rest: bytes | None = None
        try:
            self._parser.feed_data(data)
            return
        except HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except HttpParserInvalidMethodError:
            pass
        except HttpParserCallbackError as error:
            cause = error.__context__
            if cause is None:
                self._fail(400, f"malformed request: {error}")
            elif not isinstance(cause, _Stop):
                raise cause from None
            return
        except HttpParserError as error:
            if not self._head.startswith(_OF_OTHER_PROTOCOLS):
                self._fail(400, f"malformed request: {error}")
                return
        if rest is None:
            self._try_other_method()
        else:
            self._after_upgrade(rest)

    def resume(self) -> None:
        """Parses the bytes after a request for an upgrade that is not made."""
        data, self.rest = self.rest, b""
        if data:
            self.feed(data)

    def close(self) -> None:
        """Drops incomplete and unanswered requests with their files."""
        if self._current is not None and self._current.body is not None:
            self._current.body.discard()
        for incoming in self.requests:
            if incoming.body is not None:
                incoming.body.discard()
        self.requests = []
        self._current = None
        # breaks the reference cycle, so that closed connections are not left to the garbage collector
        del self._parser, self._policy

    # ---- what llhttp or httptools reads in another way -------------------------------------------------------------------

    def _after_upgrade(self, rest: bytes) -> None:
        """Continues after a request that announces an upgrade.

        httptools treats every announced upgrade as made and ends the message with its head. What follows is a body in the
        framing of that head, which a second parser reads, or it is left to the handler of the request.
        """
        if not self._body_behind_upgrade:
            self.rest = rest
            return
        assert self._current is not None
        self._body_behind_upgrade = False
        coding, length = self._noted.get("transfer-encoding"), self._noted.get("content-length")
        framing = f"Content-Length: {length}" if coding is None else f"Transfer-Encoding: {coding}"
        kept = "" if self._current.keep_alive else "Connection: close\r\n"
        self._noted = {}
        self._parser = HttpRequestParser(self)
        self._parse(f"POST / HTTP/1.1\r\n{kept}{framing}\r\n\r\n".encode("latin-1"))
        self._url = b""
        if rest and self.refusal is None:
            self._parse(rest)

    def _try_other_method(self) -> None:
        """Handles a method that llhttp does not know. Any token is a method (RFC 9110 section 9.1): the rest is parsed with a
        known one.
        """
        head = self._head
        name, space, rest = head.partition(b" ")
        if not self._begins_feed:
            self._fail(501, "method not implemented")  # after another request in the same bytes: its beginning is not known
        elif not _METHOD.fullmatch(name):
            self._fail(400, "malformed request: Invalid method encountered")
        else:
            self._parser = HttpRequestParser(self)
            self._fields, self._noted, self._url, self._head = [], {}, b"", b""
            if space:
                self._method = name.decode("ascii")
                self.feed(_PLAIN + b" " + rest)
            else:
                self._held = head

    # ---- callbacks of the parser ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if not self._head:  # after another request in the same bytes
            self._head = self._data

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._current is not None:
            return  # a trailer field: not used
        key = _NAMES.get(name) or _lower(name)
        text = str(value, "latin-1").strip(" \t")
        self._fields.append((key, text))
        if key in _NOTED:
            noted = self._noted
            if key == "transfer-encoding":
                text = str(value, "latin-1").strip(" ")  # llhttp leaves a tab at the end
            if key in noted:
                if key == "host":
                    self._stop(400, "malformed request: more than one Host")
                text = noted[key] + ", " + text
            noted[key] = text

    def on_headers_complete(self) -> None:
        if self._current is not None:
            return  # the head is parsed a second time, for the framing of the body
        noted = self._noted
        keep = self._parser.should_keep_alive()
        old = False
        if not keep or "connection" in noted:
            version = self._parser.get_http_version()
            old = version == "1.0"
            if not old and version != "1.1":
                self._stop(505, "HTTP version not supported")
            if keep and old:  # llhttp ignores a `close` beside it
                keep = "close" not in [word.strip() for word in noted["connection"].lower().split(",")]
        name = self._parser.get_method()
        if name == b"CONNECT":
            self._stop(501, "CONNECT is not implemented")
        # llhttp accepts several blanks between the parts, a bare CR or LF before them, and RTSP.
        at = self._head.find(b"%b %b HTTP/1." % (name, self._url))
        if at and (at < 0 or (self._begins_feed and self._head[:at].replace(b"\r\n", b""))):
            self._stop(400, "malformed request: invalid request line")
        method = self._method or str(name, "ascii")
        request = self._request(method, noted.get("host"), old)
        if old:
            request.version = "1.0"
        self._current = incoming = Incoming(request, keep, old)
        if len(self._head) > LONGEST_HEAD and len(self._url) + sum(len(k) + len(v) + 4 for k, v in self._fields) > LONGEST_HEAD:
            self._stop(431, "request header fields too large")
        self._fields = []
        self._url = b""
        self._method = ""
        coding = noted.get("transfer-encoding")
        if coding is not None or noted.get("content-length", "0") != "0":
            self._expect_body(incoming, coding)
            if "upgrade" in noted and self._parser.should_upgrade():
                self._body_behind_upgrade = True
                return  # the state of the head is still needed
        elif "expect" in noted and noted["expect"].lower() != "100-continue":
            self._stop(417, "expectation failed")
        elif "upgrade" in noted:
            incoming.upgrade = not old and self._parser.should_upgrade()
        self._noted = {}

    def on_body(self, data: bytes) -> None:
        incoming = self._current
        if incoming is None or incoming.body is None:
            return
        self.wants_continue = False
        try:
            room = incoming.body.add(data)
        except OSError as failure:
            incoming.body.discard()
            self._policy.report(failure)
            self._stop(507, "no room to keep the body")
        if not room:
            incoming.body.discard()
            self._refuse_body(incoming)

    def on_message_complete(self) -> None:
        incoming = self._current
        if incoming is None or self._body_behind_upgrade:
            return
        if incoming.body is not None:
            incoming.body.hand_over(incoming.request)
        self.wants_continue = False
        self._current = None
        self._framing = 0
        self._head = b""
        self._begins_feed = False
        self.requests.append(incoming)

    # ---- the parts of a head --------------------------------------------------------------------------------------------

    def _request(self, method: str, host: str | None, old: bool) -> Request:
        if host is None:
            if not old:
                self._stop(400, "malformed request: no Host")
        elif host != self._good_host:
            if not _HOST.fullmatch(host):
                self._stop(400, "malformed request: invalid Host")
            self._good_host = host
        target = str(self._url, "latin-1")
        if not target.startswith("/"):
            self._check_other_target(target, method, host)
        if "?" in target or "#" in target or not target.startswith("/"):
            path, query = split_target(target) if target != "*" else ("*", "")
        else:
            path, query = target, ""
        request = Request(method, path, query, self._fields, arrived=monotonic())
        self._policy.client(request)
        return request

    def _check_other_target(self, target: str, method: str, host: str | None) -> None:
        """Checks a request target that is not a path. ``*`` is for OPTIONS only; a URL must name the host of the request (RFC
        9112 section 3.2).
        """
        if target == "*":
            if method != "OPTIONS":
                self._stop(400, "malformed request: invalid target")
            return
        scheme, _, rest = target.partition("://")
        authority = re.split("[/?#]", rest, maxsplit=1)[0]
        if scheme.lower() not in ("http", "https") or not authority or host is None or authority.lower() != host.lower():
            self._stop(400, "malformed request: the target names another host")

    def _expect_body(self, incoming: Incoming, coding: str | None) -> None:
        if coding is not None:
            if incoming.old:
                self._stop(400, "malformed request: Transfer-Encoding in HTTP/1.0")
            if coding.lower() != "chunked":
                self._stop(501, "transfer coding not implemented")
        expected = self._noted.get("expect")
        if expected is not None and expected.lower() != "100-continue":
            self._stop(417, "expectation failed")
        limit = self._policy.body_limit(incoming.request)
        declared = None if coding is not None else int(self._noted["content-length"])
        if limit is not None and declared is not None and declared > limit:
            self._refuse_body(incoming)
        incoming.body = Body(limit, self._policy.spill)
        self.wants_continue = expected is not None and not incoming.old
        self._framing = 0

    def _body_bytes(self) -> int:
        return 0 if self._current is None or self._current.body is None else self._current.body.size

    # ---- refusing -------------------------------------------------------------------------------------------------------

    def _refuse_body(self, incoming: Incoming) -> None:
        """Replies to a body that is too large. What follows on the connection is not read."""
        incoming.refused = self._policy.too_large(incoming.request)
        incoming.keep_alive = False
        incoming.body = None
        self._current = None
        self.requests.append(incoming)
        self._stop(413, "payload too large")

    def _fail(self, status: int, message: str) -> None:
        if self.refusal is None:
            self.refusal = Refusal(status, message)
        self.wants_continue = False
        if self._current is not None:
            if self._current.body is not None:
                self._current.body.discard()
            self._current = None

    def _stop(self, status: int, message: str) -> NoReturn:
        self._fail(status, message)
        raise _Stop


def _lower(name: bytes) -> str:
    key = str(name, "ascii").lower()
    if len(_NAMES) < _MOST_NAMES:
        _NAMES[name] = key
    return key
