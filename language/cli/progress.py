"""A status line that shows what runs now. It is written to standard error, and only if that is a terminal."""

from __future__ import annotations

import os
import time

from language.cli.streams import write_all

#: Columns to assume for a terminal whose width is not known.
COLUMNS = 80


class Progress:
    """One status line. Clear it before other output."""

    def __init__(self) -> None:
        self.visible = os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = False
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def show(self, text: str) -> None:
        """Draws the line again, cut to the width of the terminal."""
        if self.visible:
            columns = os.get_terminal_size(2).columns or COLUMNS
            # Names of tests come from the program, so control characters in them are replaced.
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
