"""Runs the ``serve`` blocks of a program for ``lang serve``: sockets, threads or processes, graceful shutdown."""

from __future__ import annotations

import gc
import os
import signal
from errno import EADDRNOTAVAIL
from time import monotonic, sleep
from typing import TYPE_CHECKING

from language.cli.streams import out, say_line, warn
from language.errors import RuntimeFault, Uncatchable
from language.native.cancellation import Cancellation
from language.native.server import (
    UNIX,
    Certificate,
    Listener,
    Server,
    ServerEngine,
    Settings,
    StopSignal,
    WorkerProcesses,
    bind,
    bind_error,
    grace_from_environment,
    is_loopback,
    place,
    serve_until_signalled,
)
from language.native.server.addresses import split_list
from language.native.static_denylist import StaticDenylist
from language.recursion import hold_limit

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from language.runtime.instance import Instance
    from language.serve.hosting import ServeBlock
    from language.serve.surroundings import Watch

DEFAULT_ADDRESS = "127.0.0.1"
#: Read from the process environment only and not from `.env`, because the operator decides where a service listens.
ADDRESS = "PLATFORM_BIND"
#: The same: host names that a service answers for although only this machine reaches it; ``*`` for every one.
HOSTS = "PLATFORM_SERVE_HOSTS"
_REDIRECT_PORT = 80
_LOOK_SECONDS = 0.05
#: Seconds, after a successor has taken over, for requests on connections that were accepted before.
_IDLE_SECONDS = 2.0


class Stopped(Uncatchable):
    """SIGTERM or SIGINT arrived while the top level of the program was still running."""


