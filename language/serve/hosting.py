"""The interface between a ``serve`` block and the server that listens for it, with the options of the command line.

``lang serve`` creates it as ``context.services.hosting``; without it a block cannot be served.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import stat_result
    from typing import Any, Protocol

    from language.runtime.instance import Instance
    from language.serve.surroundings import Watch

    class Hosting(Protocol):
        """The options of the command line, and the server."""

        #: error replies do not contain the cause (always, except with ``--watch`` and ``PLATFORM_DEV=1``)
        secure: bool
        #: every request writes a line to standard error (``--access-log``)
        access_log: bool
        #: host names that the operator wants answered (``PLATFORM_SERVE_HOSTS``)
        names: tuple[str, ...]
        #: the server uses TLS, whatever the block declares (``--tls-cert``)
        tls: bool

        def port(self, declared: int) -> int:
            """The port to check the capability for and to :meth:`listen` on: that of ``--port``, else the declared one."""

        def local_only(self, declared: str | None) -> bool:
            """Whether only this machine can reach the service, and nobody said that it answers for every name.

            ``declared`` is the address of the block's ``bind`` clause; that of the command line goes before it.
            """

        def cancellation(self, wake: Callable[[int], None]) -> Watch:
            """What cancels the handlers of one application. ``wake`` wakes the blocked thread of that identifier, so that the
            exception which ends its handler is delivered.
            """

        def static_denylist(self, instance: Instance) -> Callable[[str, stat_result], bool]:
            """A function that says whether static mounts must not send a file, given its real path and its status
            (``os.stat_result``).
            """

        def listen(self, block: ServeBlock) -> None:
            """Binds, prints the address and serves in the background. Returns at once.

            Raises ``RuntimeFault`` if the port cannot be bound or TLS cannot be set up, and for a second block if flags give
            the address.
            """

        def shutdown(self) -> None:
            """Ends the service as a signal would."""


class TlsFiles:
    """Paths of the PEM files of a certificate chain and its key. ``host`` is the host name of their ``host`` block, ``None``
    for the default host.
    """

    __slots__ = ("certificate", "host", "key")

    def __init__(self, host: str | None, certificate: str, key: str) -> None:
        self.host = host
        self.certificate = certificate
        self.key = key


class ServeBlock:
    """One evaluated ``serve`` block. ``application`` answers requests (``language.native.server.Application``); ``port`` is
    from ``Hosting.port``; ``bind`` the address of a ``bind`` clause; ``routes`` the number of routes of the default host, with
    mounted ones; ``trust`` addresses and CIDRs of trusted proxies; ``tls_auto`` the contact address for a certificate
    authority, if certificates for ``domains`` are to be obtained automatically.
    """

    __slots__ = ("application", "bind", "domains", "port", "redirect_https", "routes", "tls", "tls_auto", "trust")

    def __init__(
        self,
        application: Any,
        port: int,
        routes: int,
        *,
        bind: str | None = None,
        tls: tuple[TlsFiles, ...] = (),
        tls_auto: str | None = None,
        domains: tuple[str, ...] = (),
        redirect_https: bool = False,
        trust: tuple[str, ...] = (),
    ) -> None:
        self.application = application
        self.port = port
        self.routes = routes
        self.bind = bind
        self.tls = tls
        self.tls_auto = tls_auto
        self.domains = domains
        self.redirect_https = redirect_https
        self.trust = trust
