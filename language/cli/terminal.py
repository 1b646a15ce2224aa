"""Questions to the person at the terminal.

An answer counts only if the question could be read before it was given. What was typed before is thrown away; what the program
wrote before cannot hide the question; what it would write meanwhile waits until the answer is there.
"""

from __future__ import annotations

import os

from language.cli.streams import output_hold, write_all
from language.locks import PatientLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_STEP = 4096
#: Ends an unfinished control sequence (CAN, ST), puts colours and palette back (OSC 104, 110, 111), undoes what DECSTR undoes
#: (hidden text, margins, character sets, an invisible cursor), and clears the line with all below it.
_PLAIN_SCREEN = b"\x18\x1b\\\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b[!p\x1b[?2026l\x1b[0m\x0f\r\x1b[J"


class Terminal:
    """The terminal at standard input and standard error. One question stands there at a time."""

    def __init__(self) -> None:
        self._turn = PatientLock()

    @staticmethod
    def is_there() -> bool:
        """Whether a person can read a question and answer it: both descriptors are terminals."""
        try:
            return os.isatty(0) and os.isatty(2)
        except OSError:
            return False

    def ask(self, question: str, complaint: Callable[[str], str | None] = lambda _: None) -> str | None:
        """The line that a person answers, without its end; ``None`` at the end of input.

        ``complaint(line)`` says what is wrong with an answer, which is shown before the question is put again; ``None`` for one
        that counts. ``question`` must be a single line of printable text.
        """
        with self._turn:
            try:
                output_hold.begin()
                while True:
                    line = self._answer(question)
                    wrong = None if line is None else complaint(line)
                    if wrong is None:
                        return line
                    _show(wrong.encode() + b"\n")
            finally:
                output_hold.end()

    def _answer(self, question: str) -> str | None:
        from termios import TCIFLUSH, error, tcflush

        try:
            tcflush(0, TCIFLUSH)
        except error:
            return None  # it has been hung up
        if os.environ.get("TERM", "dumb") != "dumb":
            _show(_PLAIN_SCREEN)
        _show(question.encode("utf-8", "replace"))
        data = b""
        while not data.endswith(b"\n"):
            try:
                part = os.read(0, _STEP)
            except OSError:
                part = b""
            if not part:
                break
            data += part
        if not data:
            return None
        return data.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")


def _show(data: bytes) -> None:
    try:
        write_all(2, data)
    except OSError:
        return
