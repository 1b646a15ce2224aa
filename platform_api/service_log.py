"""The log of the service: text for a terminal, or one JSON object a line. It holds no token, password, secret or path with ids.

A request is logged by the template of its path: a sign-in link or a deploy hook carries its secret in the path.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import Any

from platform_api.moments import rfc3339

requests = logging.getLogger("platform.requests")
#: Whatever looks like a token of an account or of a runner, or like the secret of a link or a hook in a path.
_TOKEN = re.compile(r"(\bl[pr]_|/sign-in/link/|/hooks/deploy/)[A-Za-z0-9_-]{20,}")
#: The attribute of a record that carries what a JSON line has beside its message.
FIELDS = "fields"


def hidden(text: str) -> str:
    """A text without tokens."""
    return _TOKEN.sub(r"\1***", text)


class TextFormatter(logging.Formatter):
    """``2026-01-31T09:30:00.123Z INFO platform: message``."""

    def format(self, record: logging.LogRecord) -> str:
        """One record, with its traceback on the lines behind it."""
        return hidden(super().format(record))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """The moment in UTC."""
        return rfc3339(int(record.created * 1000))


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``at``, ``level``, ``logger``, ``message``, the fields of the record, ``exception``."""

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        line: dict[str, Any] = {
            "at": rfc3339(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": hidden(record.getMessage()),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["exception"] = hidden(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up_logging(log_format: str, level: int = logging.INFO) -> None:
    """Sends every log record of this process to stderr.

    The server that runs the application is started with ``log_config=None`` and ``access_log=False``: its own log of requests
    shows paths.

    Args:
        log_format: ``text`` or ``json``.
    """
    handler = logging.StreamHandler(sys.stderr)
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter(form))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def log_request(request_id: str, method: str, route: str, status: int, seconds: float, account: str | None) -> None:
    """One line for a request that is over.

    Args:
        route: the template of its path.
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
        # Made here: what the logger would make besides is the place in the code, which it looks for on the stack.
        text = f"{method[:16]} {route} {status} {milliseconds} ms"
        record = logging.LogRecord(requests.name, level, __file__, 0, text, None, None)
        setattr(record, FIELDS, fields)
        requests.handle(record)
