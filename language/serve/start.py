"""Runs a ``serve`` block: checks its table and the capability for its port, and starts the server."""

from __future__ import annotations

from language.capabilities import Capability
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
    """Serves the block. Raises ``RuntimeFault`` for errors in it, and if the port is not granted or cannot be bound."""
    context = instance.context
    number = port_number(port)
    table = ServeTable(rows, instance.file)
    captured = context.services.captured
    if captured is not None:
        captured.serve(instance, number, table)
        return
    hosting = context.services.hosting
    if hosting is not None:
        _check_agents(instance)
        hosting.listen(_block(instance, hosting, hosting.port(number), table))
    elif context.mode != "test":  # in `lang test` a block is checked and not served
        if not context.host.runs_jobs:
            where = " — not available in the wasm profile"
        else:
            where = f": start this program with `lang serve {instance.file}`" if context.mode == "run" else ""
        fault = RuntimeFault(f"`serve` works only under `lang serve`{where}", code="E0701")
        needed, ceiling = Capability("serve", str(number)), context.capabilities.ceiling
        declared = context.capabilities.covers("serve", str(number)) or (ceiling is not None and not ceiling.covers(needed))
        if context.host.runs_jobs and context.mode == "run" and not declared:
            fault.help = f"`lang serve` needs one line more: add `require serve({number})` at the top of the program"
        raise fault


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
        raise RuntimeFault('tls auto needs a domain: add `domain "www.example.com"` to the serve block', code="E0702")
    around = SocketSurroundings(instance, table, port, hosting, tls=hosting.tls or bool(certificates) or table.has_tls_auto)
    application = Application(
        context,
        table,
        port,
        around=around,
        detailed=not hosting.secure,
        access_log=hosting.access_log,
        prefix="[serve] ",
        local_names=_local_names(table, around, hosting) if hosting.local_only(table.bind) else None,
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


#: The methods that statements of agents call. A program with such statements has these names in its code.
_OF_AGENTS = frozenset(("agent", "spawn", "share", "observe", "signal", "wait_for"))


def _check_agents(instance: Instance) -> None:
    """Raises ``RuntimeFault`` if several processes would serve a program with statements of agents."""
    store = instance.context.services.store
    if store is None or not store.gates.shared:
        return
    from language.code import loaded_codes

    pending = [code.python for code in loaded_codes()]
    while pending:
        code = pending.pop()
        if not _OF_AGENTS.isdisjoint(code.co_names):
            from language.agents.registry import SeveralProcesses

            raise SeveralProcesses
        pending += [constant for constant in code.co_consts if isinstance(constant, type(code))]


def _local_names(table: ServeTable, around: SocketSurroundings, hosting: Hosting) -> tuple[str, ...]:
    """The host names besides ``localhost`` that a service for this machine alone accepts: those that it or its operator
    declares.
    """
    names = [*table.domains, *(host.name for host in table.hosts), *hosting.names]
    if around.gates.public_host:
        names.append(around.gates.public_host)
    return tuple(name.lower() for name in names)


def _check_templates(instance: Instance, table: ServeTable) -> None:
    """Reads every template that a route renders by name, so that an error in one stops the start and not a request."""
    paths = [path for host in (table.default, *table.hosts) for route in host.declared for path in route.templates]
    if paths:
        from language.templates import validate

        for path in dict.fromkeys(paths):
            validate(instance.context, path)


def port_number(value: Any) -> int:
    """The port that ``serve on`` names: a number, or a text with one."""
    number = value
    if type(value) is str and value.strip().isascii() and value.strip().isdigit() and len(value.strip()) < 6:
        number = int(value.strip())
    elif type(value) is float and value.is_integer():
        number = int(value)
    if type(number) is not int:
        raise RuntimeFault(f"serve port must be a number, got {display(value)}", code="E0702")
    if not 0 <= number <= 65535:
        raise RuntimeFault(f"serve port must be a number from 1 to 65535, got {number}", code="E0702")
    return number
