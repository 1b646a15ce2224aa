"""``lang repl``: reads, evaluates and prints until ``exit`` or the end of input."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from language.cli import envfile
from language.cli.arguments import COMMON, UsageError, clean, parse
from language.cli.compiled_program import build_module
from language.cli.protected_paths import protected_paths
from language.cli.streams import CommandHost, err
from language.console_text import visible
from language.errors import ExitProgram, LanguageError
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from language.cli.repl_session import ReplSession

FILE = "<repl>"
PROMPT = "> "
CONTINUATION = "| "


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
    return _converse(session, _reader(host))


def _converse(session: ReplSession, read: Callable[[str], str | None]) -> int:
    while True:
        try:
            source = _read_input(read)
            if source is None or source.strip() == "exit":
                return 0
            value = session.run(source, FILE)
            if value is not None:
                session.context.write(visible(display(value)))
        except LanguageError as error:
            err(str(error))
        except ExitProgram as ended:
            return ended.code
        except KeyboardInterrupt:
            err("")  # the line that was being written, or the run, is given up; the session goes on


def _read_input(read: Callable[[str], str | None]) -> str | None:
    """One input: a line, or the lines up to where it is complete. ``None`` at the end of input."""
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
        if wanted != "block":  # a block ends at an empty line alone: `otherwise` may follow
            wanted = what_is_missing("\n".join(lines))
    return "\n".join(lines)


def what_is_missing(source: str) -> str | None:
    """What an input lacks to be complete: a ``block``, the end of a ``template``, a closing ``bracket``; ``None`` for nothing.

    ``None`` also for an input that more lines would not mend.
    """
    message = _problem(source)
    if message is None:
        return None
    if message.startswith("Unterminated template"):
        return "template"
    if message.endswith(("EOF", "EOF (None)")):
        return "bracket"
    if "indented block" in message or _problem(source + "\n    nothing") is None:
        return "block"
    return None


def _problem(source: str) -> str | None:
    from language.syntax.parser import parse as parse_program

    try:
        parse_program(source + "\n", FILE)
    except LanguageError as error:
        return error.message
    return None


def _reader(host: CommandHost) -> Callable[[str], str | None]:
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return lambda prompt: _read_plain(host, prompt)
    with suppress(ImportError):  # a Python built without it still reads lines
        import readline  # noqa: F401 (loading it gives input() editing and history)
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    return _read_terminal


def _read_plain(host: CommandHost, prompt: str) -> str | None:
    host.write_prompt(prompt)
    return host.read_line()


def _read_terminal(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        print()
        return None
