"""An error or a warning as JSON gives it: ``lang check``, ``lang run --format json``, embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.console_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from language.diagnostics.rendering import Shown

    class Told(Shown, Protocol):
        """What is shown, with the sentence that says what is wrong."""

        @property
        def message(self) -> str: ...


def fields_of(error: Told, source_line_of: Callable[[str, int], str | None] | None = None) -> dict[str, str | int]:
    """What is known of an error: its place and where that ends (0 where it is not known), code, message, help.

    Args:
        source_line_of: gives a line of a file, or ``None``. With it the end of an error that knows its beginning alone is that
            of what is underlined for a person.
    """
    end_line, end_column = error.end_line, error.end_column
    if error.line and not end_line and source_line_of is not None:
        source = source_line_of(error.file, error.line)
        if source is not None:
            from language.diagnostics.rendering import marked_part

            end_line, end_column = error.line, marked_part(error, source)[1] + 1
    return {
        "file": error.file,
        "line": error.line,
        "column": error.column,
        "end_line": end_line,
        "end_column": end_column,
        "code": error.code,
        "message": error.message,
        "help": help_of(error),
    }


#: The help of errors that are put right in the same way wherever they come from, by their codes.
_OF_CODES = {
    "E0405": "ask first whether the divisor is zero: `when d == 0 then 0 otherwise n / d`",
    "E0504": "set the variable in the environment or in the `.env` file, or give a default as the second argument",
    "E0802": "the program raised this itself; to go on after it, put the call in `try` and write `recover err` below",
}


def help_of(error: Shown) -> str:
    """How to put an error right; empty where nothing is known."""
    cure = "" if error.help else getattr(error, "cure", "")
    return f"add `{one_line(cure)}` at the top of the program" if cure else error.help or _OF_CODES.get(error.code, "")
