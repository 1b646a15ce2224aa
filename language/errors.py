"""The closed set of errors: what a program can catch, what ends it, and what ends only a loop."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    #: One call on the way to an error: the task that was called; file, line and column of the call.
    Call = tuple[str, str, int, int]
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

#: The code of an error whose place of origin names no sharper one; ``language/diagnostics/codes.py`` has their titles.
KIND_CODES: dict[ErrorKind, str] = {
    "syntax": "E0101",
    "name": "E0201",
    "key": "E0401",
    "type": "E0301",
    "value": "E0403",
    "arithmetic": "E0404",
    "capability": "E0501",
    "file": "E0601",
    "database": "E0602",
    "network": "E0603",
    "timeout": "E0604",
    "unsupported": "E0904",
    "resources": "E0901",
    "assertion": "E0801",
    "raised": "E0802",
}

#: The global by which a frame of a compiled program is known; its value is the file name to show.
FILE_MARK = "·file"


class LanguageError(Exception):
    """Base of every error of a program: one message, and the place where it arose.

    ``message`` is the bare text that ``recover`` receives. ``line`` and ``column`` are 1-based, 0 when unknown; ``end_line``
    and ``end_column`` are where the faulty text ends, the column exclusive, 0 when unknown; ``file`` is the name shown.
    ``str(error)`` is the display line: ``Category: file:line:col: message``. ``kind`` is one of ``ERROR_KINDS``. ``code`` names
    the class of mistake (``E0201``): ``lang docs E0201`` explains it. ``help`` is how to put it right, in sentences, perhaps
    empty. ``cure`` is a line of source that would cure it, where one is known, else empty: the ``require`` line of a capability
    that is not declared. ``calls`` are the calls of tasks that led to the place, the innermost first, at most
    ``MOST_CALLS``; ``more_calls`` is how many stand before those. Where a name was looked for and not found, ``sought`` is that
    name and ``known`` the names that are there, none where they are those that the place of the error sees.
    """

    category = "Runtime error"
    kind: ErrorKind = "value"
    cure = ""
    help = ""
    end_line = 0
    end_column = 0
    calls: tuple[Call, ...] = ()
    more_calls = 0
    #: of an assertion that two values are equal: what was expected, and what was there
    compared: tuple[Any, Any] | None = None
    sought = ""
    known: Iterable[str] = ()
    #: of the agents of a run that failed beside the one that this error is of
    others: tuple[LanguageError, ...] = ()
    _code = ""

    def __init__(self, message: str, *, file: str = "", line: int = 0, column: int = 0, code: str = "", help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        if code:
            self._code = code
        if help:
            self.help = help

    @property
    def code(self) -> str:
        """The code of the class of mistake, such as ``E0201``."""
        return self._code or KIND_CODES[self.kind]

    @code.setter
    def code(self, code: str) -> None:
        self._code = code

    @property
    def place(self) -> str:
        """``file:line:col`` or, when unknown, the empty text."""
        return placed(self.file, self.line, self.column) if self.line else ""

    def __str__(self) -> str:
        place = self.place
        return f"{self.category}: {place}: {self.message}" if place else f"{self.category}: {self.message}"


#: How many calls of the chain that led to an error are kept.
MOST_CALLS = 5


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
    """``incomplete`` says that more text behind the end of the source could make it a program."""

    category = "Parse error"
    kind: ErrorKind = "syntax"
    incomplete = False


class RuntimeFault(LanguageError):
    """An error of the running program: catchable by ``recover``.

    What raises it knows no place: that is filled in from the traceback when somebody asks, never while running.
    """

    def __init__(self, message: str, *, kind: ErrorKind = "value", code: str = "", help: str = "") -> None:
        super().__init__(message, code=code, help=help)
        self.kind = kind


class Uncatchable(BaseException):
    """Base of what ``recover`` must not see. Deriving from ``BaseException`` keeps it out of every ``except Exception``."""


class LimitExceeded(Uncatchable):
    """A limit set by the host was passed; ``limit`` names it (``steps``, ``time_ms``, ``output_bytes``, ...).

    ``message`` is the text without the place. ``file``, ``line`` and ``column`` say where the program was; ``line`` is 0 where
    that is not known. ``str(error)`` is ``file:line:col: message``.
    """

    code = "E0903"
    help = ""
    end_line = 0
    end_column = 0

    def __init__(self, limit: str, value: int) -> None:
        self.message = f"Limit exceeded: {limit} ({value})"
        super().__init__(self.message)
        self.limit = limit
        self.value = value
        self.file = ""
        self.line = 0
        self.column = 0

    def __str__(self) -> str:
        return f"{placed(self.file, self.line, self.column)}: {self.message}" if self.line else self.message


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
