"""One request on its way through the program: what the handler may ask about it, and what it has said so far."""

from __future__ import annotations

from language.errors import RuntimeFault, Uncatchable
from language.serve.reply import ClientGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.serve.instances import ProgramCopy
    from language.serve.reply import Reply, Sink, SocketChannel
    from language.serve.request import Request

NOT_PARSED = object()


class EndRequest(Uncatchable):
    """The request ends here with a reply of the runtime: a body that is not what the route expects."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Exchange:
    """``params`` are the captured segments of the path, ``user`` is what the auth task gave. ``format`` is the form of a
    page that the path asked for explicitly. ``cors`` is the origin that browsers may read from, ``None`` for none. ``sink`` and
    ``channel`` are there in routes that stream."""

    __slots__ = (
        "_json", "_query", "body_forgotten", "channel", "copies", "cors", "deadline", "ended", "format", "log", "overdue",
        "params", "reason", "request", "sink", "streams", "thread", "user",
    )  # fmt: skip

    def __init__(self, request: Request, params: dict[str, Any], format: str | None = None, cors: str | None = None) -> None:
        self.request = request
        self.cors = cors
        self.params = params
        self.format = format
        self.streams = False
        self.body_forgotten = False
        self.user: Any = None
        self.sink: Sink | None = None
        self.channel: SocketChannel | None = None
        #: the lines that were printed and logged, where they are collected
        self.log: list[str] = []
        self._json: Any = NOT_PARSED
        self._query: dict[str, Any] | None = None
        #: the copies of the program at work for it
        self.copies: tuple[ProgramCopy, ...] = ()
        #: of whoever cancels: the thread that works for the request and until when, why it would be cancelled then, whether it
        #: is over, and why it was cancelled
        self.thread = 0
        self.deadline = 0.0
        self.overdue = ""
        self.ended = False
        self.reason: str | None = None

    # ---- what the program sees ------------------------------------------------------------------------------------------

    def arguments(self, names: tuple[str, ...], fields: tuple[str, ...] | None) -> list[Any]:
        """The values for the names that a handler takes."""
        given: list[Any] = []
        for name in names:
            if name == "request":
                given.append(self.values(fields))
            elif name == "params":
                given.append(self.params)
            elif name == "query":
                given.append(self.query)
            elif name == "read_body":
                given.append(self.body_text)
            else:
                given.append(self.body_bytes)
        return given

    def values(self, fields: tuple[str, ...] | None = None) -> dict[str, Any]:
        """The map ``request``, or those of its keys that are asked for."""
        return {name: _VALUES[name](self) for name in (_VALUES if fields is None else fields) if name in _VALUES}

    @property
    def query(self) -> dict[str, Any]:
        if self._query is None:
            from language.serve.bodies import query_map

            self._query = query_map(self.request.query_text)
        return self._query

    @property
    def json(self) -> Any:
        """The parsed body, ``nothing`` when it is none."""
        if self._json is NOT_PARSED:
            try:
                self.parse_json()
            except ValueError:
                self._json = None
        return self._json

    def forget_body(self) -> None:
        """For those who answer in place of a route: they see no JSON and no form."""
        self._json = None
        self.body_forgotten = True

    def parse_json(self) -> None:
        """Parses the body. Raises ``ValueError`` when it is no JSON."""
        from language.serve.bodies import parse_json

        body = self.request.body
        self._json = parse_json(body) if body else None

    def body_text(self) -> str:
        """``read_body()``: the whole body as text."""
        return self.body_bytes().decode("utf-8", "replace")

    def body_bytes(self) -> bytes:
        """``read_body_bytes()``: the whole body."""
        if self.request.body_file is None:
            return self.request.body
        with open(self.request.body_file, "rb") as file:
            return file.read()

    # ---- what statements do ---------------------------------------------------------------------------------------------

    def expect(self, fields: tuple[tuple[str, str], ...]) -> None:
        """``expect body {...}``. Raises :class:`EndRequest` with the 400 of the first field that is not as declared."""
        from language.serve.bodies import check_expected
        from language.serve.shaping import error_reply

        failed = check_expected(fields, self.json)
        if failed is not None:
            message, field = failed
            raise EndRequest(error_reply(400, message, {"field": field}))

    def socket(self) -> Any:
        """The handle ``socket`` of a socket route."""
        if self.channel is None:
            raise RuntimeFault("socket can only be used inside a socket route handler", located=True)
        from language.serve.socket_handle import SocketHandle

        return SocketHandle(self.channel)

    def send(self, value: Any, event: Any) -> None:
        """``send v as "n"``: one event (HTML Living Standard, section 9.2.6)."""
        from language.serve.shaping import json_text
        from language.values.display import display

        if self.sink is None:
            raise RuntimeFault("send can only be used inside a stream route handler", located=True)
        if self.ended:  # a worker that has not noticed yet: nothing follows the last frame
            raise ClientGone
        head = ""
        if event is not None:
            name = display(event)
            if "\r" in name or "\n" in name:
                raise RuntimeFault("send: the name of an event must not contain CR or LF", located=True)
            head = f"event: {name}\n"
        self.sink.send(f"{head}data: {json_text(value)}\n\n".encode())


def _cookies(exchange: Exchange) -> Any:
    from language.serve.bodies import cookie_map

    return cookie_map(exchange.request.text(exchange.request.field("cookie") or ""))


def _form(exchange: Exchange) -> Any:
    from language.serve.bodies import BadForm, form_map

    if exchange.body_forgotten:
        return {}
    try:
        return form_map(exchange.request)
    except BadForm as fault:
        from language.serve.shaping import error_reply

        raise EndRequest(error_reply(400, str(fault))) from None


_VALUES: dict[str, Callable[[Exchange], Any]] = {
    "method": lambda exchange: exchange.request.method,
    "path": lambda exchange: exchange.request.path,
    "body": lambda exchange: exchange.request.body.decode("utf-8", "replace"),
    "body_file": lambda exchange: exchange.request.body_file,
    "json": lambda exchange: exchange.json,
    "headers": lambda exchange: {name: exchange.request.text(value) for name, value in exchange.request.fields},
    "cookies": _cookies,
    "query": lambda exchange: exchange.query,
    "params": lambda exchange: exchange.params,
    "form": _form,
    "ip": lambda exchange: exchange.request.address,
    "user": lambda exchange: exchange.user,
}
