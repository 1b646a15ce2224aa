"""``lang serve``: runs one program until its service ends."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from language.capabilities import IMPLICIT_SERVED, Ceiling
from language.cli.arguments import SERVE, UsageError, clean, parse
from language.cli.command_hosting import CommandHosting, Stopped
from language.cli.compiled_program import compile_program, make_instance
from language.cli.error_detail import with_detail
from language.cli.run import announce_unset_secrets, env_file, open_stream
from language.cli.source import read_source
from language.cli.streams import CommandHost, out, warn
from language.errors import ExitProgram, LanguageError, LimitExceeded, Uncatchable
from language.lifeline import follow_parent
from language.native.server import Certificate, from_environment
from language.settings import read_setting, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.cli.arguments import Arguments
    from language.cli.audit_stream import AuditStream
    from language.cli.linked import Linked
    from language.gates.queue import GateQueue
    from language.runtime.context import Context
    from language.runtime.jobs import Scheduler
    from language.shared.store import SharedStore

_MOST_PROCESSES = 256
#: The exit code of a service under a runner that was ended by a signal without a stop message of the runner.
TERMINATED = 143


def command(words: Sequence[str]) -> int:
    follow_parent()
    arguments = parse("serve", words, SERVE)
    if not arguments.paths:
        raise UsageError("serve", "no program given")
    if len(arguments.paths) > 1:
        raise UsageError("serve", f"one program only, got '{clean(arguments.paths[1])}' too")
    if "--watch" in arguments.values:
        from language.cli.serve_watch import watch

        return watch(arguments, words)
    if "--host-link" in arguments.values:
        from language.cli.linked import Linked

        linked = Linked(arguments, "serve")
        return linked.around(lambda: _serve(arguments, linked.stream, linked))
    stream = open_stream(arguments)
    return _serve(arguments, None) if stream is None else stream.around(lambda: _serve(arguments, stream))


def _unraisable(event: sys.UnraisableHookArgs) -> None:
    """Ignores an ``Uncatchable`` raised where nothing can catch it, for example in a finalizer. It will be raised again in the
    thread.
    """
    if not isinstance(event.exc_value, Uncatchable):
        sys.__unraisablehook__(event)


def _serve(arguments: Arguments, stream: AuditStream | None, linked: Linked | None = None) -> int:
    sys.unraisablehook = _unraisable
    ceiling = _ceiling(arguments)
    port = _number(arguments, "--port", 65535)
    processes = 1 if linked is not None else _number(arguments, "--workers", _MOST_PROCESSES) or _processes()
    settings = from_environment(os.environ, warn)
    source = read_source(arguments.paths[0], "serve")
    if linked is None:
        host = CommandHost(env_file(arguments), stdin_taken=source.from_stdin)
    else:
        host = linked.host(source.from_stdin)
    host.package = arguments.package()
    store_file: str | None = None
    try:
        code = compile_program(source, "serve")
        given = tuple(clean(word) for word in arguments.rest)
        instance = make_instance(
            code,
            source,
            host,
            mode="serve",
            ceiling=ceiling,
            arguments=given,
            flags=arguments,
            stream=stream,
            implicit=() if "--secure" in arguments.values else IMPLICIT_SERVED,
        )
        context = instance.context
        if port is not None:
            context.capabilities.require("serve", str(port))
        store, store_file = _store(context, processes)
        gates = _gates(context, store) if linked is None else linked.gates(host, os.path.basename(context.program), store.gates)
        _offer(context, gates, arguments.values.get("--health") or settings.health)
        hosting = CommandHosting(
            settings,
            port=port,
            address=arguments.values.get("--bind"),
            certificate=_certificate(arguments),
            trust=_trusted(arguments) if linked is None else linked.trust,
            secure="--secure" in arguments.values or not with_detail(),
            access_log="--access-log" in arguments.values,
            processes=processes,
            begin_jobs=lambda: _scheduler(context).start(),
            begin_worker=lambda: _begin_worker(host),
            reachable=lambda url: setattr(gates, "local_url", url),
            handed=None if linked is None else linked.listening,
        )
        context.services.hosting = hosting
        if linked is None:
            hosting.on_hang_up(lambda: host.replace_env_file(env_file(arguments)))
        else:
            linked.obey(hosting.end_within, hosting.drain)
        announce_unset_secrets(instance, source)
        try:
            instance.run()
            hosting.top_level_has_ended()
        except Stopped:
            pass  # the signal is remembered: the listeners that exist by now shut down gracefully
        except BaseException:
            hosting.abandon()
            raise
        if linked is not None:
            linked.ready()
        _stay(hosting, context)
        context.lifetime.end()
        shielded = sys.modules.get("language.native.shielded")
        if shielded is not None:  # the processes of cancelled handlers
            shielded.leave_all()
        if linked is not None and hosting.ended_from_outside:
            return TERMINATED
    except LanguageError as error:
        from language.cli.error_display import show_error

        if error.code == "E0703" and not error.help:
            other = f"lang serve {source.name} --port {_other_port(port)}"
            error.help = f"stop the program that listens on this port, or serve on another one: `{other}`"
        show_error(error, source)
        return 1
    except LimitExceeded as limit:
        from language.cli.error_display import show_error

        show_error(limit, source, first=f"Runtime error: {limit}")
        return 1
    except ExitProgram as ended:
        return ended.code
    finally:
        if store_file is not None:
            from language.native.shared_sqlite import remove

            remove(store_file)
    return 0


def _other_port(port: int | None) -> int:
    """A port to suggest instead of one that is in use."""
    return 8081 if port is None or port >= 65535 else port + 1


def _stay(hosting: CommandHosting, context: Context) -> None:
    """Returns when nothing listens any more and there are no scheduled jobs."""
    if hosting.serves:
        hosting.wait()
        _scheduler(context).stop()
        return
    jobs = _scheduler(context).jobs
    if jobs:
        _scheduler(context).start()
        out(f"Serving {len(jobs)} cron job(s). Press Ctrl+C to stop.")
        hosting.wait_for_jobs()
        _scheduler(context).stop()
    else:
        name = context.program
        warn(f"{name} has neither a `serve` block nor scheduled jobs: it ran to its end, as with `lang run {name}`")


def _store(context: Context, processes: int) -> tuple[SharedStore, str | None]:
    """The store that all handlers share, and the file to remove at the end, if any.

    One process keeps it in memory; several use Redis (``PLATFORM_STATE_URL``) or a temporary file.
    """
    from language.shared.store import attach

    store: SharedStore
    file: str | None = None
    if processes == 1:
        from language.shared.memory_store import InMemorySharedStore

        store = InMemorySharedStore(context.host)
    elif os.environ.get("PLATFORM_STATE_URL"):
        from language.native.shared_redis import create as at

        store = at(os.environ["PLATFORM_STATE_URL"])
    else:
        from language.cli.protected_paths import hide
        from language.native.shared_sqlite import SqliteStore, create

        file = create()
        hide(context, os.path.dirname(file))  # a program that can write there could decide its own gates
        store = SqliteStore(file)
    attach(context, store)
    return store, file


def _gates(context: Context, store: SharedStore) -> GateQueue:
    from language.gates.queue import GateQueue, configured_seconds

    host = context.host
    name = os.path.basename(context.program)
    return GateQueue(host, os.environ, seconds=configured_seconds(host), board=store.gates, program=name)


def _offer(context: Context, gates: GateQueue, health: str | None) -> None:
    context.gates = gates
    context.services.gates = gates
    context.services.health = health


def _begin_worker(host: CommandHost) -> None:
    if host.databases is not None:
        host.databases.begin_anew()


def _scheduler(context: Context) -> Scheduler:
    from stdlib.scheduler import scheduler_of

    return scheduler_of(context)


# ---- flags -------------------------------------------------------------------------------------------------------------


def _ceiling(arguments: Arguments) -> Ceiling | None:
    if "--sandbox" in arguments.values and "--cap-set" not in arguments.values:
        return Ceiling.parse("stdout,time,serve")
    return arguments.ceiling()


def _number(arguments: Arguments, flag: str, most: int) -> int | None:
    text = arguments.values.get(flag)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most):
        raise UsageError("serve", f"{flag} must be a number from 1 to {most}, got '{clean(text)}'")
    return int(text)


def _processes() -> int:
    name, wanted = "PLATFORM_SERVE_PROCESSES", f"a number from 1 to {_MOST_PROCESSES}"
    return read_setting(name, os.environ.get(name), whole_number(1, _MOST_PROCESSES), wanted, 1, warn)


def _certificate(arguments: Arguments) -> Certificate | None:
    chain, key = arguments.values.get("--tls-cert"), arguments.values.get("--tls-key")
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise UsageError("serve", "--tls-cert and --tls-key come together: give both")
    return Certificate(None, chain, key)


def _trusted(arguments: Arguments) -> tuple[str, ...]:
    from language.native.server.addresses import networks, split_list

    listed = tuple(split_list(arguments.values.get("--trust-proxy", "")))
    try:
        networks(listed)
    except ValueError as error:
        raise UsageError("serve", f"--trust-proxy: {error}") from None
    return listed
