"""The surroundings of a program behind a server: static mounts, gates, limits, discovery documents."""

from __future__ import annotations

import os

from language.errors import RuntimeFault
from language.host import wake_sleeper
from language.serve import approvals, discovery, page_style
from language.serve.bodies import DEFAULT_MAX_BODY, parse_size
from language.serve.compression import compress
from language.serve.negotiation import split_suffix, wants_page
from language.serve.proxy_target import check_target
from language.serve.rate_limit import Limiter
from language.serve.reply import Reply
from language.serve.static_files import StaticMount, StaticMounts, resolve_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.runtime.instance import Instance
    from language.serve.hosting import Hosting
    from language.serve.request import Request
    from language.serve.routes import Route
    from language.serve.table import HostTable, ServeTable


class SocketSurroundings:
    """The ``Surroundings`` of one application behind a server. ``hosting`` gives access to the server.

    Raises ``RuntimeFault`` for a mount or a proxy target that is not valid.
    """

    sockets = True

    def __init__(self, instance: Instance, table: ServeTable, port: int, hosting: Hosting, *, tls: bool = False) -> None:
        services = instance.context.services
        assert services.store is not None and services.gates is not None, "a served program has both"
        store = services.store
        self.gates = services.gates
        self.watch = hosting.cancellation(self._wake)
        self.tls = tls
        self._health = services.health
        self._table = table
        self._hosts = table.hosts
        self.max_body = _max_body(table)
        denied = hosting.static_denylist(instance)
        self._statics = {host: _mounts(instance, table, host, denied) for host in (table.default, *table.hosts) if host.statics}
        self._services = {
            host: discovery.service_of(instance.context.intent, table, host, instance.context.capabilities.grants)
            for host in (table.default, *table.hosts)
        }
        self._limiter = None if table.rate is None else Limiter(store, *table.rate, f"{port}")
        for host in (table.default, *table.hosts):
            for route in host.declared:
                if route.rate:
                    route.limiter = Limiter(store, *route.rate, f"{port} {host.name} {route.spec}")
                if route.kind == "proxy":
                    assert route.target is not None
                    check_target(instance.context, route.target)

    def _wake(self, ident: int) -> None:
        """Wakes a blocked thread, so that a pending asynchronous exception is delivered in it."""
        self.gates.wake(ident)
        wake_sleeper(ident)

    def host(self, request: Request) -> HostTable:
        """The table of the host that the request names."""
        if not self._hosts:
            return self._table.default
        name = request.host
        for wildcard in (False, True):
            for host in self._hosts:
                if host.name.startswith("*.") == wildcard and host.serves(name):
                    return host
        return self._table.default

    def close_gates(self) -> None:
        self.gates.close()

    def is_reserved(self, request: Request) -> bool:
        return approvals.is_reserved(request.method, request.path)

    def early(self, request: Request) -> Reply | None:
        """The reply of gates or the health check, which come before the routes of the program; else ``None``."""
        if self.is_reserved(request):
            return approvals.answer(self.gates, request)
        if self._health is not None and request.path == self._health and request.method in ("GET", "HEAD"):
            return Reply(200, "application/json", b'{"status": "ok"}', [("Cache-Control", "no-store")])
        style = page_style.style_reply(request)
        return None if style is None else self.compressed(style, request)

    def limiter(self, route: Route) -> Limiter | None:
        """The rate limiter of a route; ``None`` without a limit."""
        if route.rate is None:
            return self._limiter
        return route.limiter  # type: ignore[no-any-return]

    def static(self, host: HostTable, request: Request) -> Reply | None:
        mounts = self._statics.get(host)
        return None if mounts is None else mounts.find(request, lambda path: _is_declared(host, path))

    def has_static(self, host: HostTable, request: Request) -> bool:
        mounts = self._statics.get(host)
        return mounts is not None and mounts.holds(request.path)

    def fallback(self, host: HostTable, request: Request) -> Reply | None:
        mounts = self._statics.get(host)
        return None if mounts is None else mounts.fallback(request)

    def stylesheet(self, request: Request) -> str:
        return page_style.style_url(request)

    def errors(self, reply: Reply, request: Request) -> Reply:
        """The error as a page for a browser that asks for one, else as JSON."""
        reply.headers.append(("Vary", "Accept"))
        if not wants_page(request.field("accept")):
            return reply
        from language.serve.error_pages import as_page

        host = self.host(request)
        service = self._services[host]
        # A route of the program replaces the reference page, but not the short document for agents.
        return as_page(reply, request, service, "llms.txt" if host.table.methods("/docs") or not service.docs else "docs")

    def llms_txt(self, host: HostTable) -> Reply | None:
        return discovery.llms_reply(self._services[host])

    def discovery(self, host: HostTable, request: Request) -> Reply | None:
        return discovery.find(self._services[host], request)

    def compressed(self, reply: Reply, request: Request) -> Reply:
        return compress(reply, request.field("accept-encoding")) or reply


def _is_declared(host: HostTable, path: str) -> bool:
    """Whether a route answers the path, also with the suffix of a form (``/about.md``)."""
    return bool(host.table.methods(path)) or host.table.find("GET", split_suffix(path)[0]) is not None


def _max_body(table: ServeTable) -> int | None:
    return parse_size(table.max_body) if table.has_max_body else DEFAULT_MAX_BODY


def _mounts(
    instance: Instance, table: ServeTable, host: HostTable, denied: Callable[[str, os.stat_result], bool]
) -> StaticMounts:
    entry = os.path.dirname(os.path.abspath(instance.file)) if os.path.exists(instance.file) else None
    mounts: list[StaticMount] = []
    for clause in host.statics:
        directory = resolve_directory(clause.folder, entry, os.getcwd())
        with table.fault_at(clause.at):
            try:
                mount = StaticMount(clause.prefix, directory, clause.cache, clause.fallback, written=clause.folder)
                mounts.append(mount)
                found = StaticMounts(mounts, denied=denied)
            except ValueError as error:
                raise RuntimeFault(str(error), kind="file") from None
        if mount.is_missing:
            instance.context.warn(f"static: there is no folder '{clause.folder}' yet")
    return found
