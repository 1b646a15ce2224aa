"""Servers: begun in the background, and ended in order when the process is told to."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

from language.native.server.console import say
from language.native.server.engine import Entrance, ServerEngine
from language.native.server.redirecting import Redirect
from language.native.server.settings import DEFAULT_GRACE, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from language.native.server.listening import Listener
    from language.native.server.settings import RequestHandler, Settings

_LOOK_SECONDS = 0.02
#: Seconds for what was cancelled to end and for its replies to go out.
_CANCEL_SECONDS = 2.0
#: The end of the grace, in which the handlers of gates that nobody answered can still reply.
_GATES_SECONDS = 1.0
INTERRUPTED = 130
SIGNALS = (signal.SIGTERM, signal.SIGINT)

# Written to the pipe of a :class:`StopSignal`, where a signal writes its number.
_GIVEN = b"\0"


class Server:
    """One listener before one application. Servers that share an ``engine`` share threads and the loop over the sockets.

    ``redirect`` is a second listener, whose clients are sent to the first. Raises ``ValueError`` for certificates that cannot
    be used and for proxies that are no addresses.
    """

    def __init__(
        self,
        listener: Listener,
        application: RequestHandler,
        settings: Settings,
        *,
        engine: ServerEngine | None = None,
        redirect: Listener | None = None,
    ) -> None:
        self.listener = listener
        self.application = application
        self.settings = settings
        self.engine = engine or ServerEngine(settings)
        self._site = Site(application, settings)
        wrap = None
        if settings.tls:
            from language.native.server.tls import wrapper

            wrap = wrapper(self.engine, settings.tls)
        self._entrances = [Entrance(listener.socket, self._site, wrap)]
        if redirect is not None:
            self._entrances.append(Entrance(redirect.socket, Site(Redirect(listener.port), settings), None))

    def start(self) -> None:
        """Begins to answer, in threads of its own. Raises ``RuntimeError`` where the system has none."""
        for entrance in self._entrances:
            self.engine.add(entrance)
        self.engine.start()

    def hand_over(self) -> None:
        """Accepts nothing more: another process does, at the same socket. What was accepted here is answered as before."""
        for entrance in self._entrances:
            entrance.site.succeeded = True
            self.engine.remove(entrance)
        self.engine.wake()

    def drain(self) -> None:
        """Accepts nothing more; a request on an open connection is told so, what is being answered goes on."""
        for entrance in self._entrances:
            entrance.site.draining = True
            self.engine.remove(entrance)
        self.application.begin_shutdown()
        self.engine.wake()

    def stop(self, grace: float = DEFAULT_GRACE) -> None:
        """Drains, waits up to ``grace`` seconds, cancels what still runs, and closes every connection."""
        self.drain()
        finish([self], grace)


def finish(servers: Sequence[Server], grace: float) -> None:
    """Waits for drained servers up to ``grace`` seconds, then ends them."""
    engines = list({id(server.engine): server.engine for server in servers}.values())

    def quiet_within(seconds: float) -> bool:
        end = monotonic() + seconds
        while any(engine.busy() for engine in engines):
            if monotonic() >= end:
                return False
            sleep(_LOOK_SECONDS)
        return True

    for_gates = min(_GATES_SECONDS, grace / 5)
    if not quiet_within(grace - for_gates):
        for server in servers:
            server.application.close_gates()
        if not quiet_within(for_gates):
            for server in servers:
                server.application.cancel_all()
            quiet_within(_CANCEL_SECONDS)
    for engine in engines:
        engine.stop()


class StopSignal:
    """SIGTERM and SIGINT: the first one is heard by whoever waits, a second one ends the process at once with exit code 130.

    ``at_once`` is called by the first one, in the main thread between two steps of whatever runs there; it may raise. Unless it
    ``insists``, a second signal is none: whoever sends it has other means.
    """

    def __init__(self, at_once: Callable[[], None] | None = None, *, insists: bool = True) -> None:
        self.at_once = at_once
        self._insists = insists
        self.given = False
        # A signal writes here, whatever the main thread is doing: one that arrives just before a lock is waited for would be
        # seen only when the wait is over.
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def install(self, signals: Sequence[signal.Signals] = SIGNALS) -> None:
        """Takes the signals over. Only in the main thread."""
        for number in signals:
            signal.signal(number, self._handle)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.given:
            if self._insists:
                os._exit(INTERRUPTED)
            return
        self.give()
        if self.at_once is not None:
            self.at_once()

    def give(self) -> None:
        """As if a first signal had come. In a process that was forked since, it is the one that waits which hears it."""
        self.given = True
        with suppress(BlockingIOError):
            os.write(self._writer, _GIVEN)

    def wait(self, *ends: int) -> None:
        """Returns once a signal has been given, or one of the descriptors ``ends`` is readable. In the main thread."""
        while not self.given:
            ready = select.select([self._reader, *ends], [], [])[0]
            if ready and self._reader not in ready:
                return
            with suppress(BlockingIOError):
                if _GIVEN in os.read(self._reader, 4096):
                    self.given = True


def serve_until_signalled(
    servers: Sequence[Server], grace: float = DEFAULT_GRACE, *, stop: StopSignal | None = None, quiet: bool = False
) -> None:
    """Waits for SIGTERM or SIGINT, then stops the servers in order and says so on the error stream, unless ``quiet``."""
    if stop is None:
        stop = StopSignal()
        stop.install()
    stop.wait()
    for server in servers:
        server.drain()
    if not quiet:
        announce(sum(server.application.in_flight for server in servers), grace)
    finish(servers, grace)
    if not quiet:
        say("[serve] stopped")


def announce(in_flight: int, grace: float) -> None:
    """The line that says for what a server that stops still waits."""
    say(
        f"[serve] shutting down: draining {in_flight} in-flight request(s), grace {grace:g}s (PLATFORM_SHUTDOWN_GRACE)",
    )
