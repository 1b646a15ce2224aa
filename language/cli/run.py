"""``lang run`` and the bare form: runs one program."""

from __future__ import annotations

import os

from language.cli.arguments import RUN, UsageError, clean, parse
from language.cli.compiled_program import compile_program, make_instance
from language.cli.source import read_source
from language.cli.streams import CommandHost, err
from language.errors import ExitProgram, LanguageError, LimitExceeded, RuntimeFault

#: ``--gates``: ``auto`` asks at the terminal and refuses without one, ``deny`` always refuses, ``queue`` waits for a decision
#: in the queue.
GATES = ("auto", "deny", "queue")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from language.cli.arguments import Arguments
    from language.cli.audit_stream import AuditStream
    from language.cli.linked import Linked
    from language.cli.source import Source
    from language.runtime.instance import Instance


def command(words: Sequence[str]) -> int:
    arguments = parse("run", words, RUN)
    if not arguments.paths:
        raise UsageError("run", "no program given")
    return run_program(arguments)


def run_program(arguments: Arguments) -> int:
    """Runs the first path as a program with the other words as its arguments, and returns the exit code."""
    if "--host-link" in arguments.values:
        from language.cli.linked import Linked

        linked = Linked(arguments, "run")
        return linked.around(lambda: _run(arguments, linked.stream, linked))
    stream = open_stream(arguments)
    return _run(arguments, None) if stream is None else stream.around(lambda: _run(arguments, stream))


def open_stream(arguments: Arguments) -> AuditStream | None:
    """The audit stream that the flags or the environment name, if any. Without one, its module is not imported."""
    values, environ = arguments.values, os.environ
    if "--audit" in values or "--audit-chain" in values or "PLATFORM_AUDIT" in environ or "PLATFORM_AUDIT_FILE" in environ:
        from language.cli.audit_stream import opened

        return opened(arguments)
    return None


def _provider(named: str) -> str:
    """The provider that ``--provider`` names. Errors: ``UsageError``."""
    from language.models.model_names import ALSO, PROVIDERS

    known = (*PROVIDERS, *ALSO, "mock")
    if named.lower() not in known:
        raise UsageError("run", f"--provider must be one of {', '.join(known)}, not '{clean(named)}'", usage=False)
    return named.lower()


def _run(arguments: Arguments, stream: AuditStream | None, linked: Linked | None = None) -> int:
    ceiling = arguments.ceiling()
    as_json = arguments.choice("--format", ("human", "json")) == "json"
    gates = arguments.choice("--gates", GATES)
    path, *words = arguments.paths
    name = arguments.values.get("--filename")
    if name is not None and path != "-":
        raise UsageError("run", "--filename names a program from standard input ('-')", usage=False)
    source = read_source(path, arguments.command)
    if name is not None:
        source.name = clean(name)
    lesson = None
    if "--learn" in arguments.values:
        from language.cli import learn

        lesson = learn.begin(arguments, source, stream)
        if lesson is None:
            return 1
    elif "--write" in arguments.values or "--yes" in arguments.values:
        raise UsageError("run", "--write and --yes belong to --learn")
    if linked is None:
        host = CommandHost(env_file(arguments), stdin_taken=source.from_stdin)
    else:
        host = linked.host(source.from_stdin)
    host.package = arguments.package()
    if "--provider" in arguments.values:
        host.provider = _provider(arguments.values["--provider"])
    given = tuple([clean(word) for word in words + arguments.rest])
    if as_json:
        if "--trace" in arguments.values:
            raise UsageError("run", "--trace and --format json are mutually exclusive; choose one", usage=False)
        from language.cli.json_report import run_reported

        return run_reported(source, host, ceiling, given, arguments, stream)
    explained: list[dict[str, object]] = []
    try:
        code = compile_program(source, arguments.command)
        instance = make_instance(
            code, source, host, mode="run", ceiling=ceiling, arguments=given, flags=arguments, stream=lesson or stream
        )
        if lesson is not None:
            instance.context.capabilities.learner = lesson.grants
        if linked is None:
            choose_gates(instance, host, gates)
        else:
            instance.context.gates = linked.gates(host, os.path.basename(instance.context.program))
            linked.end_run_on_stop()
            linked.ready()
        if "--explain" in arguments.values:
            from language.cli.json_report import explain_to

            explain_to(explained, instance, source)
        announce_unset_secrets(instance, source)
        if "--trace" in arguments.values:
            from language.cli.run_trace import run_traced

            run_traced(instance, arguments)
        else:
            instance.run()
    except LanguageError as error:
        if explained:
            from language.runtime.explain import report

            err(report(explained[0]))
        else:
            from language.cli.error_display import show_error
            from language.cli.second_look import look_again

            for failure in (error, *error.others):
                if linked is None and isinstance(failure, RuntimeFault):
                    look_again(failure, source)
                show_error(failure, source)
        return 1
    except LimitExceeded as limit:
        from language.cli.error_display import show_error

        show_error(limit, source, first=f"Runtime error: {limit}")
        return 1
    except ExitProgram as ended:
        return ended.code
    finally:
        if lesson is not None:
            learn.end(lesson, arguments)
    return 0


def announce_unset_secrets(instance: Instance, source: Source) -> None:
    """Prints a warning, before the program begins, for each secret that it declares and that has no value."""

    def named(scopes: Iterable[tuple[str, str | None]]) -> None:
        find = instance.context.host.secret_value
        unset = [
            scope for _, scope in scopes if scope is not None and not ("*" in scope or "?" in scope) and find(scope) is None
        ]
        if unset:
            from language.cli.unset_secrets import warn_of

            warn_of(unset, source, deployed=instance.context.host.deployed)

    instance.secrets_named = named


def choose_gates(instance: Instance, host: CommandHost, how: str) -> None:
    """Chooses who answers the human gates of a run: a runner, the terminal, the queue, or nobody."""
    if how != "deny" and os.environ.get("PLATFORM_CONTROL_ADDR"):
        from language.cli.control_listener import queue_gates

        queue_gates(instance.context, host)
    elif how == "queue":
        from language.gates.queue import GateQueue, configured_seconds

        name = os.path.basename(instance.context.program)
        instance.context.gates = GateQueue(host, os.environ, seconds=configured_seconds(host), program=name)
    elif how == "auto" and host.is_terminal():
        from language.cli.terminal import Terminal
        from language.gates import Gates, TerminalGates

        if Terminal.is_there():
            instance.context.gates = TerminalGates(host, Terminal(lambda: host.terminal).ask)
        else:
            instance.context.gates = Gates(host, "standard error is not a terminal, so nobody would see a question")


def env_file(arguments: Arguments) -> dict[str, str] | None:
    """The variables of the ``.env`` file, if there is one. Without it, its module is not imported."""
    values = arguments.values
    if "--env-file" in values or "--no-env-file" in values or "PLATFORM_ENV_FILE" in os.environ or os.path.lexists(".env"):
        from language.cli.envfile import chosen

        return chosen(arguments)
    return None
