"""The lines below that of a failed test: the expression, the chain of calls, the duration, and where two values differ."""

from __future__ import annotations

from language.cli.error_display import SourceLines
from language.diagnostics.rendering import rendered
from language.errors import placed
from language.values.differences import differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.cli.source import Source
    from language.errors import LanguageError


def details(error: LanguageError, seconds: float, source: Source, *, ran: bool = True) -> list[str]:
    """The lines below that of the test, without indentation.

    Args:
        seconds: the duration of the test.
        source: the program.
        ran: false for an error that prevented the tests from running; it is shown as ``lang check`` shows it.
    """
    _, *shown = rendered(error, SourceLines(source).line, first="").split("\n")
    if not ran:
        return shown
    lines = [line for line in shown if not line.startswith("more: ")]
    taken = f"after {seconds:.3f} s"
    if error.line and not error.place:  # the line of the test does not contain the position
        taken = f"at {placed(error.file, error.line, error.column)}, {taken}"
    lines.insert(0, taken)
    if error.compared is not None:
        lines += differences(*error.compared)
    return lines
