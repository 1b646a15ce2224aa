"""A program under a runner: ``--host-link ADDRESS`` (``docs/host-link.md``).

The process connects to the runner first. The runner provides the variables and secrets of the program, makes its connections,
and receives its audit records and gates. The program sees nothing of the environment of this process.
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

    from language.audit.records import Place
    from language.cli.arguments import Arguments
    from language.host.processes import Processes
    from language.native.outgoing import Forward
    from language.shared.store import GateBoard

FLAG = "--host-link"
#: The variable with the secret of a link over TCP. It is removed from the environment before the program runs.
SECRET = "PLATFORM_HOST_LINK_SECRET"

#: Flags that contradict ``--host-link``: the runner decides what they set, or they would bypass it.
_CONTRARY = (
    "--env-file", "--no-env-file", "--audit", "--audit-chain", "--learn", "--write", "--yes", "--explain", "--format",
    "--trace", "--trace-content",
    "--gates", "--provider", "--bind", "--port", "--workers", "--trust-proxy", "--watch", "--tls-cert", "--tls-key",
)  # fmt: skip

_LISTEN_SECONDS = 60.0
#: Seconds to send the last records of a program that ends.
_FLUSH_SECONDS = 30.0
#: Seconds for a connection that a command of the program makes through the proxy.
_CONNECT_SECONDS = 30.0


class Linked:
    """The link of this process, and the host, gates and audit that work over it."""

    def __init__(self, arguments: Arguments, mode: str) -> None:
        """Connects to the runner. Errors: ``UsageError`` if that fails, and for flags that ``--host-link`` excludes."""
        for flag in _CONTRARY:
            if flag in arguments.values:
                raise UsageError(
                    mode,
                    f"{flag} and {FLAG} are mutually exclusive, because the runner decides this: remove {flag}",
                    usage=False,
                )
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
        """Runs ``body`` and then sends its last audit records, also after an exception."""
        try:
            return self.stream.around(body)
        finally:
            self._link.flush(_FLUSH_SECONDS)

    def host(self, stdin_taken: bool) -> CommandHost:
        """The host of the program."""
        return _LinkedHost(self._link, self.settings, stdin_taken)

    def gates(self, host: CommandHost, program: str, board: GateBoard | None = None) -> LinkedGates:
        """The gates of the program."""
        from language.gates.queue import configured_seconds

        found = LinkedGates(self._link, host, self.settings, seconds=configured_seconds(host), board=board, program=program)
        page = self._host.get("approvals_url")
        found.approvals_url = page if isinstance(page, str) else ""
        return found

    @property
    def trust(self) -> tuple[str, ...]:
        """The proxies whose headers the runner trusts."""
        given = self._host.get("trust_proxy")
        return tuple(item for item in given if isinstance(item, str)) if isinstance(given, list) else ()

    def listening(self) -> socket.socket | int:
        """The listening socket of the service; over TCP the port to listen on. Errors: ``LinkLost``."""
        return self._link.listening(_LISTEN_SECONDS)

    def ready(self) -> None:
        """Tells the runner that the program is ready."""
        self._link.ready()

    def obey(self, stop: Callable[[float], None], drain: Callable[[], None]) -> None:
        """Sets the functions to call on messages of the runner: ``stop(grace)`` ends the program within ``grace`` seconds,
        ``drain()`` after all requests in progress.
        """
        self._link.on_stop = stop

        def beside() -> None:
            start_new_thread(drain, ())  # it waits for the requests in progress

        self._link.on_drain = beside
        self._link.obey()

    def end_run_on_stop(self) -> None:
        """Makes the runner's stop message or signal end a run as Ctrl-C does."""

        def interrupt(number: int, frame: object) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt the graceful shutdown
            raise KeyboardInterrupt

        signal.signal(signal.SIGTERM, interrupt)
        self.obey(lambda grace: os.kill(os.getpid(), signal.SIGTERM), lambda: None)

    def _settings(self) -> dict[str, str]:
        """The platform's settings, keyed by the variables that the interpreter reads."""
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
    """Opens the connections of this process through the runner."""

    def __init__(self, link: HostLink) -> None:
        self._link = link

    def connect(self, host: str, port: int, capability: str, seconds: float) -> socket.socket:
        return self._link.connect(host, port, capability, seconds)

    def forward(self, host: str, port: int, capability: str, seconds: float) -> Forward:
        return Forwarding(lambda: self._link.connect(host, port, capability, seconds))


class _LinkedHost(CommandHost):
    """Takes variables and secrets from the link instead of the process environment. Commands get a proxy to the runner."""

    deployed = True

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

    def setting(self, name: str, *, secret: bool = False) -> tuple[str, str] | None:
        value = ((self.secret_value(name) if secret else self.environ(name)) or "").strip()
        return (value, "environ") if value else None

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
    """Sends the records to the runner, each once and in order. Blocks while the runner cannot take more."""

    def __init__(self, link: HostLink) -> None:
        super().__init__(Destination(), chained=False)
        self._link = link

    def record(self, record: dict[str, Any], context: str, source: str | None, place: Place | None = None) -> None:
        self._link.wait_for_room()
        super().record(record, context, source, place)

    def _write(self, entry: dict[str, Any]) -> None:
        self._link.audit(entry)


__all__ = ["FLAG", "LinkLost", "Linked"]
