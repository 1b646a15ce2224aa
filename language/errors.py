"""The closed set of errors: what a program can catch, what ends it, and what ends only a loop."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    ErrorKind = Literal[
        "syntax",
        "name",
        "key",
        "type",
        "value",
        "arithmetic",
        "capability",
        "file",
        "database",
        "network",
        "timeout",
        "unsupported",
        "resources",
        "assertion",
        "raised",
    ]

#: What an error is about, for tools that act on it; the message is for people.
ERROR_KINDS: tuple[ErrorKind, ...] = (
    "syntax",  # the text is no program
    "name",  # a variable, module, task or argument of that name is not there
    "key",  # a map has no such key, a list no such index
    "type",  # a value of another type than the operation takes, or a wrong number of arguments
    "value",  # the right type with content that the operation cannot take
    "arithmetic",  # a calculation without a result: a division by zero, a number too large
    "capability",  # not granted
    "file",  # a file, folder or process could not be read, written or started
    "database",  # a database refused or failed
    "network",  # another machine could not be reached, or answered with a failure
    "timeout",  # it took too long
    "unsupported",  # this build or host does not have it
    "resources",  # nested or called too deep, too much at a time, or no memory left
    "assertion",  # what the program said of itself does not hold: ``assert``, ``invariant``
    "raised",  # by ``raise`` of the program
)

#: The global by which a frame of a compiled program is known; its value is the file name to show.
FILE_MARK = "·file"


class LanguageError(Exception):
    """Base of every error of a program: one message, perhaps a place.

    ``message`` is the bare text that ``recover`` receives. ``line`` and ``column`` are 1-based, 0 when unknown; ``file`` is the
    name shown. ``str(error)`` is the display line: ``Category: file:line:col: message``, without the place where the manual
    says that the error has none. ``kind`` is one of ``ERROR_KINDS``. ``cure`` is a line of source that would
    cure it, where one is known, else empty: the ``require`` line of a capability that is not declared.
    """

    category = "Runtime error"
    kind: ErrorKind = "value"
    cure = ""

    def __init__(self, message: str, *, file: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column

    @property
    def place(self) -> str:
        """``file:line:col`` or, when unknown, the empty text."""
        return placed(self.file, self.line, self.column) if self.line else ""

    def __str__(self) -> str:
        place = self.place
        return f"{self.category}: {place}: {self.message}" if place else f"{self.category}: {self.message}"


def placed(file: str, line: int, column: int) -> str:
    """``file:line:col``, on one line whatever the name of the file holds."""
    if not file.isprintable():
        from language.console_text import one_line

        file = one_line(file)
    return f"{file}:{line}:{column}"


class LexerError(LanguageError):
    category = "Lexer error"
    kind: ErrorKind = "syntax"


class ParseError(LanguageError):
    category = "Parse error"
    kind: ErrorKind = "syntax"


class RuntimeFault(LanguageError):
    """An error of the running program: catchable by ``recover``.

    ``located`` says whether the display line carries the place. Builtins raise it without a place; operators, reads, calls
    and statements with one. The place itself is filled in from the traceback when somebody asks, never while running.
    """

    def __init__(self, message: str, *, located: bool = False, kind: ErrorKind = "value") -> None:
        super().__init__(message)
        self.located = located
        self.kind = kind

    @property
    def place(self) -> str:
        return placed(self.file, self.line, self.column) if self.located and self.line else ""


class Uncatchable(BaseException):
    """Base of what ``recover`` must not see. Deriving from ``BaseException`` keeps it out of every ``except Exception``."""


class LimitExceeded(Uncatchable):
    """A limit set by the host was passed; ``limit`` names it (``steps``, ``time_ms``, ``output_bytes``, ...)."""

    def __init__(self, limit: str, value: int) -> None:
        super().__init__(f"Limit exceeded: {limit} ({value})")
        self.limit = limit
        self.value = value


class StopLoop(Uncatchable):
    """``stop`` outside a loop of its own task, on its way to a loop of a caller."""


class GiveOutside(Uncatchable):
    """``give`` where there is no task to leave."""


class ExitProgram(Uncatchable):
    """``exit(code)``."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Cancelled(Uncatchable):
    """The request that a handler works for is over: its deadline passed, or the server stops. Raised from another thread."""


class InternalError(Uncatchable):
    """A defect of the interpreter: an unexpected Python exception out of our own code, kept as the cause."""


class UnsupportedPython(ImportError):
    """The Python that runs is none that programs can run on; the message says why, in one line."""
