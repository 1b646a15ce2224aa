"""Messages of the server for its operator, on the error stream."""

from __future__ import annotations

import os

from language.console_text import visible


def say(line: str) -> None:
    """Writes one line, with control characters escaped. Does nothing where the error stream is closed."""
    try:
        os.write(2, (visible(line) + "\n").encode("utf-8", "replace"))
    except OSError:
        return


def report(defect: BaseException) -> None:
    """Reports an exception that the server does not expect; with its traceback where ``PLATFORM_DEBUG`` is 1."""
    lines = f"[serve] internal error: {type(defect).__name__}: {defect}"
    if os.environ.get("PLATFORM_DEBUG") == "1":
        from traceback import format_exception

        lines += "\n" + "".join(format_exception(defect)).rstrip("\n")
    say(lines)
