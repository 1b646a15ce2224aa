"""Questions to the person at the terminal.

The person must be able to read the question before answering it. Input typed before the question is discarded, control
sequences written before it are undone, and until the answer arrives, output of the program is held back and the program reads
no key.
"""

from __future__ import annotations

import os

from language.cli.streams import output_hold, write_all
from language.locks import InterruptibleLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.host.terminal import UserTerminal

_STEP = 4096
#: Ends an unfinished control sequence (CAN, ST), puts colours and palette back (OSC 104, 110, 111), undoes what DECSTR undoes
#: (hidden text, margins, character sets, an invisible cursor), and clears the line with all below it.
_PLAIN_SCREEN = b"\x18\x1b\\\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b[!p\x1b[?2026l\x1b[0m\x0f\r\x1b[J"


class Terminal:
    """The terminal at standard input and standard error. It asks one question at a time.

    ``keys`` gives what the program reads keys from: while a question waits, it reads none.
    """

    def __init__(self, keys: Callable[[], UserTerminal | None] = lambda: None) -> None:
        self._turn = InterruptibleLock()
        self._keys = keys

    @staticmethod
    def is_there() -> bool:
        """Whether a person can read a question and answer it: both descriptors are terminals."""
        try:
            return os.isatty(0) and os.isatty(2)
        except OSError:
            return False

    def ask(self, question: str, complaint: Callable[[str], str | None] = lambda _: None) -> str | None:
        """Asks and returns the answered line without its line end; ``None`` at the end of input.

        ``complaint(line)`` returns what is wrong with an answer, which is shown before the question is asked again, or ``None``
        for a valid one. ``question`` must be a single line of printable text.
        """
        with self._turn:
            keys = self._keys()
            if keys is None:
                return self._ask(question, complaint)
            return keys.without_keys(lambda: self._ask(question, complaint))

    def _ask(self, question: str, complaint: Callable[[str], str | None]) -> str | None:
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
            return None  # the terminal was closed
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
