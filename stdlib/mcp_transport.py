"""The interface of a tool client's transport to a server, over HTTP or to a process, and its failures."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

_SHOWN = 1000


class Trouble(Exception):
    """A failure that becomes an error of the program. ``form`` says how the error names the server (``name``)."""

    def __init__(self, text: str, form: str = "{builtin}: {name}: {text}") -> None:
        super().__init__(text)
        self.text = text
        self.form = form

    def fault(self, builtin: str, name: str) -> RuntimeFault:
        return RuntimeFault(self.form.format(builtin=builtin, name=name, text=self.text), kind="network")


#: How errors show failures that do not need the server's name, and failures that the server reported.
PLAIN = "{builtin}: {text}"
ANSWERED = "{builtin}: {name} {text}"


class RefusedRequest(Trouble):
    """The server answered with an error of the protocol."""

    def __init__(self, text: str, code: Any, data: Any) -> None:
        super().__init__(text, PLAIN)
        self.code = code
        self.data = data


class BadStatus(Trouble):
    """The server answered with an HTTP status other than success."""

    def __init__(self, status: int) -> None:
        super().__init__(f"returned HTTP {status}", ANSWERED)
        self.status = status


class Unreadable(Trouble):
    """The server's answer is not a valid reply to the request."""


class SessionOver(Trouble):
    """The server no longer knows the session: the handshake must be repeated."""

    def __init__(self) -> None:
        super().__init__("returned HTTP 404", ANSWERED)


class Transport:
    """The transport to a server. ``name`` is its host or command, which is all that errors show; ``seconds`` is the option
    ``timeout``.

    Messages are JSON texts. ``end`` is the deadline of the whole call on the monotonic clock of the host. Methods raise
    :class:`Trouble`, and ``RuntimeFault`` for a missing capability.
    """

    name: str
    seconds: int
    #: whether the connection can no longer be used
    broken = False
    #: whether messages have header fields; the server can then be asked for its versions before the handshake
    over_http = False

    def start(self) -> None:
        """Starts the transport, if that is needed."""

    def check(self, ctx: Context, builtin: str) -> None:
        """Checks the capability again."""
        raise NotImplementedError

    def request(
        self, ctx: Context, builtin: str, ident: int, message: str, end: float, fields: list[tuple[str, str]]
    ) -> dict[str, Any]:
        """Sends a request, over HTTP with these header fields, and returns the reply with its id. Raises
        :class:`SessionOver`."""
        raise NotImplementedError

    def notify(self, ctx: Context, builtin: str, message: str, end: float) -> None:
        """Sends a message without a reply."""
        raise NotImplementedError

    def introduced(self, version: str | None) -> None:
        """Sets the agreed version of the protocol; ``None`` before another handshake. One without a handshake has no
        sessions, and its errors have HTTP statuses of their own."""

    def hidden(self, text: str) -> str:
        """A text from outside, in which sent secrets are redacted."""
        return text

    def hang_up(self) -> None:
        """Begins to close, without waiting. Never raises."""

    def end(self, ctx: Context, end: float) -> None:
        """Closes by that time. Never raises; idempotent."""


def timed_out(seconds: int) -> str:
    return f"timed out after {seconds}s"


def one_line(text: str) -> str:
    """A text from outside, on one line for error messages."""
    return " ".join(text[: 4 * _SHOWN].split())[:_SHOWN]
