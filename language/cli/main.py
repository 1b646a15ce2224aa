"""The entry point of ``lang``: chooses the command by the first word, and defines every exit code.

Every start loads this module, so it imports at the top only what every command needs.
"""

from __future__ import annotations

import gc
import os
import sys

from language.cli.arguments import UsageError, clean, stands_alone
from language.cli.streams import OutputLost, err, keep_standard_descriptors_open, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.errors import InternalError

OK = 0
FAILED = 1
USAGE = 2
INTERNAL = 70
INTERRUPTED = 130
OUTPUT_CLOSED = 141

#: Command → its module in this package; each has ``command(words) -> int``.
COMMANDS = {
    "run": "run",
    "serve": "serve",
    "test": "test",
    "check": "check",
    "repl": "repl",
    "fmt": "fmt",
    "docs": "docs",
    "caps": "caps",
    "audit": "audit",
    "lsp": "lsp",
    "mcp": "mcp",
    "memory": "memory",
    "llm": "llm",
    "conform": "conform",
}

#: Commands that talk to a platform; their modules are in ``platform_api.commands``.
REMOTE = {
    "login", "logout", "whoami", "new", "deploy", "projects", "status", "logs", "approvals", "env", "secrets", "schedule",
    "stop", "delete",
}  # fmt: skip

#: Commands of the specification that this version does not implement.
ABSENT = {"tokens", "ast", "init", "openapi", "build", "daemon", "code", "update"}

