"""``lang repl``: reads, evaluates and prints until ``exit`` or the end of input."""

from __future__ import annotations

import os
import sys

from language.cli import envfile
from language.cli.arguments import COMMON, UsageError, clean, parse
from language.cli.compiled_program import build_module
from language.cli.protected_paths import protected_paths
from language.cli.streams import CommandHost, err, out
from language.console_text import visible
from language.errors import ExitProgram, LanguageError, ParseError
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from language.cli.repl_session import ReplSession

FILE = "<repl>"
PROMPT = "> "
CONTINUATION = "| "
HELP = """\
Type a statement or an expression: the value of an expression is printed. A block ends at an empty line.
  help NAME   what a builtin, a keyword or a family of builtins means: help when, help split, help text
  exit        ends the session, as the end of input does
At a terminal, Tab completes names and fields of maps, and the arrow keys recall lines of this and former sessions."""


def command(words: Sequence[str]) -> int:
    arguments = parse("repl", words, COMMON)
    if arguments.paths or arguments.rest:
        raise UsageError("repl", f"takes no file, got '{clean((arguments.paths + arguments.rest)[0])}'")
    ceiling = arguments.ceiling()
    host = CommandHost(envfile.chosen(arguments))
    from language.cli.repl_session import ReplSession
    from language.runtime.modules import Sources

    session = ReplSession(host, ceiling=ceiling, sources=Sources(os.getcwd()), build=build_module)
    session.context.capabilities.protected_path = protected_paths(arguments, os.getcwd(), None)
    read, keep = _reader(host, session)
    try:
        return _converse(session, read)
    finally:
        keep()


def _converse(session: ReplSession, read: Callable[[str], str | None]) -> int:
    while True:
        try:
            source = _read_input(read)
            if source is None or source.strip() == "exit":
                return 0
            if _asks_for_help(source, session):
                _help(source.split()[1:])
                continue
            value = session.run(source, FILE)
            if value is not None:
                session.context.write(visible(display(value)))
        except LanguageError as error:
            err(str(error))
        except ExitProgram as ended:
            return ended.code
        except KeyboardInterrupt:
            err("")  # ends the unfinished line or the run; the session continues


def _read_input(read: Callable[[str], str | None]) -> str | None:
    """One input: a line, and further ones until it is complete. ``None`` at the end of input."""
    line = read(PROMPT)
    if line is None:
        return None
    lines = [line]
    wanted = what_is_missing(line)
    while wanted is not None:
        line = read(CONTINUATION)
        if line is None or (not line.strip() and wanted != "template"):
            break
        lines.append(line)
        if wanted != "block":  # only an empty line ends a block, because `otherwise` may follow
            wanted = what_is_missing("\n".join(lines))
    return "\n".join(lines)


def what_is_missing(source: str) -> str | None:
    """What an input lacks to be complete: ``block``, ``template`` (its end) or ``bracket`` (a closing one); ``None`` if it is
    complete.

    ``None`` also for an input whose error further lines cannot correct.
    """
    problem = _problem(source)
    if problem is None:
        return None
    if problem.message.startswith("Unterminated template"):
        return "template"
    if isinstance(problem, ParseError) and problem.incomplete:
        return "bracket"
    if problem.code == "E0109" or _problem(source + "\n    nothing") is None:
        return "block"
    return None


def _problem(source: str) -> LanguageError | None:
    from language.syntax.parser import parse as parse_program

    try:
        parse_program(source + "\n", FILE)
    except LanguageError as error:
        return error
    return None


def _asks_for_help(source: str, session: ReplSession) -> bool:
    """Whether an input is `help`, perhaps with names. False if the session has a variable called `help`."""
    words = source.split()
    plain = all(word.isidentifier() or word.removesuffix("()").isidentifier() for word in words)
    return words[:1] == ["help"] and plain and "help" not in session.values()


def _help(names: list[str]) -> None:
    if not names:
        out(HELP)
        return
    from language.cli import docs

    docs.command(["--", *names])


def _reader(host: CommandHost, session: ReplSession) -> tuple[Callable[[str], str | None], Callable[[], None]]:
    """A function that reads a line after a prompt, and one to call at the end."""
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return lambda prompt: _read_plain(host, prompt), lambda: None
    from language import library
    from language.cli.repl_terminal import begin

    keep = begin(session.values, library().all_builtins())
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    return _read_terminal, keep


def _read_plain(host: CommandHost, prompt: str) -> str | None:
    host.write_prompt(prompt)
    return host.read_line()


def _read_terminal(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        print()
        return None
