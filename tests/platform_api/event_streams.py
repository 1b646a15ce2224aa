"""Streams of events, read as the service sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

#: Seconds that an answer may take on a machine with other work.
GENEROUS = 120.0


@contextmanager
def events(client: httpx.Client, path: str, **options: Any) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a stream: each its ``id``, ``event`` and decoded ``data``."""
    with client.stream("GET", path, timeout=GENEROUS, **options) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield parsed(answer.iter_lines())


def parsed(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line.startswith(":"):
            continue
        if line:
            found[name] = json.loads(value) if name == "data" else value
        elif found:
            yield found
            found = {}
