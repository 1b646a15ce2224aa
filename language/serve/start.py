"""A ``serve`` block when it runs: its table is checked, its port asked for, its application handed to whoever listens."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.serve.table import ServeTable
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.instance import Instance
    from language.serve.hosting import Hosting, ServeBlock
    from language.serve.socket_surroundings import SocketSurroundings


def serve(instance: Instance, port: Any, rows: tuple[Any, ...]) -> None:
    """Raises ``RuntimeFault`` for everything wrong in the block, and when the port is not granted or cannot be bound."""
    context = instance.context
    number = port_number(port)
    table = ServeTable(rows, instance.file)
    captured = context.services.captured
    if captured is not None:
        captured.serve(instance, number, table)
        return
    hosting = context.services.hosting
    if hosting is not None:
        hosting.listen(_block(instance, hosting, hosting.port(number), table))
    elif context.mode != "test":  # under test a block is read and goes no further
        where = "" if context.host.runs_jobs else " — not available in the wasm profile"
        raise RuntimeFault(f"serve is only available through the engine runtime{where}", located=True)


def _block(instance: Instance, hosting: Hosting, port: int, table: ServeTable) -> ServeBlock:
    from language.serve.application import Application
    from language.serve.hosting import ServeBlock, TlsFiles
    from language.serve.socket_surroundings import SocketSurroundings

    context = instance.context
    context.check("serve", str(port))
    certificates = [TlsFiles(host.name, *host.certificate) for host in table.hosts if host.certificate is not None]
    if table.tls is not None:
        certificates.append(TlsFiles(None, *table.tls))
    if table.has_tls_auto and not table.domains:
        raise RuntimeFault('tls auto needs a domain: add `domain "www.example.com"` to the serve block', located=True)
    around = SocketSurroundings(instance, table, port, hosting, tls=hosting.tls or bool(certificates) or table.has_tls_auto)
    application = Application(
        context,
        table,
        port,
        around=around,
        detailed=not hosting.secure,
        access_log=hosting.access_log,
        prefix="[serve] ",
        local_names=_local_names(table, around) if hosting.local_only(table.bind) else None,
    )
    _check_templates(instance, table)
    return ServeBlock(
        application,
        port,
        len(table.default.declared),
        bind=table.bind,
        tls=tuple(certificates),
        tls_auto=(table.tls_auto or "") if table.has_tls_auto else None,
        domains=tuple(table.domains),
        redirect_https=table.redirect_https,
        trust=tuple(table.trusted or ()),
    )


def _local_names(table: ServeTable, around: SocketSurroundings) -> tuple[str, ...]:
    """The names besides ``localhost`` by which a service for this machine alone may be called: those it declares."""
    names = [*table.domains, *(host.name for host in table.hosts)]
    if around.gates.public_host:
        names.append(around.gates.public_host)
    return tuple(name.lower() for name in names)


def _check_templates(instance: Instance, table: ServeTable) -> None:
    """Every page that a route renders by name is read now: a fault in one stops the start, not a request."""
    paths = [path for host in (table.default, *table.hosts) for route in host.declared for path in route.templates]
    if paths:
        from language.templates import validate

        for path in dict.fromkeys(paths):
            validate(instance.context, path)


def port_number(value: Any) -> int:
    """The port that ``serve on`` names; text that writes a number will do."""
    number = value
    if type(value) is str and value.strip().isascii() and value.strip().isdigit() and len(value.strip()) < 6:
        number = int(value.strip())
    elif type(value) is float and value.is_integer():
        number = int(value)
    if type(number) is not int:
        raise RuntimeFault(f"serve port must be a number, got {display(value)}", located=True)
    if not 0 <= number <= 65535:
        raise RuntimeFault(f"serve port must be a number from 1 to 65535, got {number}", located=True)
    return number
