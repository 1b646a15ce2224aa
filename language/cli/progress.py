"""A line on the terminal that says what runs now. Only ever on standard error, and only when that is a terminal."""

from __future__ import annotations

import os
import time

from language.cli.streams import write_all

#: Of a terminal that does not say.
COLUMNS = 80


class Progress:
    """One status line: drawn only on a terminal, and gone before anything else is said."""

    def __init__(self) -> None:
        self.visible = os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = False
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.monotonic() - self._start

    def show(self, text: str) -> None:
        """Draws the line anew, cut to the terminal's width."""
        if self.visible:
            columns = os.get_terminal_size(2).columns or COLUMNS
            # Names of tests are the program's: none of their control characters reaches the terminal.
            line = "".join(c if c.isprintable() else " " for c in f"[{self.seconds:.1f} s] {text}")
            self._draw(line[: max(columns - 1, 0)])
            self._drawn = True

    def clear(self) -> None:
        if self._drawn:
            self._draw("")
            self._drawn = False

    def _draw(self, line: str) -> None:
        try:
            write_all(2, f"\r\x1b[K{line}".encode("utf-8", "replace"))
        except OSError:
            self.visible = False
