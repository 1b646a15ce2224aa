"""The entry point of ``lang``: the first word decides what runs; every way to end has its exit code here.

Only what every command needs is imported at once: this module lies on the way of every start.
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
}

#: Commands that talk to a platform; they lie in ``platform_api.commands``.
REMOTE = {
    "login", "logout", "whoami", "new", "deploy", "projects", "status", "logs", "approvals", "env", "secrets", "schedule",
    "stop", "delete",
}  # fmt: skip

#: Commands of the manual that this version does not have.
ABSENT = {"tokens", "ast", "init", "llm", "conform", "openapi", "build", "daemon", "code", "update"}

#: What asks for help or the version anywhere in a line, what does as its first word, and of which commands.
FLAGS_TOLD = ("--help", "-h", "--version", "-V")
WORDS_TOLD = ("help", "version")
TOPICS = {*COMMANDS, *REMOTE, *ABSENT, *WORDS_TOLD}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (``sys.argv`` without ``argv``) and answers its exit code.

    As the process's own entry point it ends the process itself where nothing is left to be done at its end: taking the
    interpreter down in order costs a fifth of the time of a short program.
    """
    if argv is None:
        gc.disable()  # until the program runs: starting makes no garbage worth looking for
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
    except (Exception, InternalError) as error:
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
    asked = [word for word in before if word in FLAGS_TOLD] or [word for word in words[:1] if word in WORDS_TOLD]
    if first == "platform":
        return _platform(words[1:])
    remote = _remote(before)
    if remote and (not asked or (first in REMOTE and asked[0] in ("--help", "-h"))):
        gc.enable()
        from platform_api.commands.main import command

        return command(remote, words[1:])
    if asked:
        return _told(asked[0], words)
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
        err(f"lang {first}: this part is not in this version")
        return FAILED
    return _bare(words)


def _platform(words: Sequence[str]) -> int:
    """``lang platform``: its packages come with the extra ``platform``."""
    gc.enable()
    try:
        if words and words[0] == "runner":
            from runner.command import command

            return command(words[1:])
        from platform_api.administration.main import command
    except ModuleNotFoundError as error:
        err(f"lang platform: the package {error.name} is not installed: pip install 'ceiling-lang[platform]'")
        return FAILED
    return command(words)


def _remote(words: Sequence[str]) -> str:
    """The command of a platform that a line calls; empty for one that stays on this machine."""
    first = words[0] if words else ""
    if first in REMOTE or (first == "run" and "--remote" in words):
        return first
    return "audit" if first == "audit" and words[1:2] != ["verify"] else ""


def _told(asked: str, words: Sequence[str]) -> int:
    """Answers a command line in which the word ``asked`` asks for help or the version. Raises ``UsageError``."""
    others = [word for word in words if word != asked]
    topic = others[0] if others and others[0] in TOPICS and asked != "version" else ""
    command = topic if topic in COMMANDS else ""
    stands_alone(asked, others[1:] if topic else others, after=topic, command=command)
    if asked == "help" and topic in REMOTE:
        from platform_api.commands.main import command as remote

        return remote(topic, ["--help"])
    if asked in ("--help", "-h", "help"):
        from language.cli.usage import full

        out(full(command))
    else:
        from language.release import __version__

        out(f"lang {__version__}")
    return OK


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
        raise UsageError("", f"unknown command or unreadable program '{clean(path)}'")
    if arguments.given("--test"):
        gc.enable()
        from language.cli.test import TestOptions, run_files

        return run_files("", TestOptions(arguments), [path])
    from language.cli.run import run_program

    return run_program(arguments)


def _nothing_left_to_do() -> bool:
    """Whether neither an exit handler, nor a thread, nor an open database waits for the interpreter's orderly end."""
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
