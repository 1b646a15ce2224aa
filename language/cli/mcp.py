"""``lang mcp``: an MCP server on standard input and output, whose tools are those of this command; with a program, that
program's own tools.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from typing import Any

from language.cli.arguments import MCP, Arguments, UsageError, clean, parse
from language.cli.mcp_stream import MessageStream
from language.cli.message_turns import cancelled_id
from language.mcp.exchange import ToolCall, ToolExchange, ToolOffer

#: Calls that run at the same time, and calls that may wait for their turn.
_AT_ONCE = 2
_MOST_WAITING = 32
_LONGEST_SECONDS = 3600
_SMALLEST_MEMORY = 64 << 20

INSTRUCTIONS = (
    "Tools for programs in the language of `lang`. Read the page `guide` with the tool docs before you write a program; "
    "then check, test and run it here. Files end in .lang."
)


def command(words: Sequence[str]) -> int:
    arguments = parse("mcp", words, MCP)
    paths = arguments.paths + arguments.rest
    if len(paths) > 1:
        raise UsageError("mcp", f"one program at a time, got '{clean(paths[1])}' too")
    if paths:
        from language.cli.mcp_program import serve_program

        for flag in ("--time", "--output", "--memory", "--folder"):
            if arguments.given(flag):
                raise UsageError("mcp", f"{flag} belongs to `lang mcp` without a program", usage=False)
        return serve_program(arguments, paths[0])
    for flag in ("--route", "--token-env"):
        if arguments.given(flag):
            raise UsageError("mcp", f"{flag} belongs to `lang mcp FILE`", usage=False)
    return _serve_toolchain(arguments)


def _serve_toolchain(arguments: Arguments) -> int:
    from language.cli.bounded_process import BoundedCommands, Bounds
    from language.cli.mcp_tools import RunningPlace, Toolchain

    listed = arguments.values.get("--cap-set")
    arguments.ceiling()  # reports a wrong list now and not at each call
    words, said = ["--sandbox"], "it may print and read the clock, nothing else"
    if listed is not None:
        words, said = ["--cap-set", listed], clean(listed)
    folder = arguments.values.get("--folder", "")
    if folder and not os.path.isdir(folder):
        raise UsageError("mcp", f"--folder: there is no folder '{clean(folder)}'", usage=False)
    bounds = Bounds(
        _seconds(arguments), _size(arguments, "--output", "64kb", 1), _size(arguments, "--memory", "512mb", _SMALLEST_MEMORY)
    )
    tools = Toolchain(RunningPlace(tuple(words), said, os.path.abspath(folder) if folder else ""), BoundedCommands(bounds))
    from language.release import __version__

    offer = ToolOffer("lang", __version__, tools.listed(), instructions=INSTRUCTIONS)
    return _Server(offer, tools.answer).serve()


def _seconds(arguments: Arguments) -> float:
    given = arguments.values.get("--time", "10")
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise UsageError("mcp", f"--time must be a number of seconds up to {_LONGEST_SECONDS}, not '{clean(given)}'")
    return seconds


def _size(arguments: Arguments, flag: str, usual: str, least: int) -> int:
    from language.values.byte_sizes import size_in_bytes

    given = arguments.values.get(flag, usual)
    size = size_in_bytes(given)
    if size is None or size < least:
        raise UsageError("mcp", f"{flag} must be a size such as 512mb, {least} bytes at least, not '{clean(given)}'")
    return size


class _Server:
    """Reads messages and answers them. Calls run concurrently, so that a long one does not delay the others.

    Args:
        offer: the tools and their descriptions.
        run: runs a call and sets its outcome; it must return soon after the call's cancellation event is set.
    """

    def __init__(self, offer: ToolOffer, run: Any) -> None:
        self._offer = offer
        self._run = run
        self._stream = MessageStream()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()
        #: the calls that run or wait, by the id of their request
        self._running: dict[Any, threading.Event] = {}
        self._threads: set[threading.Thread] = set()

    def serve(self) -> int:
        """Answers until the client closes its end, then finishes the calls that still run. SIGTERM cancels them."""
        previous = signal.signal(signal.SIGTERM, self._stop)
        try:
            for message in self._stream.messages():
                self._take(message)
            for thread in list(self._threads):
                thread.join()
        except OSError:  # the client has stopped reading
            self._cancel_all()
        except KeyboardInterrupt:
            self._cancel_all()
            raise
        finally:
            signal.signal(signal.SIGTERM, previous)
        return 0

    def _stop(self, *_: object) -> None:
        self._cancel_all()
        raise SystemExit(0)

    def _cancel_all(self) -> None:
        for cancelled in list(self._running.values()):
            cancelled.set()

    def _take(self, message: Any) -> None:
        ident = cancelled_id(message)
        if ident is not None:
            with self._lock:
                cancelled = self._running.get(ident)
            if cancelled is not None:
                cancelled.set()
        exchange = ToolExchange(message, self._offer)
        if not exchange.calls:
            self._reply(exchange)
            return
        self._threads = {thread for thread in self._threads if thread.is_alive()}
        if len(self._threads) >= _MOST_WAITING:
            for call in exchange.calls:
                call.refuse("too many calls at the same time: wait until some are answered")
            self._reply(exchange)
            return
        key = message.get("id") if isinstance(message, dict) else id(exchange)
        cancelled = threading.Event()
        with self._lock:
            self._running[key] = cancelled
        thread = threading.Thread(target=self._work, args=(exchange, key, cancelled), daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self, exchange: ToolExchange, key: Any, cancelled: threading.Event) -> None:
        try:
            with self._turns:
                for call in exchange.calls:
                    self._answer(call, cancelled)
            if not cancelled.is_set():  # a cancelled request has no reply
                self._reply(exchange)
        finally:
            with self._lock:
                if self._running.get(key) is cancelled:
                    del self._running[key]

    def _answer(self, call: ToolCall, cancelled: threading.Event) -> None:
        if cancelled.is_set():
            call.refuse("cancelled")
        else:
            self._run(call, cancelled)

    def _reply(self, exchange: ToolExchange) -> None:
        body = exchange.reply()[1]
        if body is not None:
            self._stream.send(body)
