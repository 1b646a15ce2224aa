"""From what programs print to log items: in order, without tokens of gates, no more of them than a project may have."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Collection
from typing import Literal

from runner import moments
from runner.engines import END_UNKNOWN
from runner.protocol import OUTPUT_LIMIT, LogLine

#: What a project may print in a second; the rest is counted.
MOST_LINES, MOST_BYTES = 1_000, 256 * 1024
#: Characters of a line that are kept.
LONGEST_LINE = 8 * 1024
#: How many lines the reason of a failure includes.
TAIL_LINES = 20

_HEX = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{64}(?![0-9a-fA-F])")
#: The text that replaces a token.
HIDDEN = "(token)"
#: What the interpreter says of itself on the error stream begins so: it is in the log, and not in the output of a run.
OWN = "[lang] "
#: A console line about a gate may arrive before the gate itself is reported.
_TELLS = "/approvals/"


def without_tokens(text: str, tokens: Collection[str]) -> str:
    """A line without the tokens of gates.

    Args:
        tokens: those that are known, each 64 hex digits.
    """
    tells = _TELLS in text
    return _HEX.sub(lambda found: HIDDEN if tells or found[0].lower() in tokens else found[0], text)


async def read_to_the_end(reading: asyncio.Future[None], count: Callable[[], int], seconds: float) -> bool:
    """Waits until the output of a program that has ended is read. Says whether it was read to its end.

    Args:
        count: how many lines were read so far.
        seconds: without a line, after which it is waited for no more.
    """
    while not reading.done():
        before = count()
        await asyncio.wait({reading}, timeout=seconds)
        if count() == before and not reading.done():
            return False
    return not reading.cancelled() and reading.exception() is None


class Allowance:
    """What a project may still print in this second.

    Args:
        clock: seconds of a clock that only goes forward.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._second = -1
        self._lines = self._bytes = 0
        self.left_out_lines = self.left_out_bytes = 0

    def takes(self, size: int) -> bool:
        """Whether a line of so many bytes is within the allowance; if not, it is counted."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._lines, self._bytes = second, 0, 0
        if self._lines >= MOST_LINES or self._bytes + size > MOST_BYTES:
            self.left_out_lines += 1
            self.left_out_bytes += size
            return False
        self._lines += 1
        self._bytes += size
        return True

    @property
    def is_over(self) -> bool:
        """Whether lines were left out in this second: there is no room for more yet."""
        return bool(self.left_out_lines) and int(self._clock()) == self._second

    def take_left_out(self) -> str | None:
        """How much was left out since the last call, as a sentence; ``None`` for nothing."""
        lines, size = self.left_out_lines, self.left_out_bytes
        if not lines:
            return None
        self.left_out_lines = self.left_out_bytes = 0
        what = "1 line was" if lines == 1 else f"{lines:,} lines were"
        most = f"{MOST_LINES:,} lines and {MOST_BYTES // 1024} KiB"
        return f"{what} left out here ({size:,} bytes): a project may print {most} a second."


class Printed:
    """What one start of a program has printed.

    Args:
        project: its project.
        allowance: the project's.
        keep: takes the log items.
        tokens: gives the tokens of gates that wait.
        run: the run that prints, of a job.
    """

    def __init__(
        self,
        project: str,
        allowance: Allowance,
        keep: Callable[[LogLine], None],
        tokens: Callable[[], Collection[str]],
        run: str | None = None,
    ) -> None:
        self._project, self._allowance, self._keep, self._tokens, self._run = project, allowance, keep, tokens, run
        self._last: deque[str] = deque(maxlen=TAIL_LINES)
        self._output: deque[str] = deque()
        self._size = 0
        self.changed = False
        self._is_cut = False
        #: how many lines were taken
        self.count = 0

    def take(self, at: int, stream: Literal["out", "err", "system"], text: str) -> None:
        """Takes a line; ``system``: one of the engine's about the output.

        Args:
            at: when it was printed, in milliseconds since 1970.
        """
        self.count += 1
        if stream == "system":
            (self.cut() if text == END_UNKNOWN else self.say_of_output(text))
            return
        text = without_tokens(text, self._tokens())
        self._last.append(text[:LONGEST_LINE])
        if self._run is not None and not (stream == "err" and text.startswith(OWN)):
            self._remember(text)
        if not self._allowance.is_over:
            self.flush()
        if self._allowance.takes(len(text.encode("utf-8", "replace"))):
            self._keep(LogLine(project=self._project, at=at, line=text[:LONGEST_LINE], stream=stream, run=self._run))

    def flush(self) -> None:
        """Says what was left out."""
        left_out = self._allowance.take_left_out()
        if left_out is not None:
            self.say(left_out)

    def say(self, text: str) -> None:
        """A line of the runner about the program."""
        line = LogLine(project=self._project, at=moments.unix_milliseconds(), line=text, stream="system", run=self._run)
        self._keep(line)

    def say_of_output(self, text: str) -> None:
        """A line about what was printed at this place. It stands in the output of a run too."""
        self.flush()
        self.say(text)
        if self._run is not None:
            self._remember(text)

    def cut(self) -> None:
        """Says that the last lines may be missing, once."""
        if not self._is_cut:
            self._is_cut = True
            self.say_of_output(END_UNKNOWN)

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self._last)

    @property
    def output(self) -> str:
        """The end of all that was printed, at most ``OUTPUT_LIMIT`` characters."""
        return "".join(self._output)[-OUTPUT_LIMIT:]

    def _remember(self, text: str) -> None:
        self.changed = True
        self._output.append(f"{text}\n")
        self._size += len(text) + 1
        while self._size - len(self._output[0]) >= OUTPUT_LIMIT:
            self._size -= len(self._output.popleft())
