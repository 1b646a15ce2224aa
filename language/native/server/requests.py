"""From the bytes of a connection to the records of requests, whatever pieces they arrive in (RFC 9112).

llhttp, the parser of Node.js, takes the bytes apart; this module adds what it leaves to a server: limits, the rules for
``Host``, for the request target and for transfer codings. A message whose length two readers could see differently is never
answered with anything but a refusal that closes the connection, so nothing can be smuggled behind it.
"""

from __future__ import annotations

import re
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
    HttpRequestParser,
)

from language.native.server.bodies import Body
from language.serve.request import Request, split_target

if TYPE_CHECKING:
    from language.serve.reply import Reply

#: Bytes of a request line with its header fields, and of what a chunked body has beside its data.
LONGEST_HEAD = 32 * 1024
#: Bytes of framing allowed for each byte of a chunked body: a client may send chunks of one byte.
_CHUNK_OVERHEAD = 16

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+;=-]*)(?::[0-9]*)?")
_METHOD = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,32}")
_LONGEST_METHOD = 32
_LONGEST_REMEMBERED = 4096
#: What a method that llhttp does not know is fed to it as.
_PLAIN = b"POST"
#: Methods that llhttp knows in RTSP and HTTP/2 alone.
_OF_OTHER_PROTOCOLS = (
    b"ANNOUNCE ", b"DESCRIBE ", b"FLUSH ", b"GET_PARAMETER ", b"PAUSE ", b"PLAY ", b"PRI ", b"RECORD ", b"REDIRECT ", b"SETUP ",
    b"SET_PARAMETER ", b"TEARDOWN ",
)  # fmt: skip
_NOTED = frozenset({"host", "content-length", "transfer-encoding", "expect", "connection", "upgrade"})
#: Field names as they were sent → in lower case; grows to a bound.
_NAMES: dict[bytes, str] = {}
_MOST_NAMES = 1000


class Refusal(NamedTuple):
    """Why no more requests are read from a connection: what to answer, then it is closed."""

    status: int
    message: str


class Policy(Protocol):
    """What a reader asks about a request before its body is read."""

    def client(self, request: Request) -> None:
        """Fills in the address of the client and whether it came over TLS."""

    def body_limit(self, request: Request) -> int | None:
        """Bytes of body to accept; ``None`` for any number."""

    def too_large(self, request: Request) -> Reply:
        """The answer to a body beyond that."""

    def spill(self) -> str:
        """The folder for bodies that are not kept in memory."""


class Incoming:
    """One request to be answered. ``refused`` is the answer where that is known without asking the program."""

    __slots__ = ("body", "keep_alive", "old", "refused", "request", "upgrade")

    def __init__(self, request: Request, keep_alive: bool, old: bool) -> None:
        self.request = request
        self.keep_alive = keep_alive
        #: HTTP/1.0
        self.old = old
        #: the client wants to go on with another protocol
        self.upgrade = False
        self.body: Body | None = None
        self.refused: Reply | None = None


_NONE = Request("", "")


class _Stop(Exception):
    """Leaves the parser: the reader has refused."""


