"""The state of one request: what its handler can read of it, and what the handler has produced so far."""

from __future__ import annotations

from language.errors import RuntimeFault, Uncatchable
from language.serve.reply import ClientGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from language.serve.expectations import Fields
    from language.serve.instances import ProgramCopy
    from language.serve.reply import Reply, Sink, SocketChannel
    from language.serve.request import Request

NOT_PARSED = object()


class EndRequest(Uncatchable):
    """Ends a request with a reply of the runtime, because its body, form or query is not as declared."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Exchange:
    """``params`` are the captured segments of the path, ``user`` is the value that the auth task gave. ``person`` is the key of
    the rate limits and budgets that count this user's requests, ``None`` for none. ``format`` is the form of a page that the
    path asked for explicitly. ``cors`` is the origin that browsers may read from, ``None`` for none. ``sink`` and ``channel``
    are there in routes that stream. ``detailed`` says whether the client may read the causes of errors; ``report(what,
    exchange)`` writes a cause to the log.
    """

    __slots__ = (
        "_form", "_json", "_query", "_sent", "body_forgotten", "channel", "copies", "cors", "deadline", "detailed", "ended",
        "format", "log", "overdue", "params", "person", "reason", "report", "request", "sink", "streams", "thread", "user",
    )  # fmt: skip

    def __init__(self, request: Request, params: dict[str, Any], format: str | None = None, cors: str | None = None) -> None:
        self.request = request
        self.cors = cors
        self.params = params
        self.format = format
        self.detailed = True
        self.report: Callable[[str, Exchange], None] | None = None
        self.streams = False
        self.body_forgotten = False
        self.user: Any = None
        self.person: str | None = None
        self.sink: Sink | None = None
        self.channel: SocketChannel | None = None
        #: the printed and logged lines; collected in handler mode only
        self.log: list[str] = []
        self._json: Any = NOT_PARSED
        #: the JSON as it was parsed, if `expect` has converted its fields to other types
        self._sent: Any = NOT_PARSED
        self._form: dict[str, Any] | None = None
        self._query: dict[str, Any] | None = None
        #: the copies of the program that handle it
        self.copies: tuple[ProgramCopy, ...] = ()
        #: for cancellation: the thread that handles the request, its deadline, the reason to give when the deadline passes,
        #: whether the request is finished, and the reason why it was cancelled
        self.thread = 0
        self.deadline = 0.0
        self.overdue = ""
        self.ended = False
        self.reason: str | None = None

    # ---- what the program sees ------------------------------------------------------------------------------------------

    def arguments(self, names: tuple[str, ...], fields: tuple[str, ...] | None) -> list[Any]:
        """The values of the parameters of a handler."""
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
        """The map ``request``, or only the named keys of it."""
        return {name: _VALUES[name](self) for name in (_VALUES if fields is None else fields) if name in _VALUES}

    @property
    def query(self) -> dict[str, Any]:
        if self._query is None:
            from language.serve.bodies import query_map

            self._query = query_map(self.request.query_text)
        return self._query

    @property
    def form(self) -> dict[str, Any]:
        """The fields of a form; empty if the body is not a form."""
        if self._form is None:
            self._form = {} if self.body_forgotten else self._read_form(())
        return self._form

    def _read_form(self, lists: Sequence[str]) -> dict[str, Any]:
        from language.serve.bodies import BadForm, form_map

        try:
            return form_map(self.request, lists)
        except BadForm as fault:
            from language.serve.shaping import error_reply

            raise EndRequest(error_reply(400, str(fault))) from None

    @property
    def json(self) -> Any:
        """The parsed JSON body; ``nothing`` if the body is not JSON."""
        if self._json is NOT_PARSED:
            try:
                self.parse_json()
            except ValueError:
                self._json = None
        return self._json

    def forget_body(self) -> None:
        """Hides the JSON body and the form from a task that answers in place of the route."""
        self._json, self._form = None, None
        self.body_forgotten = True

    def parse_json(self) -> None:
        """Parses the body. Raises ``ValueError`` if it is not JSON."""
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

    def expect(self, place: str, fields: Fields) -> None:
        """``expect body {...}``, ``expect form`` and ``expect query``: converts the fields to the declared types. Raises
        :class:`EndRequest` with a 400 for the first field that is not as declared.
        """
        from language.serve.expectations import Unexpected, checked_body, checked_texts
        from language.serve.shaping import error_reply

        try:
            if place == "body":
                if self._sent is NOT_PARSED:
                    self._sent = self.json
                checked = checked_body(fields, self._sent, self.exact_json)
                self._json = {**self.json, **checked}
                return
            lists = [name for name, kind, _ in fields if kind == "list"]
            if place == "query":
                from language.serve.bodies import query_map

                self._query = {**self.query, **checked_texts(place, fields, query_map(self.request.query_text, lists))}
                return
            from language.serve.bodies import is_form

            if not is_form(self.request):
                raise Unexpected("expected a form body")
            self._form = {**self.form, **checked_texts(place, fields, self._read_form(lists))}
        except Unexpected as failed:
            raise EndRequest(error_reply(400, str(failed), {"field": failed.field})) from None

    def expected(self, name: str, value: Any) -> Any:
        """The value of ``request`` or ``query`` after ``expect``; ``value`` is the present value of that variable."""
        if name == "query":
            return self.query
        if value.__class__ is not dict:  # the program assigned something else to the name
            return value
        checked = {"json": self._json, "form": self._form, "query": self._query}
        return {
            field: checked[field] if field in checked and checked[field] not in (None, NOT_PARSED) else old
            for field, old in value.items()
        }

    def exact_json(self) -> Any:
        """The JSON body, with each number that has a point or an exponent as the text that was sent; ``nothing`` if it is not
        JSON.
        """
        from language.values.json_decoding import parse_written

        try:
            return parse_written(self.request.body.decode("utf-8"))
        except ValueError:
            return None

    def socket(self) -> Any:
        """The handle ``socket`` of a socket route."""
        if self.channel is None:
            raise RuntimeFault("socket can only be used inside a socket route handler", code="E0704")
        from language.serve.socket_handle import SocketHandle

        return SocketHandle(self.channel)

    def send(self, value: Any, event: Any) -> None:
        """``send v as "n"``: one event (HTML Living Standard, section 9.2.6)."""
        from language.serve.shaping import json_text
        from language.values.display import display

        if self.sink is None:
            raise RuntimeFault("send can only be used inside a stream route handler", code="E0704")
        if self.ended:  # the thread has not yet noticed its cancellation; nothing may follow the last frame
            raise ClientGone
        head = ""
        if event is not None:
            name = display(event)
            if "\r" in name or "\n" in name:
                raise RuntimeFault("send: the name of an event must not contain CR or LF")
            head = f"event: {name}\n"
        self.sink.send(f"{head}data: {json_text(value)}\n\n".encode())


def _cookies(exchange: Exchange) -> Any:
    from language.serve.bodies import cookie_map

    return cookie_map(exchange.request.text(exchange.request.field("cookie") or ""))


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
    "form": lambda exchange: exchange.form,
    "ip": lambda exchange: exchange.request.address,
    "user": lambda exchange: exchange.user,
}