#: Flags that ask for help or the version anywhere in a call; words that do so as the first word; all words that ``help``
#: explains.
INFORMATION_FLAGS = ("--help", "-h", "--version", "-V")
INFORMATION_WORDS = ("help", "version")
TOPICS = {*COMMANDS, *REMOTE, *ABSENT, *INFORMATION_WORDS}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code.

    Without ``argv`` it reads ``sys.argv`` and is the entry point of the process. Then it ends the process with ``os._exit``
    unless something must be done at the end, because the normal shutdown of the interpreter takes a fifth of the time of a
    short program.
    """
    if argv is None:
        gc.disable()  # off until the program runs, because startup makes hardly any garbage
    keep_standard_descriptors_open()
    code = _guarded(sys.argv[1:] if argv is None else argv)
    if argv is None:
        if code in (INTERRUPTED, OUTPUT_CLOSED):
            os._exit(code)
        if _nothing_left_to_do():
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(code)
    return code


def _guarded(words: Sequence[str]) -> int:
    from language.errors import InternalError, UnsupportedPython

    try:
        return dispatch(words)
    except UnsupportedPython as error:
        err(f"lang: {error}")
        return FAILED
    except UsageError as error:
        prefix = f"lang {error.command}" if error.command else "lang"
        err(f"{prefix}: {error.message}")
        if error.usage:
            from language.cli.usage import line

            err(line(error.command))
        return USAGE
    except OutputLost as error:
        if error.closed:
            return OUTPUT_CLOSED
        err(f"lang: cannot write to standard output: {error.reason}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:  # even the report of the program's own error found none
        err("Runtime error: out of memory")
        return FAILED
    except (Exception, InternalError) as error:
        if isinstance(error.__cause__, MemoryError):
            err("Runtime error: out of memory")
            return FAILED
        _report_defect(error)
        return INTERNAL


def dispatch(words: Sequence[str]) -> int:
    """Finds the command of a command line and runs it. Raises ``UsageError``, ``OutputLost`` and ``UnsupportedPython``."""
    if not words:
        from language.cli.usage import line

        err(line(""))
        return USAGE
    before = words[: words.index("--")] if "--" in words else words
    first = words[0]
    asked = [word for word in before if word in INFORMATION_FLAGS]
    asked = asked or [word for word in words[:1] if word in INFORMATION_WORDS]
    if first == "platform":
        return _platform(words[1:])
    remote = _remote(before)
    if remote and (not asked or (first != "audit" and asked[0] in ("--help", "-h"))):
        gc.enable()
        from language.cli.standard_output import standard_output
        from platform_api.commands.main import command

        with standard_output():
            return command(remote, words[1:])
    if asked:
        return _inform(asked[0], words)
    import language.runtime.reference_counts  # noqa: F401  (refuses a Python that programs cannot run on)

    name = COMMANDS.get(first)
    if name is not None:
        if first == "serve":
            _check_system()
        module = __import__("language.cli." + name, None, None, ("command",))
        if first != "run":
            gc.enable()
        code: int = module.command(words[1:])
        return code
    if first in ABSENT:
        instead = ": `lang new FOLDER` creates a folder with a program" if first == "init" else ""
        err(f"lang {first}: this version of lang does not have this command{instead}")
        return FAILED
    return _bare(words)


def _platform(words: Sequence[str]) -> int:
    """``lang platform``. Its packages are those of the extra ``platform``."""
    gc.enable()
    from language.cli.standard_output import standard_output

    try:
        if words and words[0] == "runner":
            from runner.command import command
        else:
            from platform_api.administration.main import command
    except ModuleNotFoundError as error:
        err(f"lang platform: the package {error.name} is not installed: pip install 'ceiling-lang[platform]'")
        return FAILED
    with standard_output():
        return command(words[1:] if words[:1] == ["runner"] else words)


def _remote(words: Sequence[str]) -> str:
    """The name of the platform command that ``words`` call; empty for a command that runs on this machine alone."""
    first = words[0] if words else ""
    if first in REMOTE or (first == "run" and "--remote" in words):
        return first
    return "audit" if first == "audit" and words[1:2] != ["verify"] else ""


def _inform(asked: str, words: Sequence[str]) -> int:
    """Prints help or the version, as the word ``asked`` of a command line demands. Raises ``UsageError``."""
    others = [word for word in words if word != asked]
    if asked == "help" and others == ["platform"]:
        return _platform(["--help"])
    topic = others[0] if others and others[0] in TOPICS and asked != "version" else ""
    command = topic if topic in COMMANDS else ""
    if asked == "help" and others and not topic and not others[0].startswith("-"):
        raise UsageError("", f"there is no command '{clean(others[0])}'{_meant(others[0])}")
    stands_alone(asked, others[1:] if topic else others, after=topic, command=command)
    if asked == "help" and topic in REMOTE:
        from language.cli.standard_output import standard_output
        from platform_api.commands.main import command as remote

        with standard_output():
            return remote(topic, ["--help"])
    if asked in ("--help", "-h", "help"):
        from language.cli.usage import full

        out(full(command))
    else:
        from language.release import __version__

        out(f"lang {__version__}")
    return OK


def _meant(word: str) -> str:
    """The end of a message about an unknown command: the command that was probably meant, if there is one."""
    from language.hints import did_you_mean

    meant = did_you_mean(word, {*COMMANDS, *REMOTE, *INFORMATION_WORDS, "platform"})
    return f": did you mean '{meant}'?" if meant else ""


def _check_system() -> None:
    import select

    if not hasattr(select, "poll"):
        raise UsageError("serve", "the server needs a system with poll(2), such as Linux, macOS or BSD", usage=False)


def _bare(words: Sequence[str]) -> int:
    """``lang [--test] [--sandbox | --cap-set LIST] FILE``, the form every build has."""
    from language.cli.arguments import BARE, parse

    arguments = parse("", words, BARE)
    arguments.ceiling()
    if not arguments.paths:
        raise UsageError("", "no program given")
    path = arguments.paths[0]
    if path != "-" and (not os.path.exists(path) or os.path.isdir(path)):
        raise UsageError("", f"unknown command or unreadable program '{clean(path)}'{_meant(path)}")
    if arguments.given("--test"):
        gc.enable()
        from language.cli.test import TestOptions, run_files

        return run_files("", TestOptions(arguments), [path])
    from language.cli.run import run_program

    return run_program(arguments)


def _nothing_left_to_do() -> bool:
    """Whether no exit handler, thread or database needs the normal shutdown of the interpreter."""
    from atexit import _ncallbacks

    modules = sys.modules
    return not (_ncallbacks() or "threading" in modules or "sqlite3" in modules)


def _report_defect(error: Exception | InternalError) -> None:
    cause = error.__cause__ or error
    err(f"lang: internal error: {type(cause).__name__}: {cause}")
    if os.environ.get("PLATFORM_DEBUG") == "1":
        from traceback import format_exception

        err("".join(format_exception(error)).rstrip("\n"))


if __name__ == "__main__":
    sys.exit(main())