class RequestReader:
    """Reads one connection. After each :meth:`feed` the complete requests are in ``requests``, in order; behind them comes
    ``refusal``, if any. ``wants_continue``: the client waits for ``100 Continue`` before it sends the body. ``rest`` are
    bytes behind a request for an upgrade, read as requests by :meth:`resume` or handed on unread.
    """

    __slots__ = (
        "_begun",
        "_current",
        "_fields",
        "_framing",
        "_good_host",
        "_head",
        "_head_bytes",
        "_held",
        "_method",
        "_noted",
        "_parser",
        "_policy",
        "_same",
        "_url",
        "_whole",
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
        self._head = b""
        self._head_bytes = 0
        self._framing = 0
        #: the first bytes of a head, and bytes to be read once there are more of them
        self._begun = b""
        self._held = b""
        self._method = ""
        self._good_host = ""
        self._current: Incoming | None = None
        self.requests: list[Incoming] = []
        self.refusal: Refusal | None = None
        self.wants_continue = False
        self.rest = b""
        self._whole = b""
        self._same = _NONE

    # ---- what the connection asks ---------------------------------------------------------------------------------------

    @property
    def at_start(self) -> bool:
        """Whether nothing of a further request has arrived."""
        return self._current is None and not self._head_bytes and not self._held

    @property
    def in_body(self) -> bool:
        return self._current is not None

    def feed(self, data: bytes) -> None:
        """Reads the next bytes. Nothing is read any more once ``refusal`` is set or ``rest`` waits."""
        if self._head_bytes == 0 and self._current is None and not self._held:
            if data == self._whole:
                self.requests.append(self._same_again())
                return
            fresh = True
        else:
            fresh = False
            if self._held:
                data, self._held = self._held + data, b""
        if self._current is None:
            self._head_bytes += len(data)
        else:
            self._framing += len(data)
        self._head = data
        other = False
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            at: int = upgrade.args[0]
            if self.refusal is None:
                self.requests[-1].upgrade = True
                self.rest = data[at:]
            return
        except HttpParserInvalidMethodError:
            other = True
        except HttpParserCallbackError as error:
            cause = error.__context__
            if cause is None:
                self._fail(400, f"malformed request: {error}")
            elif not isinstance(cause, _Stop):
                raise cause from None
            return
        except HttpParserError as error:
            other = data.startswith(_OF_OTHER_PROTOCOLS)
            if not other:
                self._fail(400, f"malformed request: {error}")
                return
        if other:
            self._try_other_method(data)
            return
        if self._current is None:
            if not self._head_bytes:
                if fresh and len(self.requests) == 1:
                    self._remember(data, self.requests[0])
            elif self._head_bytes > LONGEST_HEAD:
                self._fail(431, "request header fields too large")
            elif self._head_bytes <= _LONGEST_METHOD:
                self._begun = (self._begun + data)[-self._head_bytes :]
        elif self._framing > LONGEST_HEAD + _CHUNK_OVERHEAD * self._body_bytes():
            self._fail(400, "malformed request: more framing than body")

    def resume(self) -> None:
        """Reads the bytes behind a request for an upgrade that is not made."""
        data, self.rest = self.rest, b""
        if data:
            self.feed(data)

    def close(self) -> None:
        """Drops what is incomplete or unanswered, files included."""
        if self._current is not None and self._current.body is not None:
            self._current.body.discard()
        for incoming in self.requests:
            if incoming.body is not None:
                incoming.body.discard()
        self.requests = []
        self._current = None
        del self._parser, self._policy  # which know us: nothing of a closed connection is left to the garbage collector

    # ---- the same bytes again -------------------------------------------------------------------------------------------

    def _remember(self, data: bytes, incoming: Incoming) -> None:
        """These bytes were one request and nothing else: between two requests the parser makes the same of them again."""
        if incoming.body is None and incoming.keep_alive and not incoming.old and len(data) <= _LONGEST_REMEMBERED:
            self._whole = data
            self._same = incoming.request

    def _same_again(self) -> Incoming:
        same = self._same
        request = Request(same.method, same.path, same.query_text, same.fields, arrived=monotonic())
        self._policy.client(request)
        return Incoming(request, True, False)

    # ---- methods that llhttp does not know ------------------------------------------------------------------------------

    def _try_other_method(self, data: bytes) -> None:
        """Any token is a method (RFC 9110 section 9.1): the parser, which knows a list, reads the rest under a plain one."""
        whole = (self._begun + data)[-self._head_bytes :]
        name, space, rest = whole.partition(b" ")
        if len(whole) != self._head_bytes:
            self._fail(501, "method not implemented")  # behind another request: its bytes are not known any more
        elif not _METHOD.fullmatch(name):
            self._fail(400, "malformed request: Invalid method encountered")
        else:
            self._parser = HttpRequestParser(self)
            self._fields, self._noted, self._url = [], {}, b""
            self._begun, self._head_bytes = b"", 0
            if space:
                self._method = name.decode("ascii")
                self.feed(_PLAIN + b" " + rest)
            else:
                self._held = whole

    # ---- callbacks of the parser ----------------------------------------------------------------------------------------

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._current is not None:
            return  # a trailer field: nothing here has a use for one
        key = _NAMES.get(name) or _lower(name)
        text = str(value, "latin-1").strip(" \t")
        self._fields.append((key, text))
        if key in _NOTED:
            noted = self._noted
            if key in noted:
                if key == "host":
                    self._stop(400, "malformed request: more than one Host")
                text = noted[key] + ", " + text
            noted[key] = text

    def on_headers_complete(self) -> None:
        noted = self._noted
        keep = self._parser.should_keep_alive()
        old = False
        if not keep or "connection" in noted:
            version = self._parser.get_http_version()
            old = version == "1.0"
            if not old and version != "1.1":
                self._stop(505, "HTTP version not supported")
            if old and self._head_bytes == len(self._head) and b" HTTP/1.0\r\n" not in self._head:
                self._stop(400, "malformed request: no HTTP")
        method = self._method or self._known_method()
        request = self._request(method, noted.get("host"), old)
        self._current = incoming = Incoming(request, keep, old)
        if (
            self._head_bytes > LONGEST_HEAD
            and len(self._url) + sum(len(k) + len(v) + 4 for k, v in self._fields) > LONGEST_HEAD
        ):
            self._stop(431, "request header fields too large")
        coding = noted.get("transfer-encoding")
        if coding is not None or noted.get("content-length", "0") != "0":
            self._expect_body(incoming, coding)
        elif "expect" in noted and noted["expect"].lower() != "100-continue":
            self._stop(417, "expectation failed")
        self._fields = []
        self._noted = {}
        self._url = b""
        self._method = ""

    def on_body(self, data: bytes) -> None:
        incoming = self._current
        if incoming is None or incoming.body is None:
            return
        self.wants_continue = False
        if not incoming.body.add(data):
            incoming.body.discard()
            self._refuse_body(incoming)

    def on_message_complete(self) -> None:
        incoming = self._current
        if incoming is None:
            return
        if incoming.body is not None:
            incoming.body.hand_over(incoming.request)
        self.wants_continue = False
        self._current = None
        self._head_bytes = self._framing = 0
        self._begun = b""
        self.requests.append(incoming)

    # ---- the parts of a head --------------------------------------------------------------------------------------------

    def _known_method(self) -> str:
        name = self._parser.get_method()
        if name == b"CONNECT":
            self._stop(501, "CONNECT is not implemented")
        return str(name, "ascii")

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
        """``*`` is for OPTIONS alone; a whole URL must name the host that the request names (RFC 9112 section 3.2)."""
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
        """The program's own words for a body that is too large; what follows on the connection is not read."""
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

    def _stop(self, status: int, message: str) -> None:
        self._fail(status, message)
        raise _Stop


def _lower(name: bytes) -> str:
    key = str(name, "ascii").lower()
    if len(_NAMES) < _MOST_NAMES:
        _NAMES[name] = key
    return key
