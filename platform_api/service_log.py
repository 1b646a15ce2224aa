"""The log of the service: text for a terminal, or one JSON object a line. It holds no token, password, secret or path with ids.

A request is logged by the template of its path: a sign-in link or a deploy hook carries its secret in the path.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from typing import Any, TextIO

from platform_api.moments import rfc3339_once

requests = logging.getLogger("platform.requests")
#: Whatever looks like a token of an account or of a runner, or like the secret of a link or a hook in a path.
_TOKEN = re.compile(r"(\bl[pr]_|/sign-in/link/|/hooks/deploy/)[A-Za-z0-9_-]{20,}")
#: A text in which none of these stands holds no such secret.
_BEFORE_A_SECRET = ("lp_", "lr_", "/sign-in/link/", "/hooks/deploy/")
#: The attribute of a record that carries what a JSON line has beside its message.
FIELDS = "fields"
#: The attribute of a record whose line need not be written at once.
MAY_WAIT = "may_wait"
#: Lines that wait at a time.
_MOST_WAITING = 1_000
#: What a record of a request has beside its text, its moment and its fields.
_records = {
    level: vars(logging.LogRecord(requests.name, level, __file__, 0, "", None, None)) for level in (logging.DEBUG, logging.INFO)
}


def hidden(text: str) -> str:
    """A text without tokens."""
    # To look for each of these takes a tenth of what the pattern takes to find nothing.
    return _TOKEN.sub(r"\1***", text) if any(before in text for before in _BEFORE_A_SECRET) else text


def _on_one_line(text: str) -> str:
    """A text of which strangers may have written a part: it begins no line of its own, and does nothing to a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


class TextFormatter(logging.Formatter):
    """``2026-01-31T09:30:00.123Z INFO platform: message``."""

    def format(self, record: logging.LogRecord) -> str:
        """One record, with its traceback on the lines behind it."""
        record.message = _on_one_line(record.getMessage())
        text = f"{rfc3339_once(int(record.created * 1000))} {record.levelname} {record.name}: {record.message}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        if record.stack_info:
            text = f"{text}\n{self.formatStack(record.stack_info)}"
        return hidden(text)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``at``, ``level``, ``logger``, ``message``, the fields of the record, ``exception``."""

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        line: dict[str, Any] = {
            "at": rfc3339_once(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": hidden(record.getMessage()),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["exception"] = hidden(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class Output(logging.StreamHandler[TextIO]):
    """Writes lines in their order. One of a request that says so waits for the next line that does not, or for ``flush``."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._waiting: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record, or lets it wait."""
        try:
            self._waiting.append(f"{self.format(record)}\n")
            if not getattr(record, MAY_WAIT, False) or len(self._waiting) >= _MOST_WAITING:
                self.flush()
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Writes what waits. Python calls it at its end."""
        self.acquire()
        try:
            lines, self._waiting = self._waiting, []
            if lines:
                self.stream.write("".join(lines))
            super().flush()
        finally:
            self.release()


def write_waiting() -> None:
    """Writes the lines that wait."""
    for handler in logging.root.handlers:
        if isinstance(handler, Output):
            handler.flush()


def set_up_logging(log_format: str, level: int = logging.INFO) -> None:
    """Sends every log record of this process to stderr.

    The server that runs the application is started with ``log_config=None`` and ``access_log=False``: its own log of requests
    shows paths.

    Args:
        log_format: ``text`` or ``json``.
    """
    handler = Output(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def log_request(
    request_id: str, method: str, route: str, status: int, seconds: float, account: str | None, *, may_wait: bool = False
) -> None:
    """One line for a request that is over.

    Args:
        route: the template of its path.
        may_wait: whether the caller sees to it that ``write_waiting`` is called soon.
    """
    milliseconds = round(seconds * 1000, 1)
    fields = {
        "request_id": request_id,
        "method": method[:16],
        "route": route,
        "status": status,
        "ms": milliseconds,
        "account": account,
    }
    level = logging.DEBUG if route in ("/healthz", "/readyz", "/metrics") else logging.INFO
    if requests.isEnabledFor(level):
        # Made of one that is there: a new one asks for its thread, its process and its place in the code each time.
        record = logging.LogRecord.__new__(logging.LogRecord)
        record.__dict__.update(_records[level])
        record.msg = f"{method[:16]} {route} {status} {milliseconds} ms"
        record.created = moment = time.time()
        record.msecs = moment % 1 * 1000
        setattr(record, FIELDS, fields)
        setattr(record, MAY_WAIT, may_wait)
        requests.handle(record)
