"""The Python side of the wasip1 build: the bare form of the command, with the files, streams and variables that WASI
provides.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from language.cli import envfile
from language.cli.arguments import BARE, Arguments, UsageError, clean, parse, stands_alone
from language.cli.error_display import show_error
from language.cli.protected_paths import touching
from language.cli.source import Source, not_utf8, read_source
from language.cli.streams import CommandHost, OutputLost, err, out, say, say_line
from language.cli.test_details import details
from language.compiler.compilation import compile_source
from language.errors import ExitProgram, InternalError, LanguageError, LimitExceeded
from language.host import Host
from language.program import outcome_line
from language.release import __version__
from language.runtime.context import Context
from language.runtime.instance import Instance, Outcome
from language.syntax.lexer import decode_source
from wasm_abi.guest.warming import warm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.host.memory import MemoryStore

OK, FAILED, USAGE, INTERNAL = 0, 1, 2, 70

LINE = "usage: lang-wasip1.wasm [--test] [--sandbox | --cap-set LIST] [--version] FILE|- [args...]"
HELP = """\
Runs a program; '-' reads it from standard input. The words after FILE are the program's arguments, which args() returns.

  --test                 run the test blocks of the program
  --sandbox              ceiling: the program may print and read the clock, nothing else
  --cap-set LIST         ceiling: the capabilities a program may use at most, as NAME or NAME=SCOPE, separated by commas;
                         'none' allows nothing
  --env-file PATH        read environment variables from the file PATH instead of ./.env
  --no-env-file          read no .env file
  --version              show the version
  --                     all words after it are arguments of the program

The program reaches only the files of the folders that the runtime opens for this module: wasmtime run --dir ."""


class WasiHost(CommandHost):
    """The host that WASI provides: streams, files, variables, clock, randomness. It has no sockets, no stores, and no person to
    ask.
    """

    def memory(self, name: str, program: str) -> MemoryStore:
        return Host.memory(self, name, program)

    @property
    def http(self) -> None:  # type: ignore[override]
        return None

    @property
    def takes_hooks(self) -> bool:
        return False

    def is_terminal(self) -> bool:
        return False


def prepare() -> None:
    """Runs once, before the snapshot."""
    warm()


def answer(words: Sequence[str], variables: Sequence[bytes]) -> int:
    """Runs one command line and returns its exit code."""
    # The environment in the snapshot is that of the machine that made it.
    environment = {}
    for entry in variables:
        name, _, value = entry.partition(b"=")
        environment[os.fsdecode(name)] = os.fsdecode(value)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["lang", *words]
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
    try:
        return _command(words)
    except UsageError as error:
        err(f"lang: {error.message}")
        if error.usage:
            err(LINE)
        return USAGE
    except OutputLost as error:
        err(f"lang: cannot write to standard output: {error.reason}")
        return FAILED
    except (Exception, InternalError) as error:
        cause = error.__cause__ or error
        err(f"lang: internal error: {type(cause).__name__}: {cause}")
        return INTERNAL


def _command(words: Sequence[str]) -> int:
    before = words[: words.index("--")] if "--" in words else words
    for word in before:
        if word in ("--version", "--help", "-h"):
            stands_alone(word, [other for other in words if other != word])
            out(f"lang {__version__}" if word == "--version" else f"{LINE}\n\n{HELP}")
            return OK
    arguments = parse("", words, BARE)
    arguments.ceiling()  # an invalid one is reported before anything is read
    if not arguments.paths:
        raise UsageError("", "no program given")
    source = read_source(arguments.paths[0], "")
    host = WasiHost(envfile.chosen(arguments), stdin_taken=source.from_stdin)
    return _test(arguments, source, host) if arguments.given("--test") else _run(arguments, source, host)


def _run(arguments: Arguments, source: Source, host: WasiHost) -> int:
    try:
        _instance(arguments, source, host, "run").run()
    except LanguageError as error:
        show_error(error, source)
        return FAILED
    except LimitExceeded as limit:
        show_error(limit, source, first=f"Runtime error: {limit}")
        return FAILED
    except ExitProgram as ended:
        return ended.code
    return OK


def _test(arguments: Arguments, source: Source, host: WasiHost) -> int:
    outcomes: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        say(outcome_line(outcome))
        if outcome.error is not None:
            for line in details(outcome.error, outcome.seconds, source, ran=outcome.name != "<parse>"):
                say_line(f"  {line}")

    try:
        instance = _instance(arguments, source, host, "test")
    except LanguageError as error:
        report(Outcome("<parse>", False, str(error), 0.0, [], error))
    else:
        instance.test(report)
    failed = sum(1 for outcome in outcomes if not outcome.passed)
    out(f"{len(outcomes) - failed} passed, {failed} failed ({len(outcomes)} total)")
    return FAILED if failed else OK


def _instance(arguments: Arguments, source: Source, host: WasiHost, mode: str) -> Instance:
    """One run of the program; its modules are read from the folder of its file. Raises ``LanguageError`` for an invalid
    source.
    """
    try:
        text = decode_source(source.data)
    except UnicodeDecodeError:
        raise not_utf8(source.name, "") from None
    code = compile_source(text, source.name, test=mode == "test").named(source.name)
    context = Context(
        host,
        mode=mode,
        ceiling=arguments.ceiling(),
        arguments=tuple(clean(word) for word in arguments.paths[1:] + arguments.rest),
        collect=mode == "test",
        recorded=False,
    )
    variables = envfile.chosen_path(arguments)
    if variables is not None:
        context.capabilities.protected_path = touching([variables])
    return Instance(code, host, root=source.root, context=context)
