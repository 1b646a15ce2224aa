"""The stdio transport of the Model Context Protocol: one process, one JSON message per line in each direction."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.processes import CannotStart, Command, LineTooLong, ProcessEnded, TimedOut
from language.mcp.protocol import METHOD_NOT_FOUND, error, is_id, result
from language.values.json_decoding import decode
from language.values.json_encoding import encode
from stdlib.mcp_protocol import reply_to
from stdlib.mcp_transport import PLAIN, Transport, Trouble, timed_out
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.host.processes import LineProcess
    from language.runtime.context import Context


class StdioTransport(Transport):
    """A process, started from ``command`` by :meth:`start`."""

    command: Command

    def __init__(self, ctx: Context, builtin: str, command: str) -> None:
        processes = ctx.host.processes
        if processes is None:
            raise native_only(builtin, "this build has no child processes")
        self.name = command
        self.asked = ctx.check_command(command)
        self._processes = processes
        self._line_process: LineProcess | None = None

    def start(self) -> None:
        try:
            self._line_process = self._processes.start(self.command)
        except CannotStart as reason:
            raise Trouble(f"cannot start: {reason}") from None

    def check(self, ctx: Context, builtin: str) -> None:
        ctx.capabilities.check_command(self.asked)

    def request(
        self, ctx: Context, builtin: str, ident: int, message: str, end: float, fields: list[tuple[str, str]]
    ) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        def answer(line: bytes) -> bytes | None:
            try:
                come = decode(line.decode("utf-8", "replace"))
            except RuntimeFault:
                return b""  # not a message: ignored
            reply = reply_to(come, ident)
            if reply is None:
                return _answered(come)
            found.append(reply)
            return None

        self._talk(ctx, message, answer, end)
        return found[0]

    def notify(self, ctx: Context, builtin: str, message: str, end: float) -> None:
        self._talk(ctx, message, None, end)

    def _talk(self, ctx: Context, message: str, answer: Callable[[bytes], bytes | None] | None, end: float) -> None:
        if self._line_process is None:
            raise Trouble("the connection is closed", PLAIN)
        whole = False
        try:
            self._line_process.talk(message.encode(), answer, end - ctx.host.monotonic())
            whole = True
        except TimedOut:
            raise Trouble(timed_out(self.seconds), PLAIN) from None
        except ProcessEnded:
            raise Trouble("the process has ended the conversation") from None
        except LineTooLong as reason:
            raise Trouble(f"a line of the process is longer than {reason.most} bytes") from None
        finally:
            self.broken = not whole

    def hang_up(self) -> None:
        if self._line_process is not None:
            self._line_process.hang_up()

    def end(self, ctx: Context, end: float) -> None:
        if self._line_process is not None:
            self._line_process.end(max(end - ctx.host.monotonic(), 0.0))


def _answered(message: Any) -> bytes:
    """The answer to a message of the server; empty for notifications and for replies without a request."""
    if type(message) is not dict or type(message.get("method")) is not str or not is_id(message.get("id", message)):
        return b""
    ident = message["id"]
    if message["method"] == "ping":
        reply = result(ident, {})
    else:
        reply = error(ident, METHOD_NOT_FOUND, "method not found")
    return encode(reply).encode()
