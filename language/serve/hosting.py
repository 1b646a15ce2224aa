"""Where a ``serve`` block hands its application over: who listens for it, and what the command line said beforehand.

Made by ``lang serve`` and found by the block as ``context.services.hosting``; without it a block cannot be served.
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
        """What the command line decided, and what listens."""

        #: error bodies say nothing of the cause (all but ``--watch``, ``PLATFORM_DEV=1``)
        secure: bool
        #: every request is a line on the error stream (``--access-log``)
        access_log: bool
        #: it listens with a certificate, whatever the block says (``--tls-cert``)
        tls: bool

        def port(self, declared: int) -> int:
            """The port to ask the capability for and to give to :meth:`listen`: that of ``--port``, else the declared one."""

        def local_only(self, declared: str | None) -> bool:
            """Whether nobody said where to listen, so that the service is for this machine alone.

            ``declared`` is the address of the block's ``bind`` clause.
            """

        def cancellation(self, wake: Callable[[int], None]) -> Watch:
            """Who ends the handlers of one application. ``wake`` wakes the blocked thread of that identifier, so that the
            exception which ends its handler is delivered.
            """

        def static_denylist(self, instance: Instance) -> Callable[[str, stat_result], bool]:
            """Asked with the real path of a file and what it is: whether no static mount of the program hands it out."""

        def listen(self, block: ServeBlock) -> None:
            """Binds, announces and serves in the background; returns at once.

            Raises ``RuntimeFault`` where the port cannot be had, where TLS cannot be set up, and for a second block when flags
            say where to listen.
            """

        def shutdown(self) -> None:
            """Ends the service as a signal would."""


class TlsFiles:
    """A certificate chain and its key, paths of PEM files; ``host`` is the host name of the block it stands in, ``None`` for
    the default one.
    """

    __slots__ = ("certificate", "host", "key")

    def __init__(self, host: str | None, certificate: str, key: str) -> None:
        self.host = host
        self.certificate = certificate
        self.key = key


class ServeBlock:
    """One evaluated ``serve`` block. ``application`` answers requests (``language.native.server.Application``); ``port`` is
    from ``Hosting.port``; ``bind`` the address of a ``bind`` clause; ``routes`` the count of the default host, mounted ones
    included; ``trust`` addresses and CIDRs of proxies; ``tls_auto`` the address for the certificate authority where
    certificates are to be had by themselves, for ``domains``.
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