class CommandHosting:
    """Hosts the blocks of one program (:class:`language.serve.hosting.Hosting`). ``begin_jobs`` is called once something
    listens, ``begin_worker`` in each worker process before it answers.

    ``port``, ``address``, ``trust`` and ``certificate`` are those of the flags; they take precedence over what a block says.
    ``PLATFORM_BIND`` comes between the two. ``reachable`` is called with the URL of the first block for a browser on this
    machine, before it answers. ``handed`` returns the listening socket that a runner passes, or the port to listen on; every
    other address is then ignored.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        port: int | None,
        address: str | None,
        certificate: Certificate | None,
        trust: tuple[str, ...],
        secure: bool,
        access_log: bool,
        processes: int,
        begin_jobs: Callable[[], None],
        begin_worker: Callable[[], None],
        reachable: Callable[[str], None] = lambda _: None,
        handed: Callable[[], socket.socket | int] | None = None,
    ) -> None:
        self.secure = secure
        self.access_log = access_log
        self.tls = certificate is not None
        self._settings = settings
        self._port = port
        self._address = address
        self._host_address = os.environ.get(ADDRESS) or None
        self.names = tuple(split_list(os.environ.get(HOSTS, "")))
        self._listeners: list[Listener] = []
        self._certificate = certificate
        self._trust = trust
        self._count = processes
        self._begin_jobs = begin_jobs
        self._begin_worker = begin_worker
        self._reachable = reachable
        self._grace = grace_from_environment(warn)
        self._engine: ServerEngine | None = None
        self._servers: list[Server] = []
        self._processes: list[WorkerProcesses] = []
        self._handed = handed
        # A runner sends a stop message over its link and then a signal; that signal does not count as a second request.
        self._stop = StopSignal(self._leave_top_level, second_ends=handed is None)
        self._in_top_level = True
        self._asked = False
        if handed is not None:
            self._stop.install()

    # ---- the side of the program ----------------------------------------------------------------------------------------

    def port(self, declared: int) -> int:
        return declared if self._port is None else self._port

    def cancellation(self, wake: Callable[[int], None]) -> Watch:
        return Cancellation(wake)

    def static_denylist(self, instance: Instance) -> Callable[[str, os.stat_result], bool]:
        return StaticDenylist(instance)

    def local_only(self, declared: str | None) -> bool:
        if self._handed is not None or "*" in self.names:
            return False
        return is_loopback(self._address or self._host_address or declared or DEFAULT_ADDRESS)

    def listen(self, block: ServeBlock) -> None:
        if self._handed is not None:
            self._listen_where_handed(block, self._handed)
            return
        if self.serves:
            if any(given is not None for given in (self._port, self._address, self._certificate)):
                raise RuntimeFault("--port, --bind and --tls-cert need a program with a single serve block")
        else:
            self._stop.install()
            hold_limit()  # the recursion limit of the top level also holds for handlers, after the top level has ended
        if block.tls_auto is not None and self._certificate is None:
            raise RuntimeFault(
                "tls auto: this version does not obtain certificates from an authority; name your own with `tls cert P key K`",
                kind="unsupported",
            )
        certificates = tuple(Certificate(files.host, files.certificate, files.key) for files in block.tls)
        if self._certificate is not None:
            certificates = (self._certificate, *(one for one in certificates if one.host is not None))
        trust = (*(self._trust or block.trust or self._settings.trust),)
        settings = self._settings._replace(tls=certificates, trust=trust)
        address = self._address or self._host_address or block.bind or DEFAULT_ADDRESS
        redirects = block.redirect_https and certificates and not address.startswith(UNIX)
        redirect = self._bound(address, _REDIRECT_PORT) if redirects else None
        listener = self._bound(address, block.port)
        scheme = "HTTPS" if certificates else "HTTP"
        url = f"{scheme.lower()}://{place(_reachable(address), block.port)}"
        if not (self.serves or address.startswith(UNIX)):
            self._reachable(url)
        self._begin(listener, redirect, block, settings)
        if address.startswith(UNIX):
            say_line(f"Serving {scheme} on {address} ({block.routes} route(s))")
        else:
            out(f"Serving {scheme} on port {block.port} ({block.routes} route(s))")
            out(f"{url}/")
        if self._count == 1:
            self._begin_jobs()

    def _listen_where_handed(self, block: ServeBlock, handed: Callable[[], socket.socket | int]) -> None:
        if self.serves:
            raise RuntimeFault(
                "a program under --host-link can have one serve block: the runner hands in one listening socket",
                kind="unsupported",
            )
        if block.tls or block.tls_auto is not None:
            warn("the tls of the serve block has no effect under --host-link: the proxy in front of the runner terminates TLS")
        hold_limit()
        try:
            given = handed()
            listener = bind("", given) if isinstance(given, int) else Listener(UNIX, given)
        except OSError as error:
            raise RuntimeFault(f"cannot serve: {error.strerror or error}", kind="network") from None
        self._listeners.append(listener)
        settings = self._settings._replace(tls=(), trust=(*(self._trust or self._settings.trust),))
        self._begin(listener, None, block, settings)
        out(f"Serving HTTP for the runner ({block.routes} route(s))")
        self._begin_jobs()

    def _begin(self, listener: Listener, redirect: Listener | None, block: ServeBlock, settings: Settings) -> None:
        if self._count > 1:

            def work() -> list[Server]:
                self._begin_worker()
                return [self._server(listener, redirect, block, settings, ServerEngine(settings))]

            processes = WorkerProcesses(self._count, work, self._grace)
            self._server(listener, redirect, block, settings, ServerEngine(settings))  # raises its errors before the fork
            processes.start()
            self._processes.append(processes)
            return
        if self._engine is None:
            self._engine = ServerEngine(settings)
        server = self._server(listener, redirect, block, settings, self._engine)
        server.start()
        self._servers.append(server)

    def _server(
        self, listener: Listener, redirect: Listener | None, block: ServeBlock, settings: Settings, engine: ServerEngine
    ) -> Server:
        try:
            return Server(listener, block.application, settings, engine=engine, redirect=redirect)
        except ValueError as error:
            raise RuntimeFault(str(error), kind="network") from None

    def shutdown(self) -> None:
        """Ends the service as a signal would."""
        self._stop.give()

    # ---- the side of the command ----------------------------------------------------------------------------------------

    @property
    def serves(self) -> bool:
        return bool(self._servers or self._processes)

    def top_level_has_ended(self) -> None:
        """From now on a signal starts a graceful shutdown and raises nothing. Call it where ``Stopped`` is caught."""
        self._in_top_level = False

    def wait(self) -> None:
        """Serves until a signal arrives, then shuts down gracefully. Called after the top level has ended.

        Raises ``RuntimeFault`` when worker processes are gone and nobody starts them again.
        """
        if self._processes:
            self._begin_jobs()
        gc.collect()
        gc.freeze()
        if self._handed is not None:
            self._stop.wait()  # whoever sets it may also set the grace
        if self._processes:
            self._stop.wait(*(processes.end for processes in self._processes))
            for processes in self._processes:
                processes.stop()
            if not self._stop.given:
                self._remove_sockets()
                raise RuntimeFault("the process that starts the worker processes has ended", kind="resources")
        else:
            serve_until_signalled(self._servers, self._grace, stop=self._stop)
        self._remove_sockets()

    def end_within(self, grace: float) -> None:
        """Ends the service as a signal would, with this grace in seconds. From any thread."""
        self._grace, self._asked = grace, True
        os.kill(os.getpid(), signal.SIGTERM)

    @property
    def ended_from_outside(self) -> bool:
        """Whether a signal without a preceding stop message ended it."""
        return self._stop.by_signal and not self._asked

    def drain(self) -> None:
        """Stops accepting, and ends the service after all requests in progress. For any thread but the main one."""
        for server in self._servers:
            server.hand_over()
        engines = [server.engine for server in self._servers]
        busy_at = monotonic()
        while any(engine.connected() for engine in engines) and not self._stop.given:
            if any(engine.busy() for engine in engines):
                busy_at = monotonic()
            elif monotonic() - busy_at > _IDLE_SECONDS:
                break
            sleep(_LOOK_SECONDS)
        self._stop.give()

    def wait_for_jobs(self) -> None:
        """Waits for a signal, for a program that listens nowhere and has scheduled jobs."""
        self._stop.install()
        self._stop.wait()

    def abandon(self) -> None:
        """Ends everything at once, after the top level has failed."""
        for server in self._servers:
            server.stop(0)
        for processes in self._processes:
            processes.kill()
        self._remove_sockets()

    def on_hang_up(self, act: Callable[[], None]) -> None:
        """``act`` is called, in the main thread, when the process gets SIGHUP."""
        signal.signal(signal.SIGHUP, lambda *_: act())

    def _bound(self, address: str, port: int) -> Listener:
        try:
            listener = bind(address, port)
        except OSError as error:
            help_ = ""
            if error.errno == EADDRNOTAVAIL:
                help_ = f"this machine has no address `{address}`: `127.0.0.1` is for itself alone, `0.0.0.0` all that it has"
            raise RuntimeFault(bind_error(address, port, error), kind="network", code="E0703", help=help_) from None
        self._listeners.append(listener)
        return listener

    def _remove_sockets(self) -> None:
        for listener in self._listeners:
            listener.remove()

    def _leave_top_level(self) -> None:
        if self._in_top_level:
            self._in_top_level = False  # a second signal must not interrupt the graceful shutdown
            raise Stopped("the program was told to stop")


def _reachable(address: str) -> str:
    """The address for a browser on this machine: the loopback address if the service listens on all addresses."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
