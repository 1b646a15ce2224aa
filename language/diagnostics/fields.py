"""An error or a warning as JSON gives it: ``lang check``, ``lang run --format json``, embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.console_text import one_line

if TYPE_CHECKING:
    from typing import Protocol

    from language.diagnostics.rendering import Shown

    class Told(Shown, Protocol):
        """What is shown, with the sentence that says what is wrong."""

        @property
        def message(self) -> str: ...


def fields_of(error: Told) -> dict[str, str | int]:
    """What is known of an error: its place and where that ends (0 where it is not known), code, message, help."""
    return {
        "file": error.file,
        "line": error.line,
        "column": error.column,
        "end_line": error.end_line,
        "end_column": error.end_column,
        "code": error.code,
        "message": error.message,
        "help": help_of(error),
    }


#: The help of errors that are put right in the same way wherever they come from, by their codes.
_OF_CODES = {
    "E0405": "ask first whether the divisor is zero: `when d == 0 then 0 otherwise n / d`",
    "E0504": "set the variable in the environment or in the `.env` file, or give a default as the second argument",
}


def help_of(error: Shown) -> str:
    """How to put an error right; empty where nothing is known."""
    cure = "" if error.help else getattr(error, "cure", "")
    return f"add `{one_line(cure)}` at the top of the program" if cure else error.help or _OF_CODES.get(error.code, "")
