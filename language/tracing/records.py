"""The records that ``trace``, ``measure`` and ``checkpoint`` make: the newest ones of a running program, in memory."""

from __future__ import annotations

from collections import deque
from itertools import count
from sys import exc_info

from language.errors import StopLoop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.host import Host
    from language.runtime.context import Context

MOST_RECORDS = 1_000
#: The most characters that are kept of the text of a checkpoint.
LONGEST_TEXT = 1_000


class Record:
    """One record. ``kind`` is ``trace``, ``measure`` or ``checkpoint``; ``name`` is the label, of a checkpoint its text.

    ``began`` is a Unix time in seconds. ``milliseconds`` is ``None`` for a checkpoint and while the block runs. ``failed`` says
    that an error ended the block.
    """

    __slots__ = ("began", "failed", "file", "kind", "line", "milliseconds", "name")

    def __init__(self, kind: str, name: str, file: str, line: int, began: float) -> None:
        self.kind = kind
        self.name = name
        self.file = file
        self.line = line
        self.began = began
        self.milliseconds: float | None = None
        self.failed = False


class Records:
    """The newest records of one program, with all its agents, workers and handlers. With ``PLATFORM_TRACE=1`` each is also
    written as a line to the error stream, but never to an embedder's output.
    """

    def __init__(self, host: Host) -> None:
        self.kept: deque[Record] = deque(maxlen=MOST_RECORDS)
        self._shown = host.runs_jobs and host.environ("PLATFORM_TRACE") == "1"
        self._numbers = count()
        #: the running blocks: record, span, time of the begin, the exception that was being handled then, context
        self._open: dict[int, tuple[Record, Any, float, BaseException | None, Context]] = {}

    def begin(self, context: Context, kind: str, name: str, file: str, line: int) -> int:
        """To be called when a block begins. Returns its number for :meth:`end`."""
        host = context.host
        record = Record(kind, name, file, line, host.now())
        self.kept.append(record)
        span: Any = context.span(name, "internal", {"lang.statement": kind})
        span.__enter__()
        number = next(self._numbers)
        self._open[number] = record, span, host.monotonic(), exc_info()[1], context
        return number

    def end(self, context: Context, number: int) -> None:
        """To be called when a block has ended. If an exception is being handled that was not when the block began, that
        exception has ended it.
        """
        record, span, began, before, _ = self._open.pop(number)
        record.milliseconds = (context.host.monotonic() - began) * 1000
        error = exc_info()[1]
        if error is before or isinstance(error, StopLoop):
            error = None
        record.failed = error is not None
        span.__exit__(None if error is None else type(error), error, None)
        if self._shown:
            context.host.write_notice(f"[{record.kind}] {record.name}: {record.milliseconds:.3f} ms")

    def checkpoint(self, context: Context, text: str, file: str, line: int) -> None:
        """Records the text of a checkpoint."""
        if len(text) > LONGEST_TEXT:
            text = text[:LONGEST_TEXT] + "…"
        record = Record("checkpoint", text, file, line, context.host.now())
        self.kept.append(record)
        if context.spans is not None:
            context.spans.event("checkpoint", {"lang.text": text} if context.spans.content else {})
        if self._shown:
            context.host.write_notice(f"[checkpoint] {text}")

    def open_trace(self, context: Context) -> str | None:
        """The name of the innermost ``trace`` block that runs in this context."""
        running = [
            record.name for record, *_, where in list(self._open.values()) if where is context and record.kind == "trace"
        ]
        return running[-1] if running else None

    @property
    def last_checkpoint(self) -> str | None:
        """The text of the newest checkpoint that is kept."""
        return next((record.name for record in reversed(self.kept) if record.kind == "checkpoint"), None)
