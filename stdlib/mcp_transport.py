"""What a tool client needs of a connection to a server, over HTTP or to a process, and how it fails."""

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


#: The forms of failures that the name of the server would add nothing to, and of what it has answered.
PLAIN = "{builtin}: {text}"
ANSWERED = "{builtin}: {name} {text}"


class SessionOver(Trouble):
    """The server does not know the session any more: it wants to be introduced anew."""

    def __init__(self) -> None:
        super().__init__("returned HTTP 404", ANSWERED)


class Transport:
    """A way to a server. ``name`` is its host or command, all that errors show of it; ``seconds`` is the option ``timeout``.

    Messages are JSON texts. ``end`` is the time on the monotonic clock of the host when the whole call has to be over. Methods
    raise :class:`Trouble`, and ``RuntimeFault`` for a capability that is missing.
    """

    name: str
    seconds: int
    #: nothing can be sent any more
    broken = False

    def start(self) -> None:
        """Begins, where there is anything to begin."""

    def check(self, ctx: Context, builtin: str) -> None:
        """Asks for the capability again."""
        raise NotImplementedError

    def request(self, ctx: Context, builtin: str, ident: int, message: str, end: float) -> dict[str, Any]:
        """Sends a request and answers the reply with its id. Raises :class:`SessionOver`."""
        raise NotImplementedError

    def notify(self, ctx: Context, builtin: str, message: str, end: float) -> None:
        """Sends a message that has no reply."""
        raise NotImplementedError

    def introduced(self, version: str | None) -> None:
        """The version of the protocol that was agreed upon; ``None`` before a new introduction."""

    def hidden(self, text: str) -> str:
        """A text from outside without what was sent and must not be shown."""
        return text

    def hang_up(self) -> None:
        """Begins to close, without waiting. Never raises."""

    def end(self, ctx: Context, end: float) -> None:
        """Closes, by that time at the latest. Never raises; twice is nothing."""


def timed_out(seconds: int) -> str:
    return f"timed out after {seconds}s"


def one_line(text: str) -> str:
    """A text from outside as errors show it."""
    return " ".join(text[: 4 * _SHOWN].split())[:_SHOWN]
