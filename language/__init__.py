"""A programming language for agent programs: the public names for Python programs that embed it.

    import language

    language.run('print("hello")')["output"]      # ["hello"]

``Program(source, ...)`` holds one source with its options; ``run``, ``test`` and ``check`` are its methods as functions.
``call_json`` is the same as text to text. Everything else is private to its folder.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from language.capabilities import Ceiling
    from language.errors import (
        ExitProgram,
        InternalError,
        LanguageError,
        LexerError,
        LimitExceeded,
        ParseError,
        RuntimeFault,
    )
    from language.host import EmbeddedHost, Host
    from language.json_call import call_json
    from language.native.host import NativeHost
    from language.program import Program, version

__all__ = [
    "Ceiling",
    "EmbeddedHost",
    "ExitProgram",
    "Host",
    "InternalError",
    "LanguageError",
    "LexerError",
    "LimitExceeded",
    "NativeHost",
    "ParseError",
    "Program",
    "RuntimeFault",
    "call_json",
    "check",
    "handle",
    "run",
    "test",
    "version",
]

_HOME = {
    "Ceiling": "capabilities",
    "EmbeddedHost": "host",
    "ExitProgram": "errors",
    "Host": "host",
    "InternalError": "errors",
    "LanguageError": "errors",
    "LexerError": "errors",
    "LimitExceeded": "errors",
    "NativeHost": "native.host",
    "ParseError": "errors",
    "Program": "program",
    "RuntimeFault": "errors",
    "call_json": "json_call",
    "version": "program",
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the command's warm start must not pay for what it does not use.
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'language' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"language.{home}"), name)
    globals()[name] = value
    return value


def library() -> Any:
    """The builtins, package ``stdlib``: the core knows it through this door alone. Not a public name."""
    import stdlib

    return stdlib


def run(source: str, **options: Any) -> dict[str, Any]:
    """Runs a program; options and answer as :meth:`Program.run`."""
    from language.program import Program

    return Program(source, **options).run()


def handle(source: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Answers one HTTP request with a program; see :meth:`Program.handle`, which keeps the program for the next one."""
    from language.program import Program

    return Program(source, **options).handle(request)


def test(source: str, **options: Any) -> dict[str, Any]:
    """Runs a program's test blocks; options and answer as :meth:`Program.test`."""
    from language.program import Program

    return Program(source, **options).test()


def check(source: str, **options: Any) -> dict[str, Any]:
    """Checks a program without running it; options and answer as :meth:`Program.check`."""
    from language.program import Program

    return Program(source, **options).check()
