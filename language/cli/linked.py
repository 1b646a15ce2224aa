"""A program under a runner: ``--host-link PATH`` (``docs/host-link.md``).

The runner is dialled before anything else is done. What the program is given comes from there, and every connection, audit
record and gate of it goes there; of the environment of this process it sees nothing.
"""

from __future__ import annotations

import os
import signal
from _thread import start_new_thread
from typing import TYPE_CHECKING

from language.cli.arguments import UsageError, clean
from language.cli.audit_stream import AuditStream, Destination
from language.cli.streams import CommandHost
from language.host_link.client import HostLink, LinkLost
from language.host_link.connect_proxy import ConnectProxy
from language.host_link.gates import LinkedGates
from language.host_link.messages import WireError
from language.host_link.relay import Forwarding
from language.host_link.undumpable import make_undumpable
from language.locks import Lock
from language.native.outgoing import connect_through
from language.release import __version__

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from typing import Any

    from language.cli.arguments import Arguments
    from language.host.processes import Processes
    from language.native.outgoing import Forward
    from language.shared.store import GateBoard

FLAG = "--host-link"
#: Of a link over TCP. Read once, and gone from the environment of this process before anything runs.
SECRET = "PLATFORM_HOST_LINK_SECRET"

#: What the runner decides, or what would lead past it.
_CONTRARY = (
    "--env-file", "--no-env-file", "--audit", "--audit-chain", "--learn", "--write", "--yes", "--explain", "--format",
    "--gates", "--bind", "--port", "--workers", "--trust-proxy", "--watch", "--tls-cert", "--tls-key",
)  # fmt: skip

_LISTEN_SECONDS = 60.0
#: For the last records of a program that ends.
_FLUSH_SECONDS = 30.0
#: For a command's connection through the proxy.
_CONNECT_SECONDS = 30.0


class Linked:
    """The link of this process, and what stands on it in the place of the machine."""

    def __init__(self, arguments: Arguments, mode: str) -> None:
        """Dials. Errors: ``UsageError`` where that cannot be done, and for flags that do not go together with it."""
        for flag in _CONTRARY:
            if flag in arguments.values:
                raise UsageError(mode, f"{flag} and {FLAG} exclude each other: the runner decides it", usage=False)
        address = arguments.values[FLAG]
        try:
            make_undumpable()
            self._link = HostLink(address, os.environ.pop(SECRET, ""), mode, __version__)
        except (OSError, ValueError, WireError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(mode, f"{FLAG} '{clean(address)}': {reason or error}", usage=False) from None
        self._host = self._link.start.host
        connect_through(_Outside(self._link))
        self.stream: AuditStream = _LinkedAudit(self._link)
        self.settings = self._settings()

    def around(self, body: Callable[[], int]) -> int:
        """Runs ``body`` and hands over its last audit records, however it ends."""
        try:
            return self.stream.around(body)
        finally:
            self._link.flush(_FLUSH_SECONDS)

    def host(self, stdin_taken: bool) -> CommandHost:
        """The machine as the program sees it."""
        return _LinkedHost(self._link, self.settings, stdin_taken)

    def gates(self, host: CommandHost, program: str, board: GateBoard | None = None) -> LinkedGates:
        """The queue of its gates."""
        from language.gates.queue import configured_seconds

        seconds = configured_seconds(host)
        return LinkedGates(self._link, host, self.settings, seconds=seconds, board=board, program=program)

    @property
    def trust(self) -> tuple[str, ...]:
        """The proxies that the runner names."""
        given = self._host.get("trust_proxy")
        return tuple(item for item in given if isinstance(item, str)) if isinstance(given, list) else ()

    def listening(self) -> socket.socket | int:
        """The listening socket of the service, or over TCP its port. Errors: ``LinkLost``."""
        return self._link.listening(_LISTEN_SECONDS)

    def ready(self) -> None:
        """Says that the program serves, works or runs."""
        self._link.ready()

    def obey(self, stop: Callable[[float], None], drain: Callable[[], None]) -> None:
        """Who ends the program when the runner says so: within a grace in seconds, or once nothing is under way."""
        self._link.on_stop = stop

        def beside() -> None:
            start_new_thread(drain, ())  # it takes as long as what is under way

        self._link.on_drain = beside

    def end_run_on_stop(self) -> None:
        """Has the runner's word, and the signal that follows it, end a run as an interrupt does."""

        def interrupt(number: int, frame: object) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not end what the first has begun to end
            raise KeyboardInterrupt

        signal.signal(signal.SIGTERM, interrupt)
        self.obey(lambda grace: os.kill(os.getpid(), signal.SIGTERM), lambda: None)

    def _settings(self) -> dict[str, str]:
        """What the platform sets, by the names that the interpreter reads."""
        given = self._host
        settings: dict[str, str] = {}
        url, seconds, llm = given.get("public_url"), given.get("human_timeout"), given.get("llm")
        if isinstance(url, str) and url:
            settings["PLATFORM_HUMAN_PUBLIC_URL"] = url
        if isinstance(seconds, (int, float)):
            settings["PLATFORM_HUMAN_TIMEOUT"] = f"{seconds:g}"
        if isinstance(llm, dict):
            settings.update(
                (name, value) for name, value in llm.items() if name.startswith("PLATFORM_LLM_") and isinstance(value, str)
            )
        return settings


class _Outside:
    """All connections of this process: each is the runner's to make."""

    def __init__(self, link: HostLink) -> None:
        self._link = link

    def connect(self, host: str, port: int, capability: str, seconds: float) -> socket.socket:
        return self._link.connect(host, port, capability, seconds)

    def forward(self, host: str, port: int, capability: str, seconds: float) -> Forward:
        return Forwarding(lambda: self._link.connect(host, port, capability, seconds))


class _LinkedHost(CommandHost):
    """What comes with the link in the place of the process environment; commands that find their way out by a proxy."""

    def __init__(self, link: HostLink, settings: Mapping[str, str], stdin_taken: bool) -> None:
        super().__init__(None, stdin_taken=stdin_taken)
        self._link = link
        self._settings = settings
        self._proxy: ConnectProxy | None = None
        self._proxy_lock = Lock()

    def environ(self, name: str) -> str | None:
        return self._settings.get(name) if name.startswith("PLATFORM_") else self._link.start.env.get(name)

    def secret_value(self, name: str) -> str | None:
        return self._link.start.secrets.get(name, self.environ(name))

    @property
    def processes(self) -> Processes | None:
        if self._processes is None:
            from language.native.processes import NativeProcesses

            self._processes = NativeProcesses(most=self._reading_limit(), surroundings=self._proxy_variables)
        return self._processes

    def _proxy_variables(self) -> Mapping[str, str]:
        with self._proxy_lock:
            if self._proxy is None:
                self._proxy = ConnectProxy(lambda host, port: self._link.connect(host, port, "net", _CONNECT_SECONDS))
            return self._proxy.variables()


class _LinkedAudit(AuditStream):
    """Records go to the runner, each once and in their order; who makes more than it can take waits."""

    def __init__(self, link: HostLink) -> None:
        super().__init__(Destination(), chained=False)
        self._link = link

    def record(self, record: dict[str, Any], context: str, source: str | None) -> None:
        self._link.wait_for_room()
        super().record(record, context, source)

    def _write(self, entry: dict[str, Any]) -> None:
        self._link.audit(entry)


__all__ = ["FLAG", "LinkLost", "Linked"]
